#pragma once

// Networks of convolutions on images and what lies between them, which the CPU provider may compute in blocks of channels.

#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "attributes.h"
#include "optimizer/rewriting.h"
#include "waves.h"

namespace tessera::testing {

struct Nchw8cConvSpec {
  int64_t outputs, channels, kernel, stride = 1, pad = 0, group = 1, dilation = 1;
  /// Of a volume's first axis.
  struct {
    int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;
  } z = {};
  /// Of the last axis, where it is not as the one before.
  struct {
    int64_t kernel = 0, pad = 0;
  } x = {};
};

/// A model of images, node by node; `x` is its input.
class FloatNetwork {
 public:
  explicit FloatNetwork(std::vector<int64_t> input, int opset = 17) : model_(opset), rank_(input.size()) {
    model_.Input("x", ElementType::kFloat, std::move(input));
  }

  std::string Conv(const std::string& from, const Nchw8cConvSpec& spec) {
    const std::string name = Name();
    const auto& z = spec.z;
    const int64_t columns = spec.x.kernel > 0 ? spec.x.kernel : spec.kernel,
                  pad = spec.x.kernel > 0 ? spec.x.pad : spec.pad;
    std::vector<int64_t> shape = {spec.outputs, spec.channels / spec.group};
    AppendLast(shape, {z.kernel, spec.kernel, columns});
    const int64_t depth = std::accumulate(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies<>());
    model_.Floats(name + "w", shape, Waves(spec.outputs * depth, 0.37f, 1.5f / std::sqrt(static_cast<float>(depth))));
    model_.Floats(name + "b", {spec.outputs}, Waves(spec.outputs, 1.1f, 0.2f));
    auto& node = model_.Node("Conv", {from, name + "w", name + "b"}, {name});
    Int(node, "group", spec.group);
    SetWindow(node, {z.stride, spec.stride, spec.stride}, {z.pad, spec.pad, pad});
    std::vector<int64_t> dilations;
    AppendLast(dilations, {z.dilation, spec.dilation, spec.dilation});
    Ints(node, "dilations", dilations);
    return name;
  }

  std::string Op(const std::string& type, std::initializer_list<std::string> from) {
    const std::string name = Name();
    auto& node = model_.Node(type, from, {name});
    if (type == "Concat") Int(node, "axis", 1);
    return name;
  }

  /// A node whose attributes `set` sets; the names of its outputs.
  std::vector<std::string> Node(const std::string& type, const std::vector<std::string>& from, size_t outputs = 1,
                                const std::function<void(onnx::NodeProto&)>& set = {}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs; ++i) names.push_back(Name());
    auto& node = ModelBuilder::AddNode(*model_.proto().mutable_graph(), type, from, names);
    if (set) set(node);
    return names;
  }

  std::string Pool(const std::string& type, const std::string& from, int64_t kernel, int64_t stride, int64_t pad,
                   bool ceil = false, bool count_pads = false) {
    const std::string name = Name();
    auto& node = model_.Node(type, {from}, {name});
    Ints(node, "kernel_shape", std::vector<int64_t>(rank_ - 2, kernel));
    SetWindow(node, {stride, stride, stride}, {pad, pad, pad});
    if (ceil) Int(node, "ceil_mode", 1);
    if (count_pads) Int(node, "count_include_pad", 1);
    return name;
  }

  /// As PyTorch exports it.
  std::string GroupNorm(const std::string& from, int64_t groups, int64_t channels) {
    const std::string name = Name();
    const auto trailing = std::vector<int64_t>(rank_ - 2, 1);
    std::vector<int64_t> each = {channels};
    each.insert(each.end(), trailing.begin(), trailing.end());
    model_.Ints(name + "to", {0, groups, -1});
    model_.Node("Shape", {from}, {name + "shape"});
    model_.Node("Reshape", {from, name + "to"}, {name + "r"});
    model_.Node("InstanceNormalization", {name + "r", Constant({groups}), Constant({groups})}, {name + "n"});
    model_.Node("Reshape", {name + "n", name + "shape"}, {name + "b"});
    model_.Node("Mul", {name + "b", Constant(each)}, {name + "s"});
    model_.Node("Add", {name + "s", Constant(each)}, {name});
    return name;
  }

