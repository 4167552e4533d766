#include "model/raw_data_index.h"

#include <cstdint>
#include <optional>

namespace tessera {
namespace {

/// Messages on the way from a model to its tensors.
enum class Kind { kOther, kModel, kFunction, kGraph, kNode, kAttribute, kSparseTensor, kTensor };

constexpr uint32_t kTensorRawData = 9;
/// As deep as the parser goes.
constexpr int kDeepest = 100;

/// The kind of message in field `number` of a message of kind `outer`; numbers are those of onnx.proto.
constexpr Kind KindOf(Kind outer, uint32_t number) {
  switch (outer) {
    case Kind::kModel:
      return number == 7 ? Kind::kGraph : number == 25 ? Kind::kFunction : Kind::kOther;
    case Kind::kFunction:
      return number == 7 ? Kind::kNode : Kind::kOther;
    case Kind::kGraph:
      return number == 1 ? Kind::kNode : number == 5 ? Kind::kTensor : number == 15 ? Kind::kSparseTensor : Kind::kOther;
    case Kind::kNode:
      return number == 5 ? Kind::kAttribute : Kind::kOther;
    case Kind::kAttribute:
      return number == 5 || number == 10   ? Kind::kTensor
             : number == 6 || number == 11 ? Kind::kGraph
             : number == 22                ? Kind::kSparseTensor
                                           : Kind::kOther;
    case Kind::kSparseTensor:
      return number == 1 || number == 2 ? Kind::kTensor : Kind::kOther;
    default:
      return Kind::kOther;
  }
}

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

class Stripper {
 public:
  explicit Stripper(size_t threshold) : threshold_(threshold) {}

  /// Copies `message` to `out` without large raw_data; false when it is damaged.
  bool Copy(Kind kind, std::span<const std::byte> message, std::string& out, int depth) {
    if (depth > kDeepest) return false;
    FieldReader reader(message);
    while (const auto field = reader.Next()) {
      if (field->wire_type != 2 || field->payload.size() < threshold_) {
        Append(out, field->whole);
      } else if (kind == Kind::kTensor && field->number == kTensorRawData) {
        std::string key = std::string(kStrippedMark) + std::to_string(stripped.raw_data.size());
        AppendMessage(out, kTensorRawData, key);
        stripped.raw_data.emplace(std::move(key), field->payload);
      } else if (const Kind inner = KindOf(kind, field->number); inner != Kind::kOther) {
        std::string copy;
        if (!Copy(inner, field->payload, copy, depth + 1)) return false;
        AppendMessage(out, field->number, copy);
      } else {
        Append(out, field->whole);
      }
    }
    return reader.at_end();
  }

  StrippedModel stripped;

 private:
  size_t threshold_;
};

}  // namespace

StrippedModel StripRawData(std::span<const std::byte> model, size_t threshold) {
  Stripper stripper(threshold);
  std::string message;
  if (!stripper.Copy(Kind::kModel, model, message, 0)) {
    message.assign(reinterpret_cast<const char*>(model.data()), model.size());
    stripper.stripped.raw_data.clear();
  }
  stripper.stripped.message = std::move(message);
  return std::move(stripper.stripped);
}

}  // namespace tessera
