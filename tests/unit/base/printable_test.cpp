#include "tessera/printable.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "base/log.h"
#include "error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PrintableTest, TextsStayAsTheyAre) {
  for (const std::string text : {"", "conv1/BiasAdd:0", "C:\\models\\a b.onnx", "größe", "重み", "имя", "🧩 \"quoted\""}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(PrintableLines(text), text);
    EXPECT_EQ(PrintableJson(text), text);
  }
}

TEST(PrintableTest, WhatSteersATerminalIsEscaped) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x1b[2J\x1b]0;title\a", "\\x1b[2J\\x1b]0;title\\x07"},  // clears the screen, sets the title
      {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},  // the one code point that means ESC [
      {"\xe2\x80\xae"
       "txt.exe",
       "\\u202etxt.exe"},                                // right to left
      {"\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},  // isolates
      {"a\xe2\x80\x8b"
       "b",
       "a\\u200bb"},  // no width
      {"a\xe2\x80\xa8"
       "b",
       "a\\u2028b"},  // a line separator
      {"\xef\xbb\xbf", "\\ufeff"},
      {"\xf3\xa0\x81\x81", "\\U000e0041"},  // an invisible tag
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Printable(text), expected);
}

TEST(PrintableTest, BytesThatAreNotUtf8AreEscaped) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x80", "\\x80"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},                             // cut off
      {"\xe2\x82", "\\xe2\\x82"},                    // cut off
      {"\xc0\xaf", "\\xc0\\xaf"},                    // longer than needed
      {"\xe0\x80\x9b", "\\xe0\\x80\\x9b"},           // longer than needed: U+009B
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // half of a pair
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above the last
      {"\xc3(", "\\xc3("},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Printable(text), expected);
}

TEST(PrintableTest, LinesStayWhereTheyAreMeant) {
  EXPECT_EQ(PrintableLines("a\n\tb\x1b"
                           "c\r\n"),
            "a\n\tb\\x1bc\\x0d\n");
}

TEST(PrintableTest, JsonHasItsOwnEscapesAndTheSameStrings) {
  const std::string name = "a\x1b\n\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\"\\é";
  const nlohmann::json json = {{"name", name}};
  const std::string text = PrintableJson(json.dump(2));
  EXPECT_EQ(PrintableLines(text), text);
  EXPECT_EQ(nlohmann::json::parse(text).at("name").get<std::string>(), name);
}

TEST(PrintableTest, ErrorsAndTheLogHoldNothingElse) {
  EXPECT_EQ(ErrorOf([] { Fail(ErrorCode::kFail, "node '{}'", "\x1b[31m\xff"); }), "node '\\x1b[31m\\xff'");
  EXPECT_EQ(Error(ErrorCode::kFail, "x").At("\x1b").what(), std::string("\\x1b: x"));
  ::testing::internal::CaptureStderr();
  Logger("id", LogLevel::kWarning)(LogLevel::kWarning, "node '{}'", "a\x1b[31m\n2026-01-01 00:00:00.000 [info] forged");
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("node 'a\\x1b[31m\n    2026-01-01"));
  EXPECT_THAT(log, Not(HasSubstr("\x1b[31m")));
}

TEST(PrintableTest, TheLogsNamesHoldNothingElse) {
  ::testing::internal::CaptureStderr();
  Logger("id\x1b[2J\nforged", LogLevel::kWarning)(LogLevel::kWarning, "text");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("id\\x1b[2J\\x0aforged: text"));
}

}  // namespace
}  // namespace tessera
