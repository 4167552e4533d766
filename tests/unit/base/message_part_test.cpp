#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tessera/provider/check.h"

namespace tessera {
namespace {

std::string TextOf(const MessagePart& part) { return part.text(); }

TEST(MessagePart, SaysEachKind) {
  EXPECT_EQ(TextOf("text"), "text");
  EXPECT_EQ(TextOf(std::string("string")), "string");
  EXPECT_EQ(TextOf(std::string_view("a view")), "a view");
  EXPECT_EQ(TextOf(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(TextOf(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(TextOf(size_t{7}), "7");
  EXPECT_EQ(TextOf(1.5), "1.5");
  EXPECT_EQ(TextOf(0.1F), "0.10000000149011612");
  EXPECT_EQ(TextOf(-std::numeric_limits<double>::min()), "-2.2250738585072014e-308");
  EXPECT_EQ(TextOf(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(TextOf(Shape{2, 3}), "[2,3]");
  EXPECT_EQ(TextOf(SymbolicShape{{-1, "batch"}, {4, ""}}), "[batch,4]");
  EXPECT_EQ(TextOf(ElementType::kBFloat16), "bfloat16");
}

TEST(Check, ThrowsWhatThePartsSay) {
  EXPECT_NO_THROW(Check(true, "never said"));
  try {
    Check(false, "axis ", 4, " of ", Shape{2, 3}, " of ", ElementType::kFloat);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "axis 4 of [2,3] of float");
  }
}

TEST(Throw, HasTheCode) {
  try {
    Throw(ErrorCode::kEpFail, {"device ", 3, " is gone"});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEpFail);
    EXPECT_STREQ(error.what(), "device 3 is gone");
  }
}

}  // namespace
}  // namespace tessera
