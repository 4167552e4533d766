// Configuration entries: every one is kept and can be read; what Tessera knows has its effect.

#include <algorithm>
#include <optional>

#include "bindings/c/entry.h"
#include "bindings/c/key_values.h"
#include "bindings/c/session_options.h"
#include "session/provider_options.h"

namespace tessera::c_abi {
namespace {

enum class Kind { kOption, kEffect, kNone };
using enum Kind;

struct Key {
  std::string_view name;
  Kind kind;
};
#define KEY(name, kind) {name, kind},
constexpr Key kKeys[] = {
#include "bindings/c/config_keys.inc"
};
#undef KEY

bool IsOfOnnxRuntime(std::string_view key) { return std::ranges::find(kKeys, key, &Key::name) != std::end(kKeys); }

/// Those of ONNX Runtime that do nothing here.
bool IsWithoutEffect(std::string_view key) {
  const auto* known = std::ranges::find(kKeys, key, &Key::name);
  return known != std::end(kKeys) && known->kind == kNone;
}

constexpr std::string_view kProfilePrefix = "onnxruntime_profile_";  // as ONNX Runtime calls it

constexpr size_t kMostKey = 1024, kMostValue = 8192;

/// Numbers of options that have an entry of the C ABI, too.
template <class T>
bool TakeNumber(T& option, std::string_view value, int64_t least, int64_t most) {
  const std::optional<int64_t> number = ParseInt(value);
  if (number && *number >= least && *number <= most) option = static_cast<T>(*number);
  return number.has_value();
}

bool TakeFlag(bool& option, std::string_view value, bool inverted = false) {
  if (value == "0" || value == "1") option = (value == "1") != inverted;
  return true;
}

/// Entries that mean another thing in Tessera, or whose effect the layer itself has.
bool IsForeign(std::string_view key) {
  return key.starts_with("ep.") || key == "session.load_model_format" || key == "session.save_model_format";
}

bool IsGood(const OptionSchema& schema, const std::string& value) {
  try {
    CheckOptions("", {&schema, 1}, {{std::string(schema.name), value}});
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Optimized models are written as ONNX has them.
void RequireWritable(const OrtSessionOptions& given) {
  const auto format = given.config.find("session.save_model_format");
  const bool asked =
      format == given.config.end() ? given.core.optimized_model_path.extension() == ".ort" : format->second == "ORT";
  if (!asked || given.core.optimized_model_path.empty()) return;
  Fail(ErrorCode::kNotImplemented,
       "optimized models are not written in ONNX Runtime's format; leave session.save_model_format out, or set it to ONNX");
}

int Threads(int asked) noexcept { return std::max(asked, 0); }

}  // namespace

bool TakeMirror(OrtSessionOptions& options, std::string_view key, std::string_view value) {
  constexpr std::string_view kPrefix = "session.";
  if (!key.starts_with(kPrefix)) return false;
  const std::string_view name = key.substr(kPrefix.size());
  SessionOptions& core = options.core;
  if (name == "intra_op_num_threads") return TakeNumber(options.intra_op_threads, value, -1, 1 << 16);
  if (name == "inter_op_num_threads") return TakeNumber(options.inter_op_threads, value, -1, 1 << 16);
  if (name == "execution_mode") return TakeNumber(core.execution_mode, value, 0, 1);
  if (name == "graph_optimization_level") {
    const std::optional<int64_t> level = ParseInt(value);
    if (level && ((*level >= 0 && *level <= 3) || *level == 99))
      core.optimization_level = static_cast<OptimizationLevel>(*level);
    return true;
  }
  if (name == "log_severity_level") return TakeNumber(options.log_severity, value, 0, 4);
  if (name == "enable_mem_pattern") return TakeFlag(core.enable_memory_pattern, value);
  if (name == "enable_cpu_mem_arena") return TakeFlag(core.enable_arena, value);
  if (name == "use_per_session_threads") return TakeFlag(options.per_session_threads, value);
  if (name == "log_id") {
    core.log_id = value;
    return true;
  }
  if (name == "optimized_model_filepath") {
    core.optimized_model_path = value;
    return true;
  }
  if (name == "enable_profiling") {
    if (value == "0") core.profile_prefix.clear();
    if (value == "1" && core.profile_prefix.empty()) core.profile_prefix = kProfilePrefix;
    return true;
  }
  return name == "log_verbosity_level" || name == "use_deterministic_compute";
}

void FillMirrors(OrtSessionOptions& options) {
  const SessionOptions& core = options.core;
  const auto fill = [&](std::string_view name, std::string value) {
    options.config.try_emplace(fmt::format("session.{}", name), std::move(value));
  };
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  fill("intra_op_num_threads", std::to_string(options.intra_op_threads));
  fill("inter_op_num_threads", std::to_string(options.inter_op_threads));
  fill("execution_mode", std::to_string(static_cast<int>(core.execution_mode)));
  fill("graph_optimization_level", std::to_string(static_cast<int>(core.optimization_level)));
  fill("enable_profiling", flag(!core.profile_prefix.empty()));
  fill("enable_mem_pattern", flag(core.enable_memory_pattern));
  fill("enable_cpu_mem_arena", flag(core.enable_arena));
  fill("use_per_session_threads", flag(options.per_session_threads));
  fill("log_id", core.log_id);
  fill("log_severity_level", std::to_string(core.log_level ? static_cast<int>(*core.log_level) : options.log_severity));
  fill("optimized_model_filepath", core.optimized_model_path.string());
}

std::filesystem::path ExternalFolder(const OrtSessionOptions* options) {
  if (options == nullptr) return {};
  const auto folder = options->config.find("session.model_external_initializers_file_folder_path");
  return folder == options->config.end() ? std::filesystem::path() : std::filesystem::path(folder->second);
}

SessionOptions OptionsFor(const OrtSessionOptions& given, OrtEnv& env, std::vector<LogLine>& notes) {
  SessionOptions core = given.core;
  if (given.log_severity > 4 || given.log_severity < -1) {
    Fail(ErrorCode::kFail, "the session's log severity is {}, expected 0 to 4", given.log_severity);
  }
  if (!given.per_session_threads && !env.global_threads) {
    Fail(ErrorCode::kFail,
         "the session shall use the environment's threads, but it was made without: use CreateEnvWithGlobalThreadPools");
  }
  const auto no_fallback = given.config.find("session.disable_cpu_ep_fallback");
  if (no_fallback != given.config.end() && no_fallback->second == "1" && core.providers.empty()) {
    Fail(ErrorCode::kFail,
         "session.disable_cpu_ep_fallback is 1, but the session has no other provider: append one, or unset it");
  }
  RequireWritable(given);
  core.use_global_threads = !given.per_session_threads;
  core.intra_op_threads = Threads(given.intra_op_threads);
  core.inter_op_threads = Threads(given.inter_op_threads);
  core.log_level = static_cast<LogLevel>(given.log_severity >= 0 ? given.log_severity : env.log_level.load());
  core.load_cancel = given.cancel;
  core.provider_config = given.config;
  core.threads.start = StarterOf(given.thread_functions);
  {
    const std::lock_guard lock(env.mutex);
    core.threads.observer = env.observer;
  }
  TakeInitializers(given, core);
  TakeCustomOps(given, core);
  if (env.denormal_as_zero) core.config["session.set_denormal_as_zero"] = "1";
  core.config["session.ignore_unknown_dimensions"] = "1";
  for (const auto& [key, value] : given.config) {
    if (IsWithoutEffect(key))
      notes.push_back({LogLevel::kInfo, fmt::format("configuration entry '{}' has no effect here", key)});
    if (IsForeign(key) || IsWithoutEffect(key)) continue;
    const auto schemas = session_config_schema();
    const auto schema = std::ranges::find(schemas, key, &OptionSchema::name);
    if (schema == schemas.end()) continue;
    // Tessera's own entries are checked with the rest of its options: a limit that is mistyped must not be no limit.
    if (!IsOfOnnxRuntime(key) || IsGood(*schema, value)) {
      core.config.insert_or_assign(key, value);
    } else {
      notes.push_back(
          {LogLevel::kWarning,
           fmt::format("configuration entry '{}' is '{}', which it does not take: it has no effect", key, value)});
    }
  }
  return core;
}

OrtStatusPtr AddSessionConfigEntry(OrtSessionOptions* options, const char* config_key, const char* config_value) noexcept {
  return Guarded([&] {
    OrtSessionOptions& given = Given(options, "the session options");
    const std::string_view key = &Given(config_key, "the key");
    const std::string_view value = &Given(config_value, "the value");
    Require(!key.empty() && key.size() <= kMostKey, "the key has {} characters, expected 1 to {}", key.size(), kMostKey);
    Require(value.size() <= kMostValue, "the value of '{}' has {} characters, expected {} at most", key, value.size(),
            kMostValue);
    given.config.insert_or_assign(std::string(key), std::string(value));
    TakeMirror(given, key, value);
  });
}

OrtStatusPtr HasSessionConfigEntry(const OrtSessionOptions* options, const char* config_key, int* out) noexcept {
  return Guarded([&] {
    Given(out, "out") = Given(options, "the session options").config.contains(&Given(config_key, "the key")) ? 1 : 0;
  });
}

OrtStatusPtr GetSessionConfigEntry(const OrtSessionOptions* options, const char* config_key, char* config_value,
                                   size_t* size) noexcept {
  return Guarded([&] {
    const auto& config = Given(options, "the session options").config;
    const std::string_view key = &Given(config_key, "the key");
    const auto found = config.find(key);
    Require(found != config.end(), "the options have no entry '{}'; HasSessionConfigEntry asks for that", key);
    CopyOut(found->second, config_value, size);
  });
}

OrtStatusPtr GetSessionOptionsConfigEntries(const OrtSessionOptions* options, OrtKeyValuePairs** out) noexcept {
  return Making(out, [&] { return PairsOf(Given(options, "the session options").config).release(); });
}

}  // namespace tessera::c_abi
