#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "tessera/export.h"

namespace tessera {

/// Element types of ONNX tensors; values equal onnx::TensorProto::DataType.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr int kElementTypeCount = 29;

/// ONNX's name, such as "float" or "float8e4m3fn"; "undefined" for values outside the enumeration.
TESSERA_API std::string_view ElementTypeName(ElementType type) noexcept;

/// The inverse of ElementTypeName; kUndefined for an unknown name.
TESSERA_API ElementType ElementTypeFromName(std::string_view name) noexcept;

/// Bits that one element takes in a tensor's buffer: 2 and 4 for the packed types, 8 for the 6-bit floats (one byte
/// each, the low six bits), sizeof(std::string) * 8 for strings, 0 for kUndefined.
TESSERA_API int BitWidth(ElementType type) noexcept;

/// Bytes of a buffer of `count` elements; packed types round up to a whole byte. Throws Error on overflow.
TESSERA_API size_t ByteSize(ElementType type, int64_t count);

/// A set of element types, for kernel constraints.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<ElementType> types) {
    for (ElementType type : types) bits_ |= Bit(type);
  }
  static constexpr TypeSet All() {
    TypeSet set;
    set.bits_ = (uint64_t{1} << kElementTypeCount) - 2;
    return set;
  }
  constexpr bool contains(ElementType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr TypeSet operator|(TypeSet other) const {
    TypeSet set;
    set.bits_ = bits_ | other.bits_;
    return set;
  }
  constexpr bool operator==(const TypeSet&) const = default;

 private:
  static constexpr uint64_t Bit(ElementType type) { return uint64_t{1} << static_cast<int>(type); }
  uint64_t bits_ = 0;
};

}  // namespace tessera
