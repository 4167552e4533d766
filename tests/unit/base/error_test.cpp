// Texts of errors: whatever a model's names are, they can be read.

#include "tessera/error.h"

#include <gmock/gmock.h>

#include <string>

#include "base/check.h"
#include "base/shortened.h"
#include "error_of.h"
#include "tessera/provider/graph.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kLong(size_t{1} << 20, 'n');

TEST(Shortened, TellsBeginEndAndLength) {
  EXPECT_EQ(Shortened("conv1"), "conv1");
  EXPECT_EQ(Shortened("0123456789", 10), "0123456789");
  EXPECT_EQ(Shortened("0123456789a", 10), "01234...(11 bytes)...6789a");
}

TEST(Shortened, CutsBetweenCodePoints) {
  EXPECT_EQ(Shortened("aäöüäöüa", 4), "a...(14 bytes)...üa");
  EXPECT_EQ(Shortened(std::string(20, '\x80'), 8).size(), 8 + std::string("...(20 bytes)...").size());
}

TEST(Error, NamesInQuotesAreShortened) {
  const std::string text = ErrorOf([] {
    Fail(ErrorCode::kInvalidGraph, "{{}} value '{}' of {} is defined twice in graph '{}'", kLong, Shape{2, 3},
         "{main}" + kLong);
  });
  EXPECT_THAT(text, AllOf(StartsWith("{} value 'nnn"), HasSubstr("(1048576 bytes)"),
                          HasSubstr("n' of [2,3] is defined twice in graph '{main}n"), EndsWith("nnn'")));
  EXPECT_LT(text.size(), 1000u);
}

TEST(Error, ListsStayAsTheyAre) {
  const std::string list(5000, 'o');
  EXPECT_EQ(ErrorOf([&] { Fail(ErrorCode::kInvalidArgument, "no option '{}' (allowed: {})", "x", list); }),
            "no option 'x' (allowed: " + list + ")");
}

TEST(Error, PlacesAreShortened) {
  const std::string text = Error(ErrorCode::kFail, "out of memory").At("Conv '" + kLong + "'").what();
  EXPECT_THAT(text, AllOf(StartsWith("Conv 'nnn"), EndsWith("n': out of memory")));
  EXPECT_LT(text.size(), 1000u);
}

TEST(Error, NothingIsOfMegabytes) {
  EXPECT_LT(std::string(Error(ErrorCode::kFail, kLong + " is wrong").what()).size(), 20000u);
  EXPECT_THAT(std::string(Error(ErrorCode::kFail, kLong + " is wrong").what()), EndsWith("n is wrong"));
}

TEST(Error, LabelsOfNodesAreShortened) {
  Node node;
  node.op_type = kLong;
  node.name = "conv" + kLong;
  EXPECT_THAT(node.Label(), AllOf(StartsWith("nnn"), HasSubstr("n 'convnnn")));
  EXPECT_LT(node.Label().size(), 1000u);
}

}  // namespace
}  // namespace tessera
