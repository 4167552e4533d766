// Session options with an entry each.

#include "bindings/c/session_options.h"

#include "bindings/c/entry.h"

namespace tessera::c_abi {
namespace {

OrtSessionOptions& Options(OrtSessionOptions* options) { return Given(options, "the session options"); }
const OrtSessionOptions& Options(const OrtSessionOptions* options) { return Given(options, "the session options"); }

}  // namespace

OrtStatusPtr CreateSessionOptions(OrtSessionOptions** options) noexcept {
  return Making(options, [&] { return new OrtSessionOptions; });
}

OrtStatusPtr CloneSessionOptions(const OrtSessionOptions* in_options, OrtSessionOptions** out_options) noexcept {
  return Guarded([&] {
    auto copy = std::make_unique<OrtSessionOptions>(Options(in_options));
    copy->cancel = std::make_shared<std::atomic<bool>>(in_options->cancel->load());
    Give(out_options, [&] { return copy.release(); });
  });
}

void ReleaseSessionOptions(OrtSessionOptions* input) { Release(input); }

OrtStatusPtr SetOptimizedModelFilePath(OrtSessionOptions* options, const char* optimized_model_filepath) noexcept {
  return Guarded([&] { Options(options).core.optimized_model_path = &Given(optimized_model_filepath, "the path"); });
}

OrtStatusPtr SetSessionExecutionMode(OrtSessionOptions* options, ::ExecutionMode execution_mode) noexcept {
  return Guarded([&] {
    Require(execution_mode == ORT_SEQUENTIAL || execution_mode == ORT_PARALLEL,
            "the execution mode is {}, expected 0 (sequential) or 1 (parallel)", static_cast<int>(execution_mode));
    Options(options).core.execution_mode = static_cast<ExecutionMode>(execution_mode);
  });
}

OrtStatusPtr GetSessionExecutionMode(const OrtSessionOptions* options, ::ExecutionMode* out) noexcept {
  return Guarded([&] { Given(out, "out") = static_cast<::ExecutionMode>(Options(options).core.execution_mode); });
}

OrtStatusPtr EnableProfiling(OrtSessionOptions* options, const char* profile_file_prefix) noexcept {
  return Guarded([&] { Options(options).core.profile_prefix = &Given(profile_file_prefix, "the prefix"); });
}

OrtStatusPtr DisableProfiling(OrtSessionOptions* options) noexcept {
  return Guarded([&] { Options(options).core.profile_prefix.clear(); });
}

OrtStatusPtr EnableMemPattern(OrtSessionOptions* options) noexcept {
  return Guarded([&] { Options(options).core.enable_memory_pattern = true; });
}

OrtStatusPtr DisableMemPattern(OrtSessionOptions* options) noexcept {
  return Guarded([&] { Options(options).core.enable_memory_pattern = false; });
}

OrtStatusPtr GetMemPatternEnabled(const OrtSessionOptions* options, int* out) noexcept {
  return Guarded([&] { Given(out, "out") = Options(options).core.enable_memory_pattern ? 1 : 0; });
}

OrtStatusPtr EnableCpuMemArena(OrtSessionOptions* options) noexcept {
  return Guarded([&] { Options(options).core.enable_arena = true; });
}

OrtStatusPtr DisableCpuMemArena(OrtSessionOptions* options) noexcept {
  return Guarded([&] { Options(options).core.enable_arena = false; });
}

OrtStatusPtr SetSessionLogId(OrtSessionOptions* options, const char* logid) noexcept {
  return Guarded([&] { Options(options).core.log_id = &Given(logid, "the log id"); });
}

// Of verbose lines Tessera has one kind.
OrtStatusPtr SetSessionLogVerbosityLevel(OrtSessionOptions* options, int /*session_log_verbosity_level*/) noexcept {
  return Guarded([&] { Options(options); });
}

OrtStatusPtr SetSessionLogSeverityLevel(OrtSessionOptions* options, int session_log_severity_level) noexcept {
  return Guarded([&] { Options(options).log_severity = session_log_severity_level; });
}

OrtStatusPtr SetSessionGraphOptimizationLevel(OrtSessionOptions* options,
                                              GraphOptimizationLevel graph_optimization_level) noexcept {
  return Guarded([&] {
    const int level = graph_optimization_level;
    Require((level >= ORT_DISABLE_ALL && level <= ORT_ENABLE_LAYOUT) || level == ORT_ENABLE_ALL,
            "the optimization level is {}, expected 0, 1, 2, 3 or 99", level);
    Options(options).core.optimization_level = static_cast<OptimizationLevel>(level);
  });
}

OrtStatusPtr SetIntraOpNumThreads(OrtSessionOptions* options, int intra_op_num_threads) noexcept {
  return Guarded([&] { Options(options).intra_op_threads = intra_op_num_threads; });
}

OrtStatusPtr SetInterOpNumThreads(OrtSessionOptions* options, int inter_op_num_threads) noexcept {
  return Guarded([&] { Options(options).inter_op_threads = inter_op_num_threads; });
}

OrtStatusPtr DisablePerSessionThreads(OrtSessionOptions* options) noexcept {
  return Guarded([&] { Options(options).per_session_threads = false; });
}

// Results have the same bits from run to run whatever is asked for.
OrtStatusPtr SetDeterministicCompute(OrtSessionOptions* options, bool /*value*/) noexcept {
  return Guarded([&] { Options(options); });
}

OrtStatusPtr AddFreeDimensionOverride(OrtSessionOptions* options, const char* dim_denotation, int64_t dim_value) noexcept {
  return Guarded([&] {
    Options(options).core.free_dimensions_by_denotation.insert_or_assign(
        &Given(dim_denotation, "what the dimension stands for"), dim_value);
  });
}

OrtStatusPtr AddFreeDimensionOverrideByName(OrtSessionOptions* options, const char* dim_name, int64_t dim_value) noexcept {
  return Guarded(
      [&] { Options(options).core.free_dimensions.insert_or_assign(&Given(dim_name, "the dimension's name"), dim_value); });
}

OrtStatusPtr SessionOptionsSetLoadCancellationFlag(OrtSessionOptions* options, bool cancel) noexcept {
  return Guarded([&] { Options(options).cancel->store(cancel); });
}

OrtStatusPtr SessionOptionsSetCustomCreateThreadFn(OrtSessionOptions* options,
                                                   OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return Guarded([&] { Options(options).thread_functions.create = ort_custom_create_thread_fn; });
}

OrtStatusPtr SessionOptionsSetCustomThreadCreationOptions(OrtSessionOptions* options,
                                                          void* ort_custom_thread_creation_options) noexcept {
  return Guarded([&] { Options(options).thread_functions.options = ort_custom_thread_creation_options; });
}

OrtStatusPtr SessionOptionsSetCustomJoinThreadFn(OrtSessionOptions* options,
                                                 OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return Guarded([&] { Options(options).thread_functions.join = ort_custom_join_thread_fn; });
}

}  // namespace tessera::c_abi
