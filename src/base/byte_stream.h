#pragma once

// Numbers and texts in a flat sequence of bytes, as in a context file: little-endian, as this machine's memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"

namespace tessera {

class ByteWriter {
 public:
  template <class T>
  void Put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void PutText(std::string_view text) {
    Put<uint64_t>(text.size());
    bytes_.append(text);
  }
  template <class T>
  void PutList(std::span<const T> values) {
    Put<uint64_t>(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  void Append(std::span<const std::byte> bytes) {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

/// Throws Error(kInvalidProtobuf) where the bytes end too early or a number of entries is more than they can hold.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T Get() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    T value;
    std::memcpy(&value, Take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  bool GetFlag() { return Get<uint8_t>() != 0; }
  /// An enumerator below `end`.
  template <class E>
  E GetEnum(E end) {
    const auto value = Get<std::underlying_type_t<E>>();
    if (value < 0 || value >= static_cast<std::underlying_type_t<E>>(end)) Damaged();
    return static_cast<E>(value);
  }
  /// How many entries of at least `least` bytes follow.
  size_t GetCount(size_t least = 1) {
    const auto count = Get<uint64_t>();
    if (count > rest_.size() / least) Damaged();
    return static_cast<size_t>(count);
  }
  std::string GetText() {
    const auto bytes = Take(GetCount());
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  template <class T>
  std::vector<T> GetList() {
    std::vector<T> values(GetCount(sizeof(T)));
    const auto bytes = Take(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  bool at_end() const noexcept { return rest_.empty(); }

  [[noreturn]] static void Damaged() { Fail(ErrorCode::kInvalidProtobuf, "the context is damaged"); }

 private:
  std::span<const std::byte> Take(size_t count) {
    if (count > rest_.size()) Damaged();
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::span<const std::byte> rest_;
};

}  // namespace tessera
