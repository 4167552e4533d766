#include "model/raw_data_index.h"

#include <cstdint>
#include <optional>

namespace tessera {
namespace {

// Field numbers of onnx.proto.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kGraphInitializer = 5;
constexpr uint32_t kTensorRawData = 9;

struct Field {
  uint32_t number;
  uint32_t wire_type;
  std::span<const std::byte> whole;    // tag included
  std::span<const std::byte> payload;  // of a length-delimited field
};

/// Reads fields off a message; nothing at its end or where it is damaged.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> message) : rest_(message) {}

  std::optional<Field> Next() {
    const std::span<const std::byte> start = rest_;
    const auto tag = Varint();
    if (!tag) return std::nullopt;
    Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7), {}, {}};
    switch (field.wire_type) {
      case 0:
        if (!Varint()) return std::nullopt;
        break;
      case 1:
        if (!Skip(8)) return std::nullopt;
        break;
      case 2: {
        const auto length = Varint();
        if (!length || *length > rest_.size()) return std::nullopt;
        field.payload = rest_.first(*length);
        rest_ = rest_.subspan(*length);
        break;
      }
      case 5:
        if (!Skip(4)) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
    field.whole = start.first(start.size() - rest_.size());
    return field;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = std::to_integer<uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  bool Skip(size_t bytes) {
    if (bytes > rest_.size()) return false;
    rest_ = rest_.subspan(bytes);
    return true;
  }

  std::span<const std::byte> rest_;
};

void Append(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendMessage(std::string& out, uint32_t field, const std::string& payload) {
  AppendVarint(out, field << 3 | 2);
  AppendVarint(out, payload.size());
  out += payload;
}

/// Copies a message field by field; `rewrite` appends its own form of a field and returns true, or leaves it. False when the
/// message is damaged.
template <class Rewrite>
bool CopyFields(std::span<const std::byte> message, std::string& out, Rewrite rewrite) {
  FieldReader reader(message);
  while (const auto field = reader.Next()) {
    if (!rewrite(*field)) Append(out, field->whole);
  }
  return reader.at_end();
}

}  // namespace

StrippedModel StripRawData(std::span<const std::byte> model, size_t threshold) {
  StrippedModel stripped;
  const auto strip_tensor = [&](const Field& initializer) {
    if (initializer.number != kGraphInitializer || initializer.wire_type != 2 || initializer.payload.size() < threshold) return false;
    std::string tensor;
    const bool whole = CopyFields(initializer.payload, tensor, [&](const Field& field) {
      if (field.number != kTensorRawData || field.wire_type != 2 || field.payload.size() < threshold) return false;
      std::string key = std::string(kStrippedMark) + std::to_string(stripped.raw_data.size());
      AppendMessage(tensor, kTensorRawData, key);
      stripped.raw_data.emplace(std::move(key), field.payload);
      return true;
    });
    if (whole) AppendMessage(stripped.message, kGraphInitializer, tensor);
    return whole;
  };
  std::string out;
  const bool whole = CopyFields(model, out, [&](const Field& graph) {
    if (graph.number != kModelGraph || graph.wire_type != 2) return false;
    stripped.message.clear();
    if (!CopyFields(graph.payload, stripped.message, strip_tensor)) return false;
    AppendMessage(out, kModelGraph, stripped.message);
    return true;
  });
  if (!whole) {
    out.assign(reinterpret_cast<const char*>(model.data()), model.size());
    stripped.raw_data.clear();
  }
  stripped.message = std::move(out);
  return stripped;
}

}  // namespace tessera
