#pragma once

// Conversions between ONNX's protobuf messages and Tessera's types.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/load_limits.h"
#include "graph/graph.h"
#include "model/opaque_part.h"
#include "model/wire_format.h"
#include "onnx/onnx_pb.h"
#include "tessera/session.h"
#include "tessera/value.h"

namespace tessera {

/// Bytes that outlive whoever looks at them: a mapped file, a caller's buffer.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Where a TensorProto's data lies when not inside the message: external data, or raw_data that the loader left in the
/// file. Returns nothing when the message holds its data. Throws Error for locations that must not be read.
using TensorDataSource = std::function<std::optional<SharedBytes>(const onnx::TensorProto&)>;

/// The alignment that kernels need of an element: its own width, complex by its parts.
size_t RequiredAlignment(ElementType type) noexcept;

/// Type and dims are checked against the data's size. Shares the source's bytes where they are aligned; copies otherwise,
/// into the load's memory.
Tensor FromProto(const onnx::TensorProto& proto, const TensorDataSource& source = nullptr,
                 const LoadLimits& limits = LoadLimits::None());
SparseTensor FromProto(const onnx::SparseTensorProto& proto, const TensorDataSource& source = nullptr,
                       const LoadLimits& limits = LoadLimits::None());
TypeInfo FromProto(const onnx::TypeProto& proto);

/// Whether messages and files of external data hold elements of the type as the bytes that they have in memory.
bool IsStoredRaw(ElementType type) noexcept;

onnx::TensorProto ToProto(const Tensor& tensor, std::string_view name);
/// Says where the data lies, in place of it.
onnx::TensorProto ToProto(const Tensor& tensor, std::string_view name, const WeightPlace& place);
onnx::SparseTensorProto ToProto(const SparseTensor& sparse);
onnx::TypeProto ToProto(const TypeInfo& type);

onnx::AttributeProto ToProto(const Attribute& attribute);

/// IR versions before 3 did not write the type; it shows in the field that is set. UNDEFINED: an empty list of these.
onnx::AttributeProto::AttributeType TypeOf(const onnx::AttributeProto& attribute);
onnx::AttributeProto::AttributeType TypeOf(const AttributeValue& value);

/// Where the bytes of a weight lie that the model is written without; nothing: they are inside.
using StoreWeight = std::function<std::optional<WeightPlace>(const std::string& name, const Tensor& weight)>;

/// What a nested graph calls a value of its enclosing graph.
using NameCapture = std::function<std::string(const Graph& nested, ValueIndex local)>;
/// The graph with everything in it; constants become initializers. Captured values go by their names in the enclosing graph
/// unless `capture` says otherwise. `parts` tells what stands in place of opaque nodes, `store` where weights of this
/// graph, but none that nested ones have of their own, lie outside.
onnx::GraphProto ToProto(const Graph& graph, const NameCapture& capture = nullptr, const FindOpaquePart& parts = nullptr,
                         const StoreWeight& store = nullptr);

/// Parses a message; throws Error(kInvalidProtobuf) with `what` in the text.
template <class Message>
Message ParseMessage(std::span<const std::byte> bytes, std::string_view what) {
  Message message;
  if (bytes.size() > 0x7fffffff || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(ErrorCode::kInvalidProtobuf,
                std::string(what) + " is not a valid protobuf message (truncated, damaged, or nested more than " +
                    std::to_string(kDeepestMessages) + " messages deep)");
  }
  return message;
}

}  // namespace tessera
