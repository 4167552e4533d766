#include "model/message_bytes.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "model/wire_format.h"
#include "onnx/onnx_pb.h"

namespace tessera {
namespace {

/// Messages of onnx.proto as their fields name them. kText stands for what takes its own length: strings, packed numbers of
/// fixed width.
enum class MessageKind : uint8_t {
  kText,
  kVarints,
  kModel,
  kFunction,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kValueInfo,
  kType,
  kTypeHolder,
  kShape,
  kDimension,
  kEntry,
  kTraining
};

struct KnownField {
  MessageKind outer;
  uint32_t number;
  MessageKind inner;
};

/// Fields whose contents take more than text of their length; numbers are those of onnx.proto.
constexpr auto kKnownFields = [] {
  using enum MessageKind;
  return std::array{
      KnownField{kModel, 7, kGraph},         KnownField{kModel, 8, kEntry},       KnownField{kModel, 14, kEntry},
      KnownField{kModel, 20, kTraining},     KnownField{kModel, 25, kFunction},   KnownField{kModel, 26, kEntry},
      KnownField{kTraining, 1, kGraph},      KnownField{kTraining, 2, kGraph},    KnownField{kTraining, 3, kEntry},
      KnownField{kTraining, 4, kEntry},      KnownField{kGraph, 1, kNode},        KnownField{kGraph, 5, kTensor},
      KnownField{kGraph, 11, kValueInfo},    KnownField{kGraph, 12, kValueInfo},  KnownField{kGraph, 13, kValueInfo},
      KnownField{kGraph, 14, kEntry},        KnownField{kGraph, 15, kSparse},     KnownField{kGraph, 16, kEntry},
      KnownField{kFunction, 7, kNode},       KnownField{kFunction, 9, kEntry},    KnownField{kFunction, 11, kAttribute},
      KnownField{kFunction, 12, kValueInfo}, KnownField{kFunction, 14, kEntry},   KnownField{kNode, 5, kAttribute},
      KnownField{kNode, 9, kEntry},          KnownField{kNode, 10, kEntry},       KnownField{kAttribute, 5, kTensor},
      KnownField{kAttribute, 6, kGraph},     KnownField{kAttribute, 8, kVarints}, KnownField{kAttribute, 10, kTensor},
      KnownField{kAttribute, 11, kGraph},    KnownField{kAttribute, 14, kType},   KnownField{kAttribute, 15, kType},
      KnownField{kAttribute, 22, kSparse},   KnownField{kAttribute, 23, kSparse}, KnownField{kTensor, 1, kVarints},
      KnownField{kTensor, 5, kVarints},      KnownField{kTensor, 7, kVarints},    KnownField{kTensor, 11, kVarints},
      KnownField{kTensor, 13, kEntry},       KnownField{kTensor, 16, kEntry},     KnownField{kSparse, 1, kTensor},
      KnownField{kSparse, 2, kTensor},       KnownField{kSparse, 3, kVarints},    KnownField{kValueInfo, 2, kType},
      KnownField{kValueInfo, 4, kEntry},     KnownField{kType, 1, kTypeHolder},   KnownField{kType, 4, kTypeHolder},
      KnownField{kType, 5, kTypeHolder},     KnownField{kType, 8, kTypeHolder},   KnownField{kType, 9, kTypeHolder},
      KnownField{kShape, 1, kDimension}};
}();

/// A tensor's type holds a shape in field 2, the others a type in field 1 or, maps, 2: what is both is taken for what is
/// larger.
constexpr MessageKind KindOfField(MessageKind outer, uint32_t number) {
  if (outer == MessageKind::kTypeHolder) return number == 2 ? MessageKind::kShape : MessageKind::kType;
  for (const KnownField& field : kKnownFields) {
    if (field.outer == outer && field.number == number) return field.inner;
  }
  return MessageKind::kText;
}

constexpr size_t kAllocation = 16,
                 kPointer = 2 * sizeof(void*);  // of the heap for each object; lists of pointers grow by doubling

size_t SizeOfObject(MessageKind kind) {
  switch (kind) {
    case MessageKind::kModel: return sizeof(onnx::ModelProto);
    case MessageKind::kFunction: return sizeof(onnx::FunctionProto);
    case MessageKind::kGraph: return sizeof(onnx::GraphProto);
    case MessageKind::kNode: return sizeof(onnx::NodeProto);
    case MessageKind::kAttribute: return sizeof(onnx::AttributeProto);
    case MessageKind::kTensor: return sizeof(onnx::TensorProto);
    case MessageKind::kSparse: return sizeof(onnx::SparseTensorProto);
    case MessageKind::kValueInfo: return sizeof(onnx::ValueInfoProto);
    case MessageKind::kType: return sizeof(onnx::TypeProto);
    case MessageKind::kTypeHolder: return sizeof(onnx::TypeProto_Tensor);
    case MessageKind::kShape: return sizeof(onnx::TensorShapeProto);
    case MessageKind::kDimension: return sizeof(onnx::TensorShapeProto_Dimension);
    case MessageKind::kEntry: return sizeof(onnx::StringStringEntryProto);
    case MessageKind::kTraining: return sizeof(onnx::TrainingInfoProto);
    case MessageKind::kText:
    case MessageKind::kVarints: break;
  }
  return sizeof(std::string);
}

/// Of a packed list: their last bytes are those without a mark that another follows.
size_t CountVarints(std::span<const std::byte> packed, const LoadLimits& limits) {
  constexpr size_t kAtOnce = size_t{4} << 20;
  const auto ends = [](std::byte byte) { return (byte & std::byte{0x80}) == std::byte{0}; };
  size_t count = 0;
  for (size_t at = 0; at < packed.size(); at += kAtOnce) {
    limits.Check();
    count += static_cast<size_t>(std::ranges::count_if(packed.subspan(at, std::min(kAtOnce, packed.size() - at)), ends));
  }
  return count;
}

class ParsedEstimate {
 public:
  explicit ParsedEstimate(const LoadLimits& limits) : limits_(limits) {}

  size_t Of(MessageKind kind, std::span<const std::byte> message, int depth) {
    size_t bytes = SizeOfObject(kind) + kAllocation + kPointer;
    if (depth > kDeepestMessages) {
      Fail(ErrorCode::kInvalidProtobuf,
           "the model's messages (graphs in nodes, types in types) are nested more than {} deep, which protobuf does not "
           "read",
           kDeepestMessages);
    }
    WireReader reader(message);
    while (const auto field = reader.Next()) {
      if (++fields_ % kLookEvery == 0) limits_.Check();
      if (field->type != WireType::kBytes) {
        bytes += kScalar;  // one of a list that is not packed, at worst
        continue;
      }
      const MessageKind inner = KindOfField(kind, field->number);
      if (inner == MessageKind::kText) {
        bytes += sizeof(std::string) + kPointer + kAllocation +
                 (field->payload.size() > kShortText ? kAllocation + field->payload.size() : 0);
      } else if (inner == MessageKind::kVarints) {
        bytes += kScalar * CountVarints(field->payload, limits_);
      } else {
        bytes += Of(inner, field->payload, depth + 1);
      }
    }
    return bytes;
  }

 private:
  static constexpr size_t kLookEvery = 4096, kScalar = sizeof(int64_t), kShortText = 15;

  const LoadLimits& limits_;
  size_t fields_ = 0;
};

}  // namespace

size_t ParsedBytes(std::span<const std::byte> model, const LoadLimits& limits) {
  return ParsedEstimate(limits).Of(MessageKind::kModel, model, 0);
}

}  // namespace tessera
