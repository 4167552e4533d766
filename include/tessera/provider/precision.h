#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

/// What matmuls may be computed in, where a session allows less than the model's own types (session configuration entry
/// "session.precision").
enum class Precision : uint8_t {
  kFloat32,          // the model's types
  kBFloat16,         // operands are rounded to bfloat16, accumulators are float32
  kBFloat16Weights,  // constant operands are stored as bfloat16, what they meet stays as it is
  kFloat16,          // as kBFloat16, with float16
  kInt8Dynamic,      // constant operands are quantized at load, the others at each run; accumulators are 32-bit integers
};

/// As options and reports call it: "f32", "bf16".
constexpr std::string_view NameOf(Precision precision) {
  switch (precision) {
    case Precision::kFloat32: return "f32";
    case Precision::kBFloat16: return "bf16";
    case Precision::kBFloat16Weights: return "bf16-weights";
    case Precision::kFloat16: return "fp16";
    case Precision::kInt8Dynamic: return "int8-dynamic";
  }
  return "";
}

}  // namespace tessera
