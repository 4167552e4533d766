#include "model/ort_model.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "model/flat_buffer.h"

namespace tessera {
namespace {

constexpr std::string_view kIdentifier = "ORTM";

// Numbers of the fields of each table, in the order in which the format has them. Those that say nothing about the model
// are left out.
namespace session {
enum { kModel = 1 };
}
namespace model {
enum {
  kIrVersion,
  kOpsets,
  kProducer,
  kProducerVersion,
  kDomain,
  kVersion,
  kDescription,
  kGraph,
  kGraphDescription,
  kMetadata
};
}
namespace graph {
enum { kInitializers, kValues, kNodes, kInputs = 5, kOutputs, kSparseInitializers };
}
namespace node {
enum { kName, kDescription, kDomain, kOperator = 5, kKind, kInputs = 8, kOutputs, kAttributes };
constexpr int32_t kFused = 1;
}  // namespace node
namespace attribute {
enum { kName, kType = 2, kFloat, kInt, kText, kTensor, kGraph, kFloats, kInts, kTexts, kTensors, kGraphs };
}
namespace tensor {
enum { kName, kDims = 2, kType, kData, kTexts, kOutside };
}
namespace sparse {
enum { kValues, kIndices, kDims };
}
namespace value {
enum { kName, kType = 2 };
}
namespace type {
enum { kDenotation, kKind, kWhat };
enum Kind : uint8_t { kTensor = 1, kSequence, kMap, kOptional };
// Of a tensor, a sequence or optional, and a map.
enum { kElement = 0, kShape = 1, kMapValue = 1 };
}  // namespace type
namespace dimension {
enum { kSize, kDenotation };
enum { kForm, kNumber, kSymbol };
enum Form : int8_t { kKnown = 1, kNamed = 2 };
}  // namespace dimension

constexpr int kMostDepth = 100;      // of graphs and types in each other
constexpr size_t kStaysFrom = 4096;  // bytes of a tensor that stay in the file
constexpr size_t kMostSharing = 16;  // how often a good file refers to the same text
constexpr size_t kLeastText = size_t{1} << 20;

[[noreturn]] void FailDamaged(std::string_view what) {
  Fail(ErrorCode::kInvalidProtobuf, "the model in ONNX Runtime's format is damaged: {}", what);
}

class OrtModelReader {
 public:
  OrtModelReader(const FlatBuffer& buffer, size_t size, const LoadLimits& limits,
                 StringMap<std::span<const std::byte>>& data)
      : buffer_(buffer),
        limits_(limits),
        data_(data),
        tables_left_(size / 4),
        text_left_(kMostSharing * size + kLeastText) {}

  onnx::ModelProto Read() {
    const FlatTable from = buffer_.root().Inner(session::kModel);
    onnx::ModelProto to;
    to.set_ir_version(from.Number<int64_t>(model::kIrVersion, 0));
    to.set_producer_name(Text(from, model::kProducer));
    to.set_producer_version(Text(from, model::kProducerVersion));
    to.set_domain(Text(from, model::kDomain));
    to.set_model_version(from.Number<int64_t>(model::kVersion, 0));
    to.set_doc_string(Text(from, model::kDescription));
    ForEach(from, model::kOpsets, [&](const FlatTable& opset) {
      auto& import = *to.add_opset_import();
      import.set_domain(Text(opset, 0));
      import.set_version(opset.Number<int64_t>(1, 0));
    });
    ForEach(from, model::kMetadata, [&](const FlatTable& entry) {
      auto& property = *to.add_metadata_props();
      property.set_key(Text(entry, 0));
      property.set_value(Text(entry, 1));
    });
    ReadGraph(from.Inner(model::kGraph), *to.mutable_graph());
    to.mutable_graph()->set_doc_string(Text(from, model::kGraphDescription));
    return to;
  }

 private:
  using Types = StringMap<onnx::TypeProto>;

  /// Counts what is looked at: a good file refers to each table once, a bad one may lead round in circles.
  void Count() {
    if (tables_left_-- == 0) FailDamaged("its parts refer to each other in circles");
    limits_.Check();
  }

  template <class Body>
  void ForEach(const FlatTable& table, int field, const Body& body) {
    const size_t count = table.NumTables(field);
    for (size_t i = 0; i < count; ++i) {
      Count();
      body(table.Table(field, i));
    }
  }

  template <class Body>
  void ForEachText(const FlatTable& table, int field, const Body& body) {
    const size_t count = table.NumTables(field);
    for (size_t i = 0; i < count; ++i) {
      Count();
      body(Counted(table.Text(field, i)));
    }
  }

