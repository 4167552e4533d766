#pragma once

// Reads FlatBuffers, which strangers may have written: every offset is checked.

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.h"

namespace tessera {

class FlatTable;

/// The bytes of a buffer.
class FlatBuffer {
 public:
  explicit FlatBuffer(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Whether the four letters stand where a file has its kind.
  bool HasIdentifier(std::string_view identifier) const noexcept {
    return bytes_.size() >= 8 && std::memcmp(bytes_.data() + 4, identifier.data(), 4) == 0;
  }
  FlatTable root() const;

  template <class T>
  T Read(size_t at) const {
    T value;
    std::memcpy(&value, Bytes(at, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> Bytes(size_t at, size_t size) const {
    Require(at <= bytes_.size() && size <= bytes_.size() - at, "the file is damaged: it refers to byte {} of {}", at,
            bytes_.size());
    return bytes_.subspan(at, size);
  }
  /// Where an offset that stands at `at` leads to.
  size_t Follow(size_t at) const { return at + Read<uint32_t>(at); }
  /// Elements of a vector, of `width` bytes each.
  std::span<const std::byte> Vector(size_t at, size_t width) const {
    return Bytes(at + sizeof(uint32_t), size_t{Read<uint32_t>(at)} * width);
  }

 private:
  std::span<const std::byte> bytes_;
};

/// A table's fields by number; one that is left out has the default.
class FlatTable {
 public:
  FlatTable(const FlatBuffer& buffer, size_t at) : buffer_(buffer), at_(at) {}

  template <class T>
  T Number(int field, T otherwise) const {
    const size_t place = PlaceOf(field);
    return place == 0 ? otherwise : buffer_.Read<T>(place);
  }
  std::string_view Text(int field) const {
    const std::span<const std::byte> bytes = Vector(field, 1);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> Vector(int field, size_t width) const {
    const size_t place = PlaceOf(field);
    return place == 0 ? std::span<const std::byte>() : buffer_.Vector(buffer_.Follow(place), width);
  }
  size_t NumTables(int field) const { return Vector(field, sizeof(uint32_t)).size() / sizeof(uint32_t); }
  FlatTable Table(int field, size_t i) const { return {buffer_, Element(field, i)}; }
  /// One of several texts.
  std::string_view Text(int field, size_t i) const {
    const std::span<const std::byte> bytes = buffer_.Vector(Element(field, i), 1);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool Has(int field) const { return PlaceOf(field) != 0; }
  /// A table that is a field by itself; throws Error where it is left out.
  FlatTable Inner(int field) const {
    const size_t place = PlaceOf(field);
    Require(place != 0, "the file is damaged: a table lacks its field {}", field);
    return {buffer_, buffer_.Follow(place)};
  }

 private:
  /// Where element i of a vector of offsets leads to.
  size_t Element(int field, size_t i) const {
    Require(i < NumTables(field), "the file is damaged: a vector has no element {}", i);
    const size_t elements = buffer_.Follow(PlaceOf(field)) + sizeof(uint32_t);
    return buffer_.Follow(elements + i * sizeof(uint32_t));
  }
  /// 0: left out.
  size_t PlaceOf(int field) const {
    const size_t table = at_ - static_cast<size_t>(static_cast<int64_t>(buffer_.Read<int32_t>(at_)));
    const size_t entry = 4 + 2 * static_cast<size_t>(field);
    if (entry + 2 > buffer_.Read<uint16_t>(table)) return 0;
    const auto offset = buffer_.Read<uint16_t>(table + entry);
    return offset == 0 ? 0 : at_ + offset;
  }

  const FlatBuffer& buffer_;
  size_t at_;
};

inline FlatTable FlatBuffer::root() const { return {*this, Follow(0)}; }

}  // namespace tessera
