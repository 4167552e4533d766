// The environment.

#include "bindings/c/env.h"

#include <algorithm>
#include <mutex>

#include "base/fork.h"
#include "bindings/c/entry.h"
#include "bindings/c/threading.h"
#include "session/environment.h"

namespace tessera::c_abi {
namespace {

struct EnvSlot {
  ForkMutex mutex;
  OrtEnv* env = nullptr;
};

/// Never freed: clients may release while the process ends.
EnvSlot& TheSlot() {
  static EnvSlot& slot = *new EnvSlot;
  return slot;
}

struct EnvSettings {
  int level = ORT_LOGGING_LEVEL_WARNING;
  const char* id = nullptr;
  LogTarget log;
  const OrtThreadingOptions* threads = nullptr;
  const OrtKeyValuePairs* config = nullptr;
};

int ThreadCount(int asked) {
  // Of zero and less ONNX Runtime makes the machine's cores.
  return asked <= 0 ? -1 : asked;
}

/// The first one asked for says what the environment is like.
void MakeEnv(const EnvSettings& settings, OrtEnv** out) {
  Given(out, "out");
  EnvSlot& slot = TheSlot();
  const std::lock_guard lock(slot.mutex);
  if (slot.env == nullptr) {
    EnvironmentOptions options;
    options.log_id = settings.id == nullptr ? "" : settings.id;
    options.log_level = static_cast<LogLevel>(std::clamp(settings.level, 0, 4));
    if (settings.threads != nullptr) {
      options.global_intra_op_threads = ThreadCount(settings.threads->intra_op_threads);
      options.global_inter_op_threads = ThreadCount(settings.threads->inter_op_threads);
      options.global_threads = settings.threads->threads;
      options.global_threads.start = StarterOf(settings.threads->functions);
    }
    if (settings.config != nullptr) options.config = settings.config->entries;
    auto env = std::make_unique<OrtEnv>(options);
    env->TellDevices({});
    env->log_level = std::clamp(settings.level, 0, 4);
    env->global_threads = settings.threads != nullptr;
    env->denormal_as_zero = settings.threads != nullptr && settings.threads->denormal_as_zero;
    if (settings.config != nullptr) {
      for (const auto& [key, value] : settings.config->entries) env->config.Set(key, value);
    }
    SetEnvLog(settings.log);
    slot.env = env.release();
  }
  ++slot.env->count;
  *out = slot.env;
}

}  // namespace

OrtStatusPtr CreateEnv(OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out) noexcept {
  return Guarded([&] { MakeEnv({.level = log_severity_level, .id = logid}, out); });
}

OrtStatusPtr CreateEnvWithCustomLogger(OrtLoggingFunction logging_function, void* logger_param,
                                       OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out) noexcept {
  return Guarded(
      [&] { MakeEnv({.level = log_severity_level, .id = logid, .log = {logging_function, logger_param}}, out); });
}

OrtStatusPtr CreateEnvWithGlobalThreadPools(OrtLoggingLevel log_severity_level, const char* logid,
                                            const OrtThreadingOptions* tp_options, OrtEnv** out) noexcept {
  return Guarded([&] {
    MakeEnv({.level = log_severity_level, .id = logid, .threads = &Given(tp_options, "the threading options")}, out);
  });
}

OrtStatusPtr CreateEnvWithCustomLoggerAndGlobalThreadPools(OrtLoggingFunction logging_function, void* logger_param,
                                                           OrtLoggingLevel log_severity_level, const char* logid,
                                                           const OrtThreadingOptions* tp_options, OrtEnv** out) noexcept {
  return Guarded([&] {
    MakeEnv({.level = log_severity_level,
             .id = logid,
             .log = {logging_function, logger_param},
             .threads = &Given(tp_options, "the threading options")},
            out);
  });
}

OrtStatusPtr CreateEnvWithOptions(const OrtEnvCreationOptions* options, OrtEnv** out) noexcept {
  return Guarded([&] {
    const OrtEnvCreationOptions& given = Given(options, "the options");
    Require(given.version >= 24, "the options' version is {}, expected 24 or more", given.version);
    MakeEnv({.level = given.logging_severity_level,
             .id = given.log_id,
             .log = {given.custom_logging_function, given.custom_logging_param},
             .threads = given.threading_options,
             .config = given.config_entries},
            out);
  });
}

void ReleaseEnv(OrtEnv* input) {
  if (input == nullptr) return;
  EnvSlot& slot = TheSlot();
  const std::lock_guard lock(slot.mutex);
  // One that is gone: somebody released it too often.
  if (input != slot.env || --input->count > 0) return;
  slot.env = nullptr;
  (void)Guarded([&] { SetEnvLog({}); });
  input->mark.Clear();
  delete input;
}

OrtStatusPtr UpdateEnvWithCustomLogLevel(OrtEnv* ort_env, OrtLoggingLevel log_severity_level) noexcept {
  return Guarded(
      [&] { Given(ort_env, "the environment").log_level = std::clamp(static_cast<int>(log_severity_level), 0, 4); });
}

// Tessera sends nothing anywhere, so that there is nothing to switch on or off.
OrtStatusPtr EnableTelemetryEvents(const OrtEnv* /*env*/) noexcept { return nullptr; }
OrtStatusPtr DisableTelemetryEvents(const OrtEnv* /*env*/) noexcept { return nullptr; }
OrtStatusPtr SetLanguageProjection(const OrtEnv* /*ort_env*/, OrtLanguageProjection /*projection*/) noexcept {
  return nullptr;
}

OrtStatusPtr RegisterAllocator(OrtEnv* env, OrtAllocator* allocator) noexcept {
  return Guarded([&] {
    OrtEnv& own = Given(env, "the environment");
    OrtAllocator& client = Given(allocator, "the allocator");
    const OrtMemoryInfo* info = client.Info == nullptr ? nullptr : client.Info(&client);
    Require(info != nullptr, "the allocator does not say what memory it gives; fill in Info");
    Require(MemoryOf(*info) == MemoryInfo(), "the allocator gives {} memory; only the processor's can be registered",
            info->name);
    Require(info->allocator != OrtArenaAllocator,
            "the allocator says that it is an arena; register a plain one, or use CreateAndRegisterAllocator");
    own.environment.state()->ShareHostAllocator(ClientAllocator(client));
    own.registered.push_back(&client);
  });
}

OrtStatusPtr UnregisterAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info) noexcept {
  return Guarded([&] {
    OrtEnv& own = Given(env, "the environment");
    Require(MemoryOf(Given(mem_info, "the memory info")) == MemoryInfo() && own.environment.state()->StopSharing(),
            "no allocator is registered for {} memory", mem_info->name);
    own.registered.clear();
  });
}

}  // namespace tessera::c_abi
