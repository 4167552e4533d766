#include "model/large_data.h"

#include <cstdint>

#include "model/wire_format.h"
#include "onnx/onnx_pb.h"

namespace tessera {
namespace {

/// Messages on the way from a model to its tensors.
enum class Kind { kOther, kModel, kFunction, kGraph, kNode, kAttribute, kSparseTensor, kTensor };

constexpr uint32_t kTensorRawData = 9, kAttributeTensor = 5, kAttributeType = 20;
/// Bytes from which on data stays in the file. Types of outputs may follow from lists, which are small there.
constexpr size_t kLargeTensor = 1024, kLargeList = size_t{64} << 10;

/// The kind of message in field `number` of a message of kind `outer`; numbers are those of onnx.proto.
constexpr Kind KindOf(Kind outer, uint32_t number) {
  switch (outer) {
    case Kind::kModel: return number == 7 ? Kind::kGraph : number == 25 ? Kind::kFunction : Kind::kOther;
    case Kind::kFunction: return number == 7 ? Kind::kNode : Kind::kOther;
    case Kind::kGraph:
      return number == 1 ? Kind::kNode : number == 5 ? Kind::kTensor : number == 15 ? Kind::kSparseTensor : Kind::kOther;
    case Kind::kNode: return number == 5 ? Kind::kAttribute : Kind::kOther;
    case Kind::kAttribute:
      return number == 5 || number == 10   ? Kind::kTensor
             : number == 6 || number == 11 ? Kind::kGraph
             : number == 22                ? Kind::kSparseTensor
                                           : Kind::kOther;
    case Kind::kSparseTensor: return number == 1 || number == 2 ? Kind::kTensor : Kind::kOther;
    default: return Kind::kOther;
  }
}

void Append(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

/// A field whose payload `write` appends. Its length takes as many bytes as any may: nothing is moved once it is known.
template <class Write>
bool AppendNested(std::string& out, uint32_t field, const Write& write) {
  constexpr size_t kLengthBytes = 5;
  AppendVarint(out, field << 3 | 2);
  const size_t begin = out.size() + kLengthBytes;
  out.resize(begin);
  if (!write()) return false;
  size_t length = out.size() - begin;
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7) {
    const bool last = i + 1 == kLengthBytes;
    out[begin - kLengthBytes + i] = static_cast<char>((length & 0x7f) | (last ? 0 : 0x80));
  }
  return true;
}

void AppendMessage(std::string& out, uint32_t field, const std::string& payload) {
  AppendVarint(out, field << 3 | 2);
  AppendVarint(out, payload.size());
  out += payload;
}

/// The field that holds the list of an attribute of this type; 0 for what is no list of numbers or strings.
constexpr uint32_t ListField(uint64_t attribute_type) {
  switch (attribute_type) {
    case onnx::AttributeProto::FLOATS: return onnx::AttributeProto::kFloatsFieldNumber;
    case onnx::AttributeProto::INTS: return onnx::AttributeProto::kIntsFieldNumber;
    case onnx::AttributeProto::STRINGS: return onnx::AttributeProto::kStringsFieldNumber;
    default: return 0;
  }
}

class Stripper {
 public:
  explicit Stripper(const LoadLimits& limits) : limits_(limits) {}

  /// Copies `message` to `out` without large data; false when it is damaged.
  bool Copy(Kind kind, std::span<const std::byte> message, std::string& out, int depth) {
    if (depth > kDeepestMessages) return false;
    if (kind == Kind::kAttribute && message.size() >= kLargeList && CopyWithoutList(message, out)) return true;
    WireReader reader(message);
    while (const auto field = reader.Next()) {
      if (++fields_ % kLookEvery == 0) limits_.Check();
      if (field->type != WireType::kBytes || field->payload.size() < kLargeTensor) {
        Append(out, field->whole);
      } else if (kind == Kind::kTensor && field->number == kTensorRawData) {
        AppendMessage(out, kTensorRawData, KeyOf(field->payload));
      } else if (const Kind inner = KindOf(kind, field->number); inner != Kind::kOther) {
        const auto write = [&] { return Copy(inner, field->payload, out, depth + 1); };
        if (!AppendNested(out, field->number, write)) return false;
      } else {
        AppendLarge(out, field->whole);
      }
    }
    return reader.at_end();
  }

  StrippedModel stripped;

 private:
  /// Copies an attribute whose type says that it is a list, a tensor with a key in the list's place; false when it is none.
  bool CopyWithoutList(std::span<const std::byte> attribute, std::string& out) {
    std::string rest;
    uint32_t list = 0;
    WireReader reader(attribute);
    const auto pass = [this](const auto&) {
      if (++fields_ % kLookEvery == 0) limits_.Check();
    };
    while (!reader.at_end()) {
      reader.Run<WireType::kFixed32>(onnx::AttributeProto::kFloatsFieldNumber, pass);
      reader.Run<WireType::kVarint>(onnx::AttributeProto::kIntsFieldNumber, pass);
      reader.Run<WireType::kBytes>(onnx::AttributeProto::kStringsFieldNumber, pass);
      if (reader.at_end()) break;
      const auto field = reader.Next();
      if (!field || field->number == kAttributeTensor) return false;
      if (field->number == kAttributeType) list = ListField(field->varint);
      const bool is_list = field->number >= onnx::AttributeProto::kFloatsFieldNumber &&
                           field->number <= onnx::AttributeProto::kStringsFieldNumber;
      if (!is_list) Append(rest, field->whole);
    }
    if (list == 0) return false;
    std::string tensor;
    AppendMessage(tensor, kTensorRawData, KeyOf(attribute));
    AppendMessage(rest, kAttributeTensor, tensor);
    out += rest;
    return true;
  }

  void AppendLarge(std::string& out, std::span<const std::byte> bytes) const {
    constexpr size_t kAtOnce = size_t{4} << 20;  // a few milliseconds, pages that are touched first included
    for (; bytes.size() > kAtOnce; bytes = bytes.subspan(kAtOnce)) {
      limits_.Check();
      Append(out, bytes.first(kAtOnce));
    }
    Append(out, bytes);
  }

  std::string KeyOf(std::span<const std::byte> data) {
    std::string key = std::string(kStrippedMark) + std::to_string(stripped.data.size());
    stripped.data.emplace(key, data);
    return key;
  }

  static constexpr size_t kLookEvery = 65536;

  const LoadLimits& limits_;
  size_t fields_ = 0;
};

}  // namespace

StrippedModel StripLargeData(std::span<const std::byte> model, const LoadLimits& limits) {
  Stripper stripper(limits);
  std::string message;
  if (!stripper.Copy(Kind::kModel, model, message, 0)) {
    message.assign(reinterpret_cast<const char*>(model.data()), model.size());
    stripper.stripped.data.clear();
  }
  stripper.stripped.message = std::move(message);
  return std::move(stripper.stripped);
}

}  // namespace tessera
