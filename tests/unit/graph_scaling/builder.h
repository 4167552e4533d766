#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "attributes.h"
#include "graph_scaling/kinds.h"
#include "model_builder.h"

namespace tessera::scaling {

using testing::ModelBuilder;

inline std::string Name(const char* what, int i) { return what + std::to_string(i); }

/// A model of one input x and one output y, both float. Values in between are made by Add, which names them.
class Builder {
 public:
  explicit Builder(std::vector<int64_t> dims = {2, 3}, int opset = 21) : model_(opset), dims_(std::move(dims)) {
    model_.Input("x", ElementType::kFloat, dims_);
  }

  ModelBuilder& model() { return model_; }

  onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    return ModelBuilder::AddNode(*model_.proto().mutable_graph(), op, inputs, outputs);
  }
  /// A node with one output, whose name comes back; attributes go to last().
  std::string Add(const std::string& op, const std::vector<std::string>& inputs) {
    const std::string name = Name("v", ++count_);
    last_ = &Node(op, inputs, {name});
    return name;
  }
  onnx::NodeProto& last() { return *last_; }

  std::string Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    const std::string name = Name("c", ++count_);
    model_.Floats(name, dims, values);
    return name;
  }
  std::string Scalar(float value) { return Floats({}, {value}); }
  std::string Ints(const std::vector<int64_t>& values) {
    const std::string name = Name("i", ++count_);
    model_.Ints(name, values);
    return name;
  }

  /// Ends the model: y is the value, times one number that no pass takes away.
  Case Finish(const std::string& last) {
    Node("Softplus", {last}, {"y"});
    model_.Output("y", ElementType::kFloat, std::vector<int64_t>());
    model_.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    return Done();
  }
  Case Done() {
    std::vector<int64_t> dims = dims_;
    std::replace(dims.begin(), dims.end(), int64_t{-1}, int64_t{2});  // what is open
    const auto count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    Case made{model_.bytes(), {"x"}, {}};
    made.inputs.push_back(testing::Floats(dims, std::vector<float>(static_cast<size_t>(count), 0.5f)));
    return made;
  }

 private:
  ModelBuilder model_;
  std::vector<int64_t> dims_;
  onnx::NodeProto* last_ = nullptr;
  int count_ = 0;
};

}  // namespace tessera::scaling