  /// With a slope for each channel.
  std::string PRelu(const std::string& from, int64_t channels) {
    std::vector<int64_t> shape(rank_ - 1, 1);
    shape[0] = channels;
    return Op("PRelu", {from, Constant(shape)});
  }

  std::string Constant(std::vector<int64_t> shape) {
    const std::string name = Name();
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    std::vector<float> values = Waves(count, 0.9f, 0.4f);
    for (float& value : values) value += 1;  // a variance, or a factor
    model_.Floats(name, shape, values);
    return name;
  }

  std::string Integers(const std::vector<int64_t>& values) {
    const std::string name = Name();
    model_.Ints(name, values);
    return name;
  }
  std::string Floats(const std::vector<float>& values) {
    const std::string name = Name();
    model_.Floats(name, {static_cast<int64_t>(values.size())}, values);
    return name;
  }

  ModelBuilder& Finish(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) model_.Output(output, ElementType::kFloat, std::vector<int64_t>(rank_, -1));
    return model_;
  }

 private:
  /// Of the axes z, y, x those that the images have.
  void AppendLast(std::vector<int64_t>& to, const std::vector<int64_t>& of_zyx) const {
    to.insert(to.end(), of_zyx.end() - static_cast<std::ptrdiff_t>(rank_ - 2), of_zyx.end());
  }

  void SetWindow(onnx::NodeProto& node, const std::vector<int64_t>& strides, const std::vector<int64_t>& pads) const {
    std::vector<int64_t> own_strides, both_pads;
    AppendLast(own_strides, strides);
    for (int side = 0; side < 2; ++side) AppendLast(both_pads, pads);
    Ints(node, "strides", own_strides);
    Ints(node, "pads", both_pads);
  }

  std::string Name() { return "v" + std::to_string(count_++); }

  ModelBuilder model_;
  size_t rank_;
  int count_ = 0;
};

/// Runs the model of one input with and without the optimizer; returns the operators that are left.
inline std::multiset<std::string> CompareLevels(const ModelBuilder& model, const std::vector<std::string>& outputs,
                                                const Shape& shape) {
  Tensor x(ElementType::kFloat, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) x.mutable_data<float>()[i] = std::sin(static_cast<float>(i) * 0.71f);
  const LevelResults expected = RunAt(model, OptimizationLevel::kNone, x, outputs.size());
  const LevelResults given = RunAt(model, OptimizationLevel::kAll, x, outputs.size());
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Tensor &e = expected.values[o].tensor(), &g = given.values[o].tensor();
    EXPECT_EQ(g.shape(), e.shape());
    if (g.shape() != e.shape()) continue;
    int64_t wrong = 0;
    for (int64_t i = 0; i < e.num_elements(); ++i) {
      const float a = e.data<float>()[i], b = g.data<float>()[i];
      if (std::abs(a - b) <= 1e-4f * std::max(1.0f, std::abs(a))) continue;
      if (wrong++ == 0) ADD_FAILURE() << outputs[o] << " at " << i << ": " << a << ", " << b;
    }
    EXPECT_EQ(wrong, 0);
  }
  return given.operators;
}

inline std::multiset<std::string> Compare(FloatNetwork& network, const std::vector<std::string>& outputs,
                                          const Shape& shape) {
  return CompareLevels(network.Finish(outputs), outputs, shape);
}

/// The pass only fires where this machine's vectors hold a block.
inline bool Blocks(const std::multiset<std::string>& operators) { return operators.contains("Nchw8cConv"); }

}  // namespace tessera::testing
