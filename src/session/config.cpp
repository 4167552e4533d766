#include "session/config.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "session/provider_options.h"

namespace tessera {
namespace {

struct ConfigKey {
  std::string_view name;
  bool SessionConfig::*flag;
  int64_t SessionConfig::*number;
  std::string_view description;
  std::string SessionConfig::*text = nullptr;
  int64_t most = std::numeric_limits<int64_t>::max();  // of `number`
};

constexpr std::string_view kPrecision = "session.precision";

constexpr std::array kKeys = {
    ConfigKey{"session.min_island_nodes", nullptr, &SessionConfig::min_island_nodes,
              "fewest nodes that a device takes between nodes elsewhere; 0 or 1: any number"},
    ConfigKey{"session.intra_op.allow_spinning", &SessionConfig::allow_spinning, nullptr,
              "threads look for work for a moment before they sleep"},
    ConfigKey{"session.use_env_allocators", &SessionConfig::use_env_allocators, nullptr,
              "share the environment's host arena with other sessions that say so"},
    ConfigKey{"session.disable_prepacking", &SessionConfig::disable_prepacking, nullptr,
              "kernels do not share packed weights between sessions"},
    ConfigKey{"session.set_denormal_as_zero", &SessionConfig::denormal_as_zero, nullptr,
              "floating-point denormals count as zero while the session runs"},
    ConfigKey{"session.disable_cpu_ep_fallback", &SessionConfig::disable_cpu_fallback, nullptr,
              "a node that no named provider takes is an error"},
    ConfigKey{"ep.context_enable", &SessionConfig::context_enable, nullptr,
              "keep the optimized graph and packed weights in a file, from which the next session starts"},
    ConfigKey{"ep.context_file_path", nullptr, nullptr, "that file (default: MODEL_ctx.tessera beside MODEL.onnx)",
              &SessionConfig::context_file_path},
    ConfigKey{"ep.context_embed_mode", &SessionConfig::context_embed, nullptr,
              "that file holds the model's constants, too, instead of naming their place in the model's files"},
    ConfigKey{kTuningKey, &SessionConfig::tuning, nullptr,
              "time the model without each provider and with each algorithm of its convolutions at load; a context keeps what was best"},
    ConfigKey{"session.qdq_matmulnbits_accuracy_level", nullptr, &SessionConfig::nbits_accuracy_level,
              "accuracy_level (of MatMulNBits) for products with weights that the model dequantizes: 0 to 3 compute in its own types, "
              "4 may quantize to 8 bits what 4-bit weights meet",
              nullptr, 4},
    ConfigKey{"session.round_halves", &SessionConfig::round_halves, nullptr,
              "round every result of float16 and bfloat16 operators, as ONNX defines them; else values stay float32 between those that "
              "the CPU provider runs"},
    ConfigKey{kPrecision, nullptr, nullptr,
              "what products may be computed in: f32 (the model's types), bf16, fp16, int8-dynamic (weights are quantized at load)"},
};

Precision ParsePrecision(std::string_view value) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16, Precision::kInt8Dynamic}) {
    if (value == NameOf(precision)) return precision;
  }
  Fail(ErrorCode::kInvalidArgument, "session configuration entry '{}' is '{}', expected f32, bf16, fp16 or int8-dynamic", kPrecision, value);
}

}  // namespace

SessionConfig ParseConfig(const SessionOptions& options) {
  SessionConfig config;
  for (const auto& [name, value] : options.config) {
    const auto key = std::find_if(kKeys.begin(), kKeys.end(), [&](const ConfigKey& known) { return known.name == name; });
    if (key == kKeys.end()) {
      Fail(ErrorCode::kInvalidArgument, "there is no session configuration entry '{}' (allowed: {})", name,
           JoinNames(kKeys, [](const ConfigKey& known) { return std::string(known.name); }));
    }
    if (key->text != nullptr) {
      config.*key->text = value;
    } else if (key->name == kPrecision) {
      config.precision = ParsePrecision(value);
    } else if (key->flag != nullptr) {
      const auto parsed = ParseBool(value);
      Require(parsed.has_value(), "session configuration entry '{}' is '{}', expected true or false", name, value);
      config.*key->flag = *parsed;
    } else {
      const auto parsed = ParseInt(value);
      Require(parsed.has_value() && *parsed >= 0 && *parsed <= key->most,
              "session configuration entry '{}' is '{}', expected a number from 0{}", name, value,
              key->most == ConfigKey{}.most ? "" : fmt::format(" to {}", key->most));
      config.*key->number = *parsed;
    }
  }
  config.disable_cpu_fallback |= options.disable_cpu_fallback;
  return config;
}

std::vector<std::pair<std::string, std::string>> ConfigKeys() {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const ConfigKey& key : kKeys) keys.emplace_back(key.name, key.description);
  return keys;
}

}  // namespace tessera
