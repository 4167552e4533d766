#pragma once

// What products may be computed in, where a session allows less than the model's own types.

#include <cstdint>
#include <string_view>

namespace tessera {

/// Session configuration entry "session.precision".
enum class Precision : uint8_t {
  kFloat32,          // the model's types
  kBFloat16,         // factors are rounded to bfloat16, sums are float32
  kBFloat16Weights,  // constant factors are stored as bfloat16, what they meet stays as it is
  kFloat16,          // as kBFloat16, with float16
  kInt8Dynamic,      // constant factors are quantized at load, the others at each run; sums are 32-bit integers
};

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

/// Option of providers that lets them round factors of products: the precision's name.
inline constexpr std::string_view kPrecisionOption = "precision";

/// Attribute of nodes that the optimizer lets run at less than float32: the precision's name.
inline constexpr std::string_view kPrecisionAttribute = "tessera_precision";

/// accuracy_level of com.microsoft's MatMulNBits that lets its first factor be quantized to 8 bits.
inline constexpr int64_t kInt8AccuracyLevel = 4;

}  // namespace tessera
