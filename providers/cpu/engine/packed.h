#pragma once

// Elements of 4 and 2 bits, as tensors hold them: packed, the first element in the low bits of its byte.

#include <bit>
#include <cstdint>
#include <cstring>

#include "tessera/element_type.h"

namespace tessera::cpu {

constexpr bool IsPacked(ElementType type) noexcept {
  switch (type) {
    case ElementType::kInt4:
    case ElementType::kUInt4:
    case ElementType::kFloat4E2M1:
    case ElementType::kInt2:
    case ElementType::kUInt2: return true;
    default: return false;
  }
}

/// The bits (unsigned, not sign-extended) of element `i`.
template <int kBits>
inline uint8_t LoadPacked(const uint8_t* bytes, int64_t i) noexcept {
  constexpr int kPerByte = 8 / kBits;
  return static_cast<uint8_t>(bytes[i / kPerByte] >> (i % kPerByte * kBits)) & ((1 << kBits) - 1);
}

/// Sets element `i`, leaving its neighbours. Threads must not share a byte.
template <int kBits>
inline void StorePacked(uint8_t* bytes, int64_t i, uint8_t value) noexcept {
  constexpr int kPerByte = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1;
  const int shift = static_cast<int>(i % kPerByte) * kBits;
  uint8_t& byte = bytes[i / kPerByte];
  byte = static_cast<uint8_t>((byte & ~(kMask << shift)) | ((value & kMask) << shift));
}

/// The low kBits of each of eight bytes, next to each other in the low 8 * kBits bits, and back.
template <int kBits>
constexpr uint64_t Gather8(uint64_t values) noexcept {
  values &= 0x0101010101010101u * ((1u << kBits) - 1);
  values = (values | values >> (8 - kBits)) & 0x0001000100010001u * ((1u << 2 * kBits) - 1);
  values = (values | values >> (16 - 2 * kBits)) & 0x0000000100000001u * ((1u << 4 * kBits) - 1);
  return values | values >> (32 - 4 * kBits);
}
template <int kBits>
constexpr uint64_t Spread8(uint64_t bits) noexcept {
  bits = (bits | bits << (32 - 4 * kBits)) & 0x0000000100000001u * ((1u << 4 * kBits) - 1);
  bits = (bits | bits << (16 - 2 * kBits)) & 0x0001000100010001u * ((1u << 2 * kBits) - 1);
  return (bits | bits << (8 - kBits)) & 0x0101010101010101u * ((1u << kBits) - 1);
}

/// Elements [begin, begin + count) to one byte each; `sign_extend` for the signed integers.
template <int kBits>
void Unpack(const uint8_t* bytes, int64_t begin, int64_t count, bool sign_extend, uint8_t* out) noexcept {
  constexpr int kPerByte = 8 / kBits;
  const uint8_t sign = sign_extend ? uint8_t{1} << (kBits - 1) : uint8_t{0};
  const auto extend = [sign](uint8_t value) { return static_cast<uint8_t>((value ^ sign) - sign); };
  int64_t i = 0;
  for (; i < count && (begin + i) % kPerByte != 0; ++i) out[i] = extend(LoadPacked<kBits>(bytes, begin + i));
  const uint8_t* source = bytes + (begin + i) / kPerByte;
  if constexpr (std::endian::native == std::endian::little) {
    // Sign extension by ^ and -: no byte borrows from its neighbour, since the minuend's top bit is set meanwhile.
    constexpr uint64_t kOnes = 0x0101010101010101u;
    for (; i + 8 <= count; i += 8, source += kBits) {
      uint64_t packed = 0;
      std::memcpy(&packed, source, kBits);
      const uint64_t values = Spread8<kBits>(packed) ^ kOnes * sign;
      const uint64_t extended = sign == 0 ? values : ((values | kOnes * 0x80u) - kOnes * sign) ^ kOnes * 0x80u;
      std::memcpy(out + i, &extended, 8);
    }
  }
  for (; i + kPerByte <= count; i += kPerByte, ++source) {
    for (int k = 0; k < kPerByte; ++k) {
      out[i + k] = extend(static_cast<uint8_t>(*source >> (k * kBits)) & ((1 << kBits) - 1));
    }
  }
  for (; i < count; ++i) out[i] = extend(LoadPacked<kBits>(bytes, begin + i));
}

/// One byte each to elements [begin, begin + count); high bits are dropped. The unused bits of the last byte become 0 when
/// the range ends inside it and it starts in this range.
template <int kBits>
void Pack(const uint8_t* values, int64_t begin, int64_t count, uint8_t* bytes) noexcept {
  constexpr int kPerByte = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1;
  int64_t i = 0;
  for (; i < count && (begin + i) % kPerByte != 0; ++i) StorePacked<kBits>(bytes, begin + i, values[i]);
  uint8_t* target = bytes + (begin + i) / kPerByte;
  if constexpr (std::endian::native == std::endian::little) {
    for (; i + 8 <= count; i += 8, target += kBits) {
      uint64_t word;
      std::memcpy(&word, values + i, 8);
      const uint64_t packed = Gather8<kBits>(word);
      std::memcpy(target, &packed, kBits);
    }
  }
  for (; i + kPerByte <= count; i += kPerByte, ++target) {
    int byte = 0;
    for (int k = 0; k < kPerByte; ++k) byte |= (values[i + k] & kMask) << (k * kBits);
    *target = static_cast<uint8_t>(byte);
  }
  if (i < count) {
    *target = 0;
    for (; i < count; ++i) StorePacked<kBits>(bytes, begin + i, values[i]);
  }
}

/// The same for a packed type known at run time.
inline void UnpackElements(ElementType type, const void* packed, int64_t begin, int64_t count, uint8_t* out) noexcept {
  const auto* bytes = static_cast<const uint8_t*>(packed);
  switch (type) {
    case ElementType::kInt4:
    case ElementType::kUInt4:
    case ElementType::kFloat4E2M1: return Unpack<4>(bytes, begin, count, type == ElementType::kInt4, out);
    case ElementType::kInt2:
    case ElementType::kUInt2: return Unpack<2>(bytes, begin, count, type == ElementType::kInt2, out);
    default: std::memcpy(out, bytes + begin, static_cast<size_t>(count));
  }
}
inline void PackElements(ElementType type, const uint8_t* values, int64_t begin, int64_t count, void* packed) noexcept {
  auto* bytes = static_cast<uint8_t*>(packed);
  switch (type) {
    case ElementType::kInt4:
    case ElementType::kUInt4:
    case ElementType::kFloat4E2M1: return Pack<4>(values, begin, count, bytes);
    case ElementType::kInt2:
    case ElementType::kUInt2: return Pack<2>(values, begin, count, bytes);
    default: std::memcpy(bytes + begin, values, static_cast<size_t>(count));
  }
}

}  // namespace tessera::cpu
