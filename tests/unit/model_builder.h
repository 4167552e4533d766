#pragma once

// Small models made in the test itself.

#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/proto.h"
#include "tessera/session.h"

namespace tessera::testing {

class ModelBuilder {
 public:
  explicit ModelBuilder(int opset = 21) {
    model_.set_ir_version(10);
    auto* import = model_.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    model_.mutable_graph()->set_name("test");
  }

  /// Dimensions: >= 0 fixed, -1 unknown.
  ModelBuilder& Input(const std::string& name, ElementType type, const std::vector<int64_t>& dims) {
    Declare(model_.mutable_graph()->add_input(), name, type, dims);
    return *this;
  }
  /// Names a dimension of an input.
  ModelBuilder& NameDim(std::string_view input, int axis, const std::string& name) {
    auto& inputs = *model_.mutable_graph()->mutable_input();
    const auto named = std::ranges::find_if(inputs, [&](const auto& info) { return info.name() == input; });
    named->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(name);
    return *this;
  }
  ModelBuilder& Output(const std::string& name, ElementType type, const std::vector<int64_t>& dims) {
    Declare(model_.mutable_graph()->add_output(), name, type, dims);
    return *this;
  }
  /// Without a shape.
  ModelBuilder& AnyOutput(const std::string& name, ElementType type) {
    auto* output = model_.mutable_graph()->add_output();
    Declare(output, name, type, {});
    output->mutable_type()->mutable_tensor_type()->clear_shape();
    return *this;
  }
  /// An initializer of floats, int64 or bytes; or of another type whose elements those bytes are.
  ModelBuilder& Constant(const std::string& name, const std::vector<int64_t>& dims, std::span<const float> values) {
    return AddConstant(name, onnx::TensorProto::FLOAT, dims, values);
  }
  ModelBuilder& Constant(const std::string& name, const std::vector<int64_t>& dims, std::span<const int64_t> values) {
    return AddConstant(name, onnx::TensorProto::INT64, dims, values);
  }
  ModelBuilder& Constant(const std::string& name, const std::vector<int64_t>& dims, std::span<const uint8_t> values,
                         onnx::TensorProto::DataType type = onnx::TensorProto::UINT8) {
    return AddConstant(name, type, dims, values);
  }
  /// Numbers of an integer type of 8 or 32 bits.
  ModelBuilder& Quantized(const std::string& name, ElementType type, const std::vector<int64_t>& dims,
                          const std::vector<int>& values) {
    std::vector<uint8_t> bytes;
    for (const int value : values) {
      const auto* low = reinterpret_cast<const uint8_t*>(&value);
      bytes.insert(bytes.end(), low, low + (type == ElementType::kInt32 ? sizeof(value) : 1));
    }
    return AddConstant(name, static_cast<onnx::TensorProto::DataType>(type), dims, std::span<const uint8_t>(bytes));
  }
  ModelBuilder& Floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    return Constant(name, dims, std::span<const float>(values));
  }
  ModelBuilder& Ints(const std::string& name, const std::vector<int64_t>& values) {
    return Constant(name, {static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
  }
  /// The node, for attributes.
  onnx::NodeProto& Node(const std::string& op, std::initializer_list<std::string> inputs,
                        std::initializer_list<std::string> outputs, const std::string& name = "") {
    return AddNode(*model_.mutable_graph(), op, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, name);
  }
  static onnx::NodeProto& AddNode(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs, const std::string& name = "") {
    auto* node = graph.add_node();
    node->set_op_type(op);
    node->set_name(name);
    for (const auto& input : inputs) node->add_input(input);
    for (const auto& output : outputs) node->add_output(output);
    return *node;
  }
  static void Declare(onnx::ValueInfoProto* info, const std::string& name, ElementType type, std::vector<int64_t> dims) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<int32_t>(type));
    tensor->mutable_shape();
    for (const int64_t dim : dims) {
      auto* added = tensor->mutable_shape()->add_dim();
      if (dim >= 0) added->set_dim_value(dim);
    }
  }

  onnx::ModelProto& proto() noexcept { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }
  tessera::Session Session(const SessionOptions& options = {},
                           const Environment& environment = Environment::Default()) const {
    const std::string serialized = bytes();
    return tessera::Session(std::as_bytes(std::span(serialized)), options, environment);
  }

 private:
  template <class T>
  ModelBuilder& AddConstant(const std::string& name, onnx::TensorProto::DataType type, const std::vector<int64_t>& dims,
                            std::span<const T> values) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(values.data(), values.size_bytes());
    return *this;
  }

  onnx::ModelProto model_;
};

inline Tensor Floats(const std::vector<int64_t>& dims, std::vector<float> values) {
  return Tensor::Of<float>(Shape(dims), values);
}

inline std::vector<float> ToVector(const Value& value) {
  const auto values = value.tensor().values<float>();
  return {values.begin(), values.end()};
}

/// y = a + b on two floats; its node is "sum".
inline ModelBuilder AddModel() {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {2}).Input("b", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Add", {"a", "b"}, {"y"}, "sum");
  return model;
}

}  // namespace tessera::testing
