// Options of runs.

#include "bindings/c/run_options.h"

#include <optional>
#include <utility>

#include "bindings/c/entry.h"
#include "bindings/c/lora.h"
#include "session/provider_options.h"

namespace tessera::c_abi {
namespace {

constexpr std::string_view kProfilePrefix = "onnxruntime_run_profile";  // as ONNX Runtime calls it

OrtRunOptions& Options(OrtRunOptions* options) { return Given(options, "the run options"); }
const OrtRunOptions& Options(const OrtRunOptions* options) { return Given(options, "the run options"); }

}  // namespace

const RunOptions& CoreOf(const OrtRunOptions* options) {
  static const RunOptions none;
  return options == nullptr ? none : Options(options).core;
}

OrtStatusPtr CreateRunOptions(OrtRunOptions** out) noexcept {
  return Making(out, [&] { return new OrtRunOptions; });
}

void ReleaseRunOptions(OrtRunOptions* input) { Release(input); }

OrtStatusPtr RunOptionsSetRunLogVerbosityLevel(OrtRunOptions* options, int log_verbosity_level) noexcept {
  return Guarded([&] { Options(options).log_verbosity = log_verbosity_level; });
}

OrtStatusPtr RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions* options, int* log_verbosity_level) noexcept {
  return Guarded([&] { Given(log_verbosity_level, "out") = Options(options).log_verbosity; });
}

OrtStatusPtr RunOptionsSetRunLogSeverityLevel(OrtRunOptions* options, int log_severity_level) noexcept {
  return Guarded([&] {
    Options(options).log_severity = log_severity_level;
    const bool known = log_severity_level >= 0 && log_severity_level <= 4;
    options->core.log_level = known ? static_cast<LogLevel>(log_severity_level) : LogLevel::kWarning;
  });
}

OrtStatusPtr RunOptionsGetRunLogSeverityLevel(const OrtRunOptions* options, int* log_severity_level) noexcept {
  return Guarded([&] { Given(log_severity_level, "out") = Options(options).log_severity; });
}

OrtStatusPtr RunOptionsSetRunTag(OrtRunOptions* options, const char* run_tag) noexcept {
  return Guarded([&] { Options(options).core.tag = run_tag == nullptr ? "" : run_tag; });
}

OrtStatusPtr RunOptionsGetRunTag(const OrtRunOptions* options, const char** run_tag) noexcept {
  return Guarded([&] { Given(run_tag, "out") = Options(options).core.tag.c_str(); });
}

OrtStatusPtr RunOptionsSetTerminate(OrtRunOptions* options) noexcept {
  return Guarded([&] { Options(options).core.Cancel(); });
}

OrtStatusPtr RunOptionsUnsetTerminate(OrtRunOptions* options) noexcept {
  return Guarded([&] { Options(options).core.ResetCancel(); });
}

OrtStatusPtr AddRunConfigEntry(OrtRunOptions* options, const char* config_key, const char* config_value) noexcept {
  return Guarded([&] {
    OrtRunOptions& given = Options(options);
    const std::string_view key = &Given(config_key, "the key");
    const std::string_view value = &Given(config_value, "the value");
    Require(!key.empty() && key.size() <= 1024, "the key has {} characters, expected 1 to 1024", key.size());
    Require(value.size() <= 8192, "the value of '{}' has {} characters, expected 8192 at most", key, value.size());
    given.config.insert_or_assign(std::string(key), std::string(value));
    // Whichever memories are named ("cpu:0;gpu:0"): all of the session's shrink.
    if (key == "memory.enable_memory_arena_shrinkage") given.core.shrink_arenas = !value.empty();
    if (key == "gpu_graph_id") {
      const std::optional<int64_t> number = ParseInt(value);
      Require(number && std::in_range<int>(*number), "gpu_graph_id is '{}', expected a number", value);
      given.core.recording = static_cast<int>(*number);
    }
  });
}

const char* GetRunConfigEntry(const OrtRunOptions* options, const char* config_key) noexcept {
  if (!IsThere(options) || config_key == nullptr) return nullptr;
  const auto found = options->config.find(config_key);
  return found == options->config.end() ? nullptr : found->second.c_str();
}

OrtStatusPtr RunOptionsEnableProfiling(OrtRunOptions* options, const char* profile_file_prefix) noexcept {
  return Guarded([&] {
    const std::string_view prefix = &Given(profile_file_prefix, "the prefix");
    Options(options).core.profile_prefix = prefix.empty() ? kProfilePrefix : prefix;
  });
}

OrtStatusPtr RunOptionsDisableProfiling(OrtRunOptions* options) noexcept {
  return Guarded([&] { Options(options).core.profile_prefix.clear(); });
}

OrtStatusPtr RunOptionsAddActiveLoraAdapter(OrtRunOptions* options, const OrtLoraAdapter* adapter) noexcept {
  return Guarded([&] { Options(options).adapters.push_back(&Given(adapter, "the adapter")); });
}

}  // namespace tessera::c_abi
