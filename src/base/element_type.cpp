#include "tessera/element_type.h"

#include <array>
#include <string>

#include "base/checked.h"

namespace tessera {
namespace {

struct Description {
  std::string_view name;
  int bits;
};

// Indexed by ElementType; names as in onnx::Utils::DataTypeUtils.
constexpr std::array<Description, kElementTypeCount> kTypes = {{
    {"undefined", 0},      {"float", 32},     {"uint8", 8},
    {"int8", 8},           {"uint16", 16},    {"int16", 16},
    {"int32", 32},         {"int64", 64},     {"string", static_cast<int>(sizeof(std::string)) * 8},
    {"bool", 8},           {"float16", 16},   {"double", 64},
    {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
    {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2},
    {"float6e2m3", 8},     {"float6e3m2", 8},
}};

const Description& Describe(ElementType type) noexcept {
  const auto index = static_cast<size_t>(type);
  return kTypes[index < kTypes.size() ? index : 0];
}

}  // namespace

std::string_view ElementTypeName(ElementType type) noexcept { return Describe(type).name; }

ElementType ElementTypeFromName(std::string_view name) noexcept {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return ElementType::kUndefined;
}

int BitWidth(ElementType type) noexcept { return Describe(type).bits; }

size_t ByteSize(ElementType type, int64_t count) {
  const int bits = BitWidth(type);
  // Signed: kernels count bytes in int64_t.
  if (bits >= 8) return static_cast<size_t>(CheckedMul(count, static_cast<int64_t>(bits / 8)));
  if (bits == 0) return 0;
  const int64_t per_byte = 8 / bits;
  return static_cast<size_t>(CheckedAdd(count, per_byte - 1) / per_byte);
}

}  // namespace tessera
