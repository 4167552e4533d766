#include "session/config.h"

#include <algorithm>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "session/provider_options.h"

namespace tessera {
namespace {

/// What an entry sets; nothing where it has no effect here.
using Target = std::variant<std::monostate, bool SessionConfig::*, int64_t SessionConfig::*, std::string SessionConfig::*,
                            Precision SessionConfig::*>;

struct Entry {
  OptionSchema schema;
  Target target;
};

constexpr std::string_view kContextPrefix = "session.context_", kOldContextPrefix = "ep.context_";

constexpr int64_t kMostSpin = 10'000'000;

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBFloat16, Precision::kBFloat16Weights,
                                     Precision::kFloat16, Precision::kInt8Dynamic};

Entry Flag(std::string_view name, bool SessionConfig::* target, std::string_view description,
           std::string_view fallback = "0") {
  return {{name, OptionType::kBool, fallback, description}, target};
}

Entry Number(std::string_view name, int64_t SessionConfig::* target, std::string_view description,
             std::string_view fallback, int64_t most = std::numeric_limits<int64_t>::max()) {
  return {{name, OptionType::kInt, fallback, description, {}, 0, most}, target};
}

/// Bytes, with kAutomaticLimit for an empty value.
Entry Limit(std::string_view name, int64_t SessionConfig::* target, std::string_view description) {
  return {{name, OptionType::kBytes, "", description}, target};
}

/// Of ONNX Runtime, for its own speed.
Entry WithoutEffect(std::string_view name) {
  return {{name, OptionType::kString, "",
           "of programs written for ONNX Runtime; without effect here, of which a warning tells"},
          std::monostate()};
}

/// What is computed in, who computes it, and what it may take.
std::vector<Entry> ComputeEntries() {
  OptionSchema precision = {"session.precision", OptionType::kEnum, NameOf(Precision::kFloat32),
                            "what matmuls may be computed in: f32 (the model's types), bf16, bf16-weights (constants "
                            "alone are rounded), fp16, int8-dynamic (weights are quantized at load)"};
  for (const Precision allowed : kPrecisions) precision.allowed.push_back(NameOf(allowed));
  return {
      {std::move(precision), &SessionConfig::precision},
      Flag("session.round_halves", &SessionConfig::round_halves,
           "round every result of float16 and bfloat16 operators, as ONNX defines them; else values stay float32 between "
           "those that the CPU provider runs"),
      Number("session.qdq_matmulnbits_accuracy_level", &SessionConfig::nbits_accuracy_level,
             "accuracy_level (of MatMulNBits) for matmuls with weights that the model dequantizes: 0 to 3 compute in its "
             "own types, 4 may quantize to 8 bits what 4-bit weights meet",
             "0", kInt8AccuracyLevel),
      Flag("session.set_denormal_as_zero", &SessionConfig::denormal_as_zero,
           "floating-point denormals count as zero while the session runs"),
      Flag("session.disable_cpu_ep_fallback", &SessionConfig::disable_cpu_fallback,
           "a node that no named provider takes is an error"),
      Number("session.min_island_nodes", &SessionConfig::min_island_nodes,
             "fewest nodes that a device takes between nodes elsewhere; 0 or 1: any number", "3"),
      Limit("session.load_memory_limit", &SessionConfig::load_memory_limit,
            "most bytes of host memory that the load may take for what it makes of the model's files, such as \"2G\"; 0: "
            "no limit; empty: 1 GiB and 64 times the size of these files"),
      Limit("session.run_memory_limit", &SessionConfig::run_memory_limit,
            "most bytes of host memory that all runs under way may take for values; 0: no limit; empty: 1 GiB and 256 "
            "times the size of the model's files and of the runs' inputs"),
  };
}

/// Threads of the session's own pools.
std::vector<Entry> ThreadEntries() {
  return {
      Flag("session.intra_op.allow_spinning", &SessionConfig::allow_spinning,
           "threads look for work for a moment before they sleep", "1"),
      {{"session.intra_op.spin_duration_us",
        OptionType::kInt,
        "-1",
        "microseconds that they look for work; -1: as long as pays",
        {},
        -1,
        kMostSpin},
       &SessionConfig::spin_duration_us},
      Flag("session.force_spinning_stop", &SessionConfig::force_spinning_stop,
           "they sleep at once when no run is under way"),
      {{kAffinitiesKey, OptionType::kString, "",
        "processors, numbered from 1, of each thread but the caller's, such as \"1,2;3-4\" for two threads"},
       &SessionConfig::affinities},
  };
}

/// What is read and written, shared and refused.
std::vector<Entry> FileEntries() {
  return {
      {{"session.optimized_model_external_initializers_file_name", OptionType::kString, "",
        "file beside the optimized model that its large weights are written to; empty: they lie in the model"},
       &SessionConfig::optimized_weights_file},
      Number("session.optimized_model_external_initializers_min_size_in_bytes", &SessionConfig::optimized_weights_least,
             "smallest weight that is written there", "0"),
      Flag("session.use_env_allocators", &SessionConfig::use_env_allocators,
           "share the environment's host arena with other sessions that say so"),
      Flag("session.strict_attributes", &SessionConfig::strict_attributes,
           "an attribute that its operator does not have is an error instead of a warning"),
      Flag("session.ignore_unknown_dimensions", &SessionConfig::ignore_unknown_dimensions,
           "a name in free_dimensions that the model does not have is left alone instead of being an error"),
      Flag("session.ignore_unknown_initializers", &SessionConfig::ignore_unknown_initializers,
           "a name in initializers that the model does not have is left alone instead of being an error"),
      Flag("session.map_files", &SessionConfig::map_files,
           "map the model's files and contexts; 0: copy them, so that a file that is written to or truncated later does no "
           "harm, for more memory and a slower load",
           "1"),
      Flag("session.disable_prepacking", &SessionConfig::disable_prepacking,
           "kernels do not share packed weights between sessions"),
      Flag(kTuningKey, &SessionConfig::tuning,
           "time the model without each provider and with each algorithm of its convolutions at load; a context keeps what "
           "was best"),
      Flag("session.context_enable", &SessionConfig::context_enable,
           "keep the optimized graph and packed weights in a file, from which the next session starts"),
      {{"session.context_file_path", OptionType::kString, "", "that file; empty: MODEL_ctx.tessera beside MODEL.onnx"},
       &SessionConfig::context_file_path},
      Flag("session.context_embed_mode", &SessionConfig::context_embed,
           "that file holds the model's constants, too, instead of naming their place in the model's files"),
  };
}

/// Of programs written for ONNX Runtime.
std::vector<Entry> EntriesWithoutEffect() {
  return {
      WithoutEffect("session.inter_op.allow_spinning"),
      WithoutEffect("session.dynamic_block_base"),
      WithoutEffect("session.use_device_allocator_for_initializers"),
      WithoutEffect("session.disable_double_qdq_remover"),
      WithoutEffect("session.enable_quant_qdq_cleanup"),
      WithoutEffect("session.disable_aot_function_inlining"),
      WithoutEffect("session.x64quantprecision"),
      WithoutEffect("optimization.enable_gelu_approximation"),
      WithoutEffect("optimization.minimal_build_optimizations"),
      WithoutEffect("mlas.enable_gemm_fastmath_arm64_bfloat16"),
  };
}

std::vector<Entry> MakeEntries() {
  std::vector<Entry> entries;
  for (const auto& part : {ComputeEntries(), ThreadEntries(), FileEntries(), EntriesWithoutEffect()})
    entries.insert(entries.end(), part.begin(), part.end());
  return entries;
}

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = MakeEntries();
  return entries;
}