  std::string Counted(std::string_view text) {
    if (text.size() > text_left_) FailDamaged("it refers to the same bytes too often");
    text_left_ -= text.size();
    return std::string(text);
  }
  std::string Text(const FlatTable& table, int field) { return Counted(table.Text(field)); }

  template <class T, class Field>
  void ReadNumbers(const FlatTable& table, int field, Field* to) {
    const std::span<const std::byte> bytes = table.Vector(field, sizeof(T));
    if (bytes.size() > text_left_) FailDamaged("it refers to the same bytes too often");
    text_left_ -= bytes.size();
    to->Resize(static_cast<int>(bytes.size() / sizeof(T)), T{});
    if (!bytes.empty()) std::memcpy(to->mutable_data(), bytes.data(), bytes.size());
  }

  class Deeper {
   public:
    explicit Deeper(int& depth) : depth_(depth) {
      if (++depth_ > kMostDepth) {
        --depth_;
        FailDamaged("its parts lie too deep in each other");
      }
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    int& depth_;
  };

  void ReadGraph(const FlatTable& from, onnx::GraphProto& to) {
    const Deeper deeper(depth_);
    to.set_name("graph");
    Types types;
    ForEach(from, graph::kValues, [&](const FlatTable& value) {
      onnx::TypeProto known;
      if (value.Has(value::kType)) ReadType(value.Inner(value::kType), known);
      types.insert_or_assign(Text(value, value::kName), std::move(known));
    });
    const auto declare = [&](std::string name, onnx::ValueInfoProto& info) {
      const auto known = types.find(name);
      if (known != types.end() && known->second.value_case() != onnx::TypeProto::VALUE_NOT_SET)
        *info.mutable_type() = known->second;
      info.set_name(std::move(name));
    };
    ForEachText(from, graph::kInputs, [&](std::string name) { declare(std::move(name), *to.add_input()); });
    ForEachText(from, graph::kOutputs, [&](std::string name) { declare(std::move(name), *to.add_output()); });
    ForEach(from, graph::kInitializers, [&](const FlatTable& weight) { ReadTensor(weight, *to.add_initializer()); });
    ForEach(from, graph::kSparseInitializers, [&](const FlatTable& weight) {
      auto& sparse = *to.add_sparse_initializer();
      ReadTensor(weight.Inner(sparse::kValues), *sparse.mutable_values());
      ReadTensor(weight.Inner(sparse::kIndices), *sparse.mutable_indices());
      ReadNumbers<int64_t>(weight, sparse::kDims, sparse.mutable_dims());
    });
    ForEach(from, graph::kNodes, [&](const FlatTable& node) { ReadNode(node, *to.add_node()); });
  }

  void ReadNode(const FlatTable& from, onnx::NodeProto& to) {
    to.set_name(Text(from, node::kName));
    to.set_doc_string(Text(from, node::kDescription));
    to.set_domain(Text(from, node::kDomain));
    to.set_op_type(Text(from, node::kOperator));
    if (from.Number<int32_t>(node::kKind, 0) == node::kFused) {
      Fail(ErrorCode::kNotImplemented,
           "node '{}' is a part of the model that an execution provider compiled; convert the model without that",
           to.name());
    }
    ForEachText(from, node::kInputs, [&](std::string name) { to.add_input(std::move(name)); });
    ForEachText(from, node::kOutputs, [&](std::string name) { to.add_output(std::move(name)); });
    ForEach(from, node::kAttributes, [&](const FlatTable& attribute) { ReadAttribute(attribute, *to.add_attribute()); });
  }

  void ReadAttribute(const FlatTable& from, onnx::AttributeProto& to) {
    using onnx::AttributeProto;
    to.set_name(Text(from, attribute::kName));
    const int32_t type = from.Number<int32_t>(attribute::kType, 0);
    if (!AttributeProto::AttributeType_IsValid(type)) FailDamaged("an attribute has an unknown type");
    to.set_type(static_cast<AttributeProto::AttributeType>(type));
    switch (to.type()) {
      case AttributeProto::FLOAT: to.set_f(from.Number<float>(attribute::kFloat, 0)); return;
      case AttributeProto::INT: to.set_i(from.Number<int64_t>(attribute::kInt, 0)); return;
      case AttributeProto::STRING: to.set_s(Text(from, attribute::kText)); return;
      case AttributeProto::TENSOR: ReadTensor(from.Inner(attribute::kTensor), *to.mutable_t()); return;
      case AttributeProto::GRAPH: ReadGraph(from.Inner(attribute::kGraph), *to.mutable_g()); return;
      case AttributeProto::FLOATS: ReadNumbers<float>(from, attribute::kFloats, to.mutable_floats()); return;
      case AttributeProto::INTS: ReadNumbers<int64_t>(from, attribute::kInts, to.mutable_ints()); return;
      case AttributeProto::STRINGS:
        ForEachText(from, attribute::kTexts, [&](std::string text) { to.add_strings(std::move(text)); });
        return;
      case AttributeProto::TENSORS:
        ForEach(from, attribute::kTensors, [&](const FlatTable& each) { ReadTensor(each, *to.add_tensors()); });
        return;
      case AttributeProto::GRAPHS:
        ForEach(from, attribute::kGraphs, [&](const FlatTable& each) { ReadGraph(each, *to.add_graphs()); });
        return;
      default:
        Fail(ErrorCode::kNotImplemented, "attribute '{}' has type {}, which this format does not hold", to.name(), type);
    }
  }

