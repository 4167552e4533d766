#pragma once

// Protobuf's wire format, read without copying (protobuf.dev/programming-guides/encoding).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tessera {

/// Messages in messages, beyond which protobuf refuses one.
inline constexpr int kDeepestMessages = 100;

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number;
  WireType type;
  std::span<const std::byte> whole;    // tag included
  std::span<const std::byte> payload;  // of kBytes and of the fixed widths
  uint64_t varint;
};

/// Reads fields off a message; nothing at its end or where it is damaged.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : rest_(message) {}

  std::optional<WireField> Next() {
    const std::span<const std::byte> start = rest_;
    const auto tag = Varint();
    if (!tag) return std::nullopt;
    WireField field{static_cast<uint32_t>(*tag >> 3), static_cast<WireType>(*tag & 7), {}, {}, 0};
    switch (field.type) {
      case WireType::kVarint: {
        const auto value = Varint();
        if (!value) return std::nullopt;
        field.varint = *value;
        break;
      }
      case WireType::kFixed64:
        if (!Take(8, field.payload)) return std::nullopt;
        break;
      case WireType::kBytes: {
        const auto length = Varint();
        if (!length || !Take(*length, field.payload)) return std::nullopt;
        break;
      }
      case WireType::kFixed32:
        if (!Take(4, field.payload)) return std::nullopt;
        break;
      default: return std::nullopt;
    }
    field.whole = start.first(start.size() - rest_.size());
    return field;
  }

  /// Visits fields of one number and type as long as they follow on each other: the value of a kVarint, the payload of
  /// others.
  template <WireType kType, class Visit>
  void Run(uint32_t number, const Visit& visit) {
    const auto tag = static_cast<std::byte>(number << 3 | static_cast<uint32_t>(kType));
    if (number > 15) return;  // longer tags are left to Next
    for (std::span<const std::byte> rest = rest_; !rest.empty() && rest[0] == tag; rest_ = rest) {
      rest = rest.subspan(1);
      uint64_t value = sizeof(float);
      if (kType != WireType::kFixed32 && !TakeVarint(rest, value)) return;
      if constexpr (kType == WireType::kVarint) {
        visit(value);
      } else {
        if (value > rest.size()) return;
        visit(rest.first(value));
        rest = rest.subspan(value);
      }
    }
  }

  std::optional<uint64_t> Varint() {
    uint64_t value;
    return TakeVarint(rest_, value) ? std::optional(value) : std::nullopt;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  static constexpr size_t kLongestVarint = 10;

  static bool TakeVarint(std::span<const std::byte>& rest, uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < rest.size() && i < kLongestVarint; ++i) {
      const auto byte = std::to_integer<uint64_t>(rest[i]);
      value |= (byte & 0x7f) << (7 * i);
      if ((byte & 0x80) == 0) {
        rest = rest.subspan(i + 1);
        return true;
      }
    }
    return false;
  }

  bool Take(uint64_t bytes, std::span<const std::byte>& payload) {
    if (bytes > rest_.size()) return false;
    payload = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return true;
  }

  std::span<const std::byte> rest_;
};

}  // namespace tessera
