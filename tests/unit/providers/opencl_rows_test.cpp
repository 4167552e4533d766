// Softmax, normalization and attention on the OpenCL provider, whose kernels for processors have several rows: at sizes
// around those of vectors and blocks; against the CPU provider. Skipped where there is no device.

#include <gmock/gmock.h>

#include <limits>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::Int;
using testing::ModelBuilder;
using testing::OnDevice;
using testing::Random;

std::vector<float> RandomOf(const std::vector<int64_t>& dims, unsigned seed) {
  return Random(static_cast<size_t>(Shape(std::span<const int64_t>(dims)).num_elements()), seed);
}

class OpenclRowsTest : public OnDevice<::testing::TestWithParam<const char*>> {
 protected:
  static void ExpectAsOnCpu(const ModelBuilder& model, const std::vector<Value>& inputs) {
    testing::ExpectAsOnCpu(model, inputs, {{"kernels", GetParam()}});
  }
};

TEST_P(OpenclRowsTest, SoftmaxAlongAnyAxis) {
  const std::vector<std::vector<int64_t>> shapes = {{3, 1},     {50, 49},      {2, 5000}, {3, 7, 16},
                                                    {2, 9, 37}, {2, 3, 4, 17}, {1, 5, 40}};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& shape : shapes) {
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
      for (const char* op : {"Softmax", "LogSoftmax"}) {
        ModelBuilder model(18);
        model.Input("x", ElementType::kFloat, shape).Output("y", ElementType::kFloat, shape);
        Int(model.Node(op, {"x"}, {"y"}), "axis", axis);
        std::vector<float> x = RandomOf(shape, 3);
        for (float& value : x) value *= 50;
        x[x.size() / 2] = -kInfinity;
        if (shape.front() == 50) std::fill_n(x.begin(), 49, -kInfinity);  // a row of which nothing is left
        if (shape.front() == 50) x[120] = std::numeric_limits<float>::quiet_NaN();
        SCOPED_TRACE(Shape(std::span<const int64_t>(shape)).ToString() + op + std::to_string(axis));
        ExpectAsOnCpu(model, {Floats(shape, x)});
      }
    }
  }
}

TEST_P(OpenclRowsTest, Normalization) {
  struct Case {
    const char* op;
    std::vector<int64_t> x;
    int64_t parameters, axis, groups;
  };
  const Case cases[] = {
      {"LayerNormalization", {70, 32}, 32, -1, 0},       {"LayerNormalization", {3, 5, 7}, 35, 1, 0},
      {"LayerNormalization", {2, 2600}, 2600, -1, 0},    {"LayerNormalization", {4, 1}, 1, -1, 0},
      {"InstanceNormalization", {2, 5, 9, 11}, 5, 0, 0}, {"InstanceNormalization", {1, 3, 70, 70}, 3, 0, 0},
      {"GroupNormalization", {2, 12, 5, 7}, 12, 0, 3},   {"GroupNormalization", {1, 8, 40}, 8, 0, 8},
  };
  for (const Case& one : cases) {
    for (const bool biased : {true, false}) {
      if (!biased && one.axis == 0) continue;
      ModelBuilder model(21);
      model.Input("x", ElementType::kFloat, one.x).Output("y", ElementType::kFloat, one.x);
      const std::vector<int64_t> parameters = {one.parameters};
      const std::vector<int64_t> trailing(
          one.x.begin() + (one.axis == -1 ? static_cast<int64_t>(one.x.size()) - 1 : one.axis), one.x.end());
      const auto& dims = one.axis != 0 ? trailing : parameters;
      model.Constant("s", dims, RandomOf(parameters, 4)).Constant("b", dims, RandomOf(parameters, 5));
      auto& node = model.Node(one.op, {"x", "s", biased ? "b" : ""}, {"y"});
      if (one.axis != 0) Int(node, "axis", one.axis);
      if (one.groups != 0) Int(node, "num_groups", one.groups);
      SCOPED_TRACE(one.op + Shape(std::span<const int64_t>(one.x)).ToString());
      ExpectAsOnCpu(model, {Floats(one.x, RandomOf(one.x, 3))});
    }
  }
}

TEST_P(OpenclRowsTest, AttentionOfManyRows) {
  struct Case {
    int64_t q_heads, kv_heads, queries, keys, width, value_width, causal;
    float softcap;
  };
  const Case cases[] = {
      {4, 4, 33, 50, 36, 36, 0, 0},
      {4, 2, 64, 16, 64, 64, 1, 0},
      {2, 1, 7, 35, 8, 20, 1, 2},
      {1, 1, 70, 3, 1, 1, 0, 0},
      {1, 1, 9, 20, 256, 256, 0, 0},
      {1, 1, 9, 20, 257, 32, 0, 0},
      {2, 2, 5, 20, 16, 16, 0, 0},  // rows too long, too few
      // So many keys that they are divided among work items.
      {2, 1, 3, 2600, 24, 40, 0, 0},
      {1, 1, 4, 2000, 8, 300, 1, 2},
      {1, 1, 9, 5000, 16, 16, 1, 0},
      {2, 2, 1, 1100, 16, 16, 0, 0},
  };
  for (const Case& one : cases) {
    for (const ElementType type : {ElementType::kFloat, ElementType::kBool, ElementType::kUndefined}) {
      ModelBuilder model(23);
      const std::vector<int64_t> q = {2, one.q_heads, one.queries, one.width}, k = {2, one.kv_heads, one.keys, one.width};
      const std::vector<int64_t> v = {2, one.kv_heads, one.keys, one.value_width},
                                 y = {2, one.q_heads, one.queries, one.value_width};
      model.Input("q", ElementType::kFloat, q).Input("k", ElementType::kFloat, k).Input("v", ElementType::kFloat, v);
      model.Output("y", ElementType::kFloat, y);
      std::vector<Value> inputs = {Floats(q, RandomOf(q, 1)), Floats(k, RandomOf(k, 2)), Floats(v, RandomOf(v, 3))};
      const std::vector<int64_t> mask = {one.queries, one.keys};
      if (type != ElementType::kUndefined) model.Input("m", type, mask);
      if (type == ElementType::kFloat) inputs.push_back(Floats(mask, RandomOf(mask, 4)));
      if (type == ElementType::kBool) {
        Tensor bits(ElementType::kBool, Shape(std::span<const int64_t>(mask)));
        for (int64_t i = 0; i < bits.num_elements(); ++i)
          bits.mutable_data<bool>()[i] = i / one.keys != 2 && i % 3 != 0;  // row 2 sees nothing
        inputs.emplace_back(std::move(bits));
      }
      auto& node = model.Node("Attention", {"q", "k", "v", type == ElementType::kUndefined ? "" : "m"}, {"y"});
      Int(node, "is_causal", one.causal);
      testing::Float(node, "softcap", one.softcap);
      SCOPED_TRACE(std::to_string(one.queries) + " queries of " + std::to_string(one.width));
      ExpectAsOnCpu(model, inputs);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenclRowsTest, ::testing::Values("panels", "tiles"));

}  // namespace
}  // namespace tessera
