// Options that are wrong are told by their key and value.

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <string>

#include "error_of.h"
#include "model_builder.h"
#include "tessera/session.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

const std::string kTwoTexts("a\0b", 3);

ModelBuilder Negation() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2}).Node("Neg", {"x"}, {"y"});
  return model;
}

std::string ErrorWith(const SessionOptions& options) {
  return ErrorOf([&] { Negation().Session(options); });
}

SessionOptions OfThreads() {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = 3;
  return options;
}

SessionOptions WithEntry(const std::string& key, const std::string& value) {
  SessionOptions options = OfThreads();
  options.config[key] = value;
  return options;
}

/// What the system and C libraries are given would end there.
TEST(Options, HaveNoCharacter0) {
  EXPECT_THAT(ErrorWith(WithEntry("session.context_file_path", kTwoTexts)),
              HasSubstr("option 'session.context_file_path' is 'a\\x00b', expected texts without the character 0"));
  EXPECT_THAT(ErrorWith(WithEntry("session.map_files" + kTwoTexts, "1")),
              HasSubstr("option 'session.map_filesa\\x00b' is '1', expected texts without the character 0"));
  SessionOptions options;
  options.optimized_model_path = kTwoTexts;
  EXPECT_THAT(ErrorWith(options), HasSubstr("option 'optimized_model_path' is 'a\\x00b'"));
  options = SessionOptions();
  options.profile_prefix = kTwoTexts;
  EXPECT_THAT(ErrorWith(options), HasSubstr("profile_prefix is 'a\\x00b'"));
  options = SessionOptions();
  options.providers = {{"cpu", {{"arena_extend_strategy", kTwoTexts}}}};
  EXPECT_THAT(ErrorWith(options), HasSubstr("option 'arena_extend_strategy' is 'a\\x00b'"));
  EXPECT_THAT(ErrorOf([] { Session(std::filesystem::path(kTwoTexts)); }), HasSubstr("its name has a character 0"));
}

TEST(Options, OfChoicesAreThoseThatThereAre) {
  for (const int number : {-1, 5, 98, std::numeric_limits<int>::max()}) {
    SessionOptions options;
    options.execution_mode = static_cast<ExecutionMode>(number);
    EXPECT_THAT(ErrorWith(options), HasSubstr("the execution mode is " + std::to_string(number)));
    options = SessionOptions();
    options.optimization_level = static_cast<OptimizationLevel>(number);
    EXPECT_THAT(ErrorWith(options), HasSubstr("the optimization level is " + std::to_string(number)));
    options = SessionOptions();
    options.log_level = static_cast<LogLevel>(number);
    EXPECT_THAT(ErrorWith(options), HasSubstr("the log level is " + std::to_string(number)));
    options = SessionOptions();
    options.arena.extend = static_cast<ArenaExtendStrategy>(number);
    EXPECT_THAT(ErrorWith(options), HasSubstr("the arena's extend strategy is " + std::to_string(number)));
  }
}

TEST(Options, OfAffinitiesAreNamed) {
  const std::string key = "session.intra_op_thread_affinities";
  EXPECT_THAT(ErrorWith(WithEntry(key, "1;x")), HasSubstr("option '" + key + "' is '1;x': 'x' is no processor"));
  EXPECT_THAT(ErrorWith(WithEntry(key, "1;3-2")), HasSubstr("option '" + key + "' is '1;3-2': the range 3-2 has"));
  EXPECT_THAT(ErrorWith(WithEntry(key, "1")),
              HasSubstr("option '" + key + "' is '1': it is for 1 threads, the pool has 2 beside the caller's"));
  SessionOptions options = OfThreads();
  options.threads.affinities = "x;1";
  EXPECT_THAT(ErrorWith(options), HasSubstr("option 'SessionOptions::threads.affinities' is 'x;1'"));
}

}  // namespace
}  // namespace tessera::testing
