// Each configuration entry of the table in src/bindings/c/config_keys.inc is taken, kept and can be read, and has the
// effect or none, as the table says.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "library.h"
#include "tiny_model.h"

namespace {

const OrtApi* api;

void Must(OrtStatusPtr status) { ASSERT_EQ(status, nullptr) << api->GetErrorMessage(status); }

struct Key {
  std::string name, kind;
};

std::vector<Key> Keys() {
  std::vector<Key> keys;
  std::ifstream table(TESSERA_CONFIG_KEYS);
  const std::regex line("KEY\\(\"([^\"]+)\", (\\w+)\\)");
  for (std::string text; std::getline(table, text);) {
    if (std::smatch match; std::regex_match(text, match, line)) keys.push_back({match[1], match[2]});
  }
  return keys;
}

class ConfigKeys : public testing::Test {
 protected:
  void SetUp() override {
    api = &OpenLibrary(TESSERA_ABI_LIBRARY);
    const OrtLoggingFunction log = [](void* param, OrtLoggingLevel, const char*, const char*, const char*,
                                      const char* message) {
      static_cast<std::string*>(param)->append(message).append("\n");
    };
    Must(api->CreateEnvWithCustomLogger(log, &lines_, ORT_LOGGING_LEVEL_INFO, "keys", &env_));
    Must(api->CreateSessionOptions(&options_));
  }
  void TearDown() override {
    api->ReleaseSessionOptions(options_);
    api->ReleaseEnv(env_);
  }
  void MakeSession() {
    const std::string model = tiny::Add();
    OrtSession* session = nullptr;
    Must(api->CreateSessionFromArray(env_, model.data(), model.size(), options_, &session));
    api->ReleaseSession(session);
  }
  std::string Read(const std::string& key) {
    char text[64] = {};
    size_t size = sizeof(text);
    Must(api->GetSessionConfigEntry(options_, key.c_str(), text, &size));
    return text;
  }

  std::string lines_;
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
};

TEST_F(ConfigKeys, AreAllKnown) { EXPECT_GE(Keys().size(), 88U); }

TEST_F(ConfigKeys, AreKeptAndNeverEndASession) {
  for (const Key& key : Keys()) {
    Must(api->AddSessionConfigEntry(options_, key.name.c_str(), "0"));
    EXPECT_EQ(Read(key.name), "0") << key.name;
  }
  Must(api->AddSessionConfigEntry(options_, "session.intra_op_thread_affinities", ""));
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_filepath", ""));
  Must(api->AddSessionConfigEntry(options_, "session.use_per_session_threads", "1"));
  Must(api->AddSessionConfigEntry(options_, "made.up", "0"));
  MakeSession();
}

TEST_F(ConfigKeys, TellWhetherTheyDoAnything) {
  size_t without = 0;
  for (const Key& key : Keys()) {
    if (key.kind != "kNone") continue;
    Must(api->AddSessionConfigEntry(options_, key.name.c_str(), "1"));
    ++without;
  }
  MakeSession();
  for (const Key& key : Keys()) {
    const bool told = lines_.find("'" + key.name + "' has no effect") != std::string::npos;
    EXPECT_EQ(told, key.kind == "kNone") << key.name;
  }
  EXPECT_GT(without, 0U);
}

/// Those that have a function that asks for the option.
TEST_F(ConfigKeys, StandForOptions) {
  int pattern = 1;
  Must(api->AddSessionConfigEntry(options_, "session.enable_mem_pattern", "0"));
  Must(api->GetMemPatternEnabled(options_, &pattern));
  EXPECT_EQ(pattern, 0);
  ExecutionMode mode = ORT_SEQUENTIAL;
  Must(api->AddSessionConfigEntry(options_, "session.execution_mode", "1"));
  Must(api->GetSessionExecutionMode(options_, &mode));
  EXPECT_EQ(mode, ORT_PARALLEL);
}

TEST_F(ConfigKeys, RefuseAModelInAFormatThatIsNotWritten) {
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_filepath", "/tmp/never_written.ort"));
  const std::string model = tiny::Add();
  OrtSession* session = nullptr;
  OrtStatusPtr status = api->CreateSessionFromArray(env_, model.data(), model.size(), options_, &session);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(api->GetErrorCode(status), ORT_NOT_IMPLEMENTED);
  api->ReleaseStatus(status);
}

/// A limit that is mistyped must not be no limit.
TEST_F(ConfigKeys, OfTesseraAloneTakeNoOtherValues) {
  Must(api->AddSessionConfigEntry(options_, "session.use_env_allocators", "maybe"));
  MakeSession();
  EXPECT_NE(lines_.find("'session.use_env_allocators' is 'maybe', which it does not take"), std::string::npos);
  const std::string model = tiny::Add();
  for (const char* limit : {"512MB", "-1", "1e6"}) {
    Must(api->AddSessionConfigEntry(options_, "session.run_memory_limit", limit));
    OrtSession* session = nullptr;
    OrtStatusPtr status = api->CreateSessionFromArray(env_, model.data(), model.size(), options_, &session);
    ASSERT_NE(status, nullptr) << limit;
    EXPECT_EQ(api->GetErrorCode(status), ORT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(api->GetErrorMessage(status)).find("session.run_memory_limit"), std::string::npos);
    api->ReleaseStatus(status);
  }
  for (const char* limit : {"512M", "0", ""}) {
    Must(api->AddSessionConfigEntry(options_, "session.run_memory_limit", limit));
    MakeSession();
  }
}

}  // namespace