  void ReadTensor(const FlatTable& from, onnx::TensorProto& to) {
    Count();
    to.set_name(Text(from, tensor::kName));
    to.set_data_type(from.Number<int32_t>(tensor::kType, 0));
    ReadNumbers<int64_t>(from, tensor::kDims, to.mutable_dims());
    if (from.Number<int64_t>(tensor::kOutside, -1) >= 0) {
      Fail(ErrorCode::kNotImplemented, "the data of tensor '{}' is in a second file; convert the model into one file",
           to.name());
    }
    if (to.data_type() == onnx::TensorProto::STRING) {
      ForEachText(from, tensor::kTexts, [&](std::string text) { to.add_string_data(std::move(text)); });
      return;
    }
    const std::span<const std::byte> bytes = from.Vector(tensor::kData, 1);
    if (bytes.size() < kStaysFrom) {
      to.set_raw_data(bytes.data(), bytes.size());
      return;
    }
    std::string key = std::string(kStrippedMark) + std::to_string(data_.size());
    data_.emplace(key, bytes);
    to.set_raw_data(std::move(key));
  }

  void ReadType(const FlatTable& from, onnx::TypeProto& to) {
    const Deeper deeper(depth_);
    Count();
    to.set_denotation(Text(from, type::kDenotation));
    const auto kind = from.Number<uint8_t>(type::kKind, 0);
    if (kind == 0) return;
    const FlatTable what = from.Inner(type::kWhat);
    switch (kind) {
      case type::kTensor: {
        auto& tensor = *to.mutable_tensor_type();
        tensor.set_elem_type(what.Number<int32_t>(type::kElement, 0));
        if (what.Has(type::kShape)) ReadShape(what.Inner(type::kShape), *tensor.mutable_shape());
        return;
      }
      case type::kSequence: return ReadType(what.Inner(type::kElement), *to.mutable_sequence_type()->mutable_elem_type());
      case type::kOptional: return ReadType(what.Inner(type::kElement), *to.mutable_optional_type()->mutable_elem_type());
      case type::kMap:
        to.mutable_map_type()->set_key_type(what.Number<int32_t>(type::kElement, 0));
        return ReadType(what.Inner(type::kMapValue), *to.mutable_map_type()->mutable_value_type());
      default: FailDamaged("a value has an unknown kind of type");
    }
  }

  void ReadShape(const FlatTable& from, onnx::TensorShapeProto& to) {
    ForEach(from, 0, [&](const FlatTable& dim) {
      auto& written = *to.add_dim();
      written.set_denotation(Text(dim, dimension::kDenotation));
      if (!dim.Has(dimension::kSize)) return;
      const FlatTable size = dim.Inner(dimension::kSize);
      const auto form = size.Number<int8_t>(dimension::kForm, 0);
      if (form == dimension::kKnown) written.set_dim_value(size.Number<int64_t>(dimension::kNumber, 0));
      if (form == dimension::kNamed) written.set_dim_param(Text(size, dimension::kSymbol));
    });
  }

  const FlatBuffer& buffer_;
  const LoadLimits& limits_;
  StringMap<std::span<const std::byte>>& data_;
  size_t tables_left_;
  size_t text_left_;
  int depth_ = 0;
};

}  // namespace

bool IsOrtModel(std::span<const std::byte> bytes) noexcept { return FlatBuffer(bytes).HasIdentifier(kIdentifier); }

onnx::ModelProto ReadOrtModel(std::span<const std::byte> bytes, const LoadLimits& limits,
                              StringMap<std::span<const std::byte>>& data) {
  const FlatBuffer buffer(bytes);
  try {
    return OrtModelReader(buffer, bytes.size(), limits, data).Read();
  } catch (const Error& error) {
    // What the buffer refuses is the file's fault.
    if (error.code() == ErrorCode::kInvalidArgument) throw Error(ErrorCode::kInvalidProtobuf, error.what());
    throw;
  }
}

}  // namespace tessera