/// `value` as CheckOptions leaves it.
void Set(SessionConfig& config, const Target& target, const std::string& value) {
  if (const auto* flag = std::get_if<bool SessionConfig::*>(&target)) config.** flag = value == "1";
  if (const auto* number = std::get_if<int64_t SessionConfig::*>(&target))
    config.** number = value.empty() ? kAutomaticLimit : *ParseInt(value);
  if (const auto* text = std::get_if<std::string SessionConfig::*>(&target)) config.** text = value;
  if (const auto* precision = std::get_if<Precision SessionConfig::*>(&target)) {
    config.** precision = *std::ranges::find(kPrecisions, value, NameOf);
  }
}

}  // namespace

bool IsOfContext(std::string_view name) noexcept {
  return name.starts_with(kContextPrefix) || name.starts_with(kOldContextPrefix);
}

SessionConfig ParseConfig(const SessionOptions& options) {
  ProviderOptions given(options.config.begin(), options.config.end());
  for (const auto& [name, value] : options.config) {
    if (!name.starts_with(kOldContextPrefix)) continue;
    given.erase(name);
    given.try_emplace(fmt::format("{}{}", kContextPrefix, name.substr(kOldContextPrefix.size())), value);
  }
  RequireWhole("SessionOptions", "optimized_model_path", options.optimized_model_path.native());
  const ProviderOptions checked = CheckOptions("the session's configuration", session_config_schema(), given);
  SessionConfig config;
  for (const Entry& entry : Entries()) {
    const std::string name(entry.schema.name);
    Set(config, entry.target, checked.at(name));
    if (std::holds_alternative<std::monostate>(entry.target) && options.config.contains(name))
      config.without_effect.push_back(name);
  }
  config.disable_cpu_fallback |= options.disable_cpu_fallback;
  return config;
}

std::span<const OptionSchema> session_config_schema() {
  static const std::vector<OptionSchema> schemas = [] {
    std::vector<OptionSchema> all;
    for (const Entry& entry : Entries()) all.push_back(entry.schema);
    return all;
  }();
  return schemas;
}

}  // namespace tessera
