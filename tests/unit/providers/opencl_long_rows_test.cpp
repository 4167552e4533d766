// Rows, windows and lists so long that several work items share one: normalizations, softmax, LRN of wide windows, pools,
// combined updates, columns of quantized weights. Against the CPU provider. Skipped where there is no device.

#include <limits>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Float;
using testing::Floats;
using testing::Int;
using testing::Ints;
using testing::ModelBuilder;
using testing::OnKernels;
using testing::RandomFloats;
using testing::ShapeOf;

using Dims = std::vector<int64_t>;

/// A model of one node; its inputs are floats x0, x1, ... of these sizes.
class OneNode {
 public:
  OneNode(const std::string& op, const std::vector<Dims>& inputs, size_t outputs = 1, const std::string& domain = "",
          int64_t version = 18)
      : model_(version) {
    if (!domain.empty()) {
      auto* import = model_.proto().add_opset_import();
      import->set_domain(domain);
      import->set_version(1);
    }
    std::vector<std::string> names, results;
    for (const Dims& dims : inputs) {
      names.push_back(dims.empty() ? "" : "x" + std::to_string(names.size()));
      if (dims.empty()) continue;
      model_.Input(names.back(), ElementType::kFloat, dims);
      inputs_.push_back(RandomFloats(dims, static_cast<unsigned>(names.size())));
    }
    for (size_t i = 0; i < outputs; ++i) {
      results.push_back("y" + std::to_string(i));
      model_.AnyOutput(results.back(), ElementType::kFloat);
    }
    node_ = &ModelBuilder::AddNode(*model_.proto().mutable_graph(), op, names, results);
    node_->set_domain(domain);
  }

  onnx::NodeProto& node() { return *node_; }
  ModelBuilder& model() { return model_; }
  std::vector<Value>& inputs() { return inputs_; }

 private:
  ModelBuilder model_;
  onnx::NodeProto* node_;
  std::vector<Value> inputs_;
};

class OpenclLongRowsTest : public OnKernels {
 protected:
  using OnKernels::ExpectAsOnCpu;
  static void ExpectAsOnCpu(OneNode& one, float tolerance = 1e-4f) { ExpectAsOnCpu(one.model(), one.inputs(), tolerance); }
  /// Rows that are divided: on processors they are longer.
  static bool tiles() { return std::string_view(GetParam()) == "tiles"; }
  static int64_t row() { return tiles() ? 70'001 : (int64_t{1} << 22) + 33; }
};

TEST_P(OpenclLongRowsTest, Softmax) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const auto& [dims, axis] : {std::pair(Dims{2, row()}, 1), std::pair(Dims{2, row(), 2}, 1)}) {
      SCOPED_TRACE(op + ShapeOf(dims).ToString());
      OneNode one(op, {dims});
      Int(one.node(), "axis", axis);
      ExpectAsOnCpu(one);
    }
  }
}

TEST_P(OpenclLongRowsTest, SoftmaxOfNumbersThatAreNotFinite) {
  const auto n = static_cast<size_t>(row());
  std::vector<float> x(3 * n, -std::numeric_limits<float>::infinity());
  for (size_t i = n / 2; i < n; ++i) x[i] = 0.5f;  // beside slices of nothing but infinities
  x[n + 7] = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 2 * n; i < 3 * n; ++i) x[i] = 1000.0f + static_cast<float>(i % 5);
  OneNode one("Softmax", {{3, row()}});
  Int(one.node(), "axis", 1);
  one.inputs()[0] = Floats(Dims{3, row()}, x);
  ExpectAsOnCpu(one);
}

TEST_P(OpenclLongRowsTest, LayerNormalization) {
  OneNode layer("LayerNormalization", {{2, row()}, {row()}, {row()}}, 3);
  ExpectAsOnCpu(layer);
  OneNode plain("LayerNormalization", {{2, row()}, {row()}});
  ExpectAsOnCpu(plain);
  OneNode rms("RMSNormalization", {{2, row()}, {row()}}, 1, "", 23);
  ExpectAsOnCpu(rms);
}

TEST_P(OpenclLongRowsTest, InstancesAndGroups) {
  OneNode instance("InstanceNormalization", {{2, 3, row()}, {3}, {3}});
  ExpectAsOnCpu(instance);
  OneNode group("GroupNormalization", {{2, 4, row() / 2 + 1}, {4}, {4}}, 1, "", 21);
  Int(group.node(), "num_groups", 2);
  ExpectAsOnCpu(group);
}

TEST_P(OpenclLongRowsTest, SkipLayerNormalization) {
  OneNode skip("SkipLayerNormalization", {{2, 1, row()}, {1, 1, row()}, {row()}, {row()}, {row()}}, 1, "com.microsoft");
  ExpectAsOnCpu(skip);
  OneNode simple("SkipSimplifiedLayerNormalization", {{1, 2, row()}, {1, 2, row()}, {row()}}, 1, "com.microsoft");
  simple.node().add_output("");
  simple.node().add_output("");
  simple.node().add_output("sum");
  simple.model().AnyOutput("sum", ElementType::kFloat);
  ExpectAsOnCpu(simple);
}

TEST_P(OpenclLongRowsTest, LocalResponses) {
  for (const auto& [dims, size] : {std::pair(Dims{2, 300, 2}, 131), std::pair(Dims{1, 1000, 3}, 3000),
                                   std::pair(Dims{1, 129, 1}, 129), std::pair(Dims{1, 5000, 1}, 256)}) {
    SCOPED_TRACE(size);
    OneNode one("LRN", {dims});
    Int(one.node(), "size", size);
    Float(one.node(), "alpha", 2.0f);
    ExpectAsOnCpu(one);
  }
}

/// As whole numbers, so that some elements are equal, with a NaN in the second of two planes.
Value Repeating(const Dims& dims, bool nan) {
  std::vector<float> x(static_cast<size_t>(ShapeOf(dims).num_elements()));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 1009) - 504;
  if (nan) x[x.size() - 20] = x[x.size() - 10] = std::numeric_limits<float>::quiet_NaN();
  return Floats(dims, x);
}

TEST_P(OpenclLongRowsTest, LargeWindows) {
  const int64_t side = tiles() ? 140 : 520;
  for (const bool nan : {false, true}) {
    for (const int64_t order : {0, 1}) {
      OneNode one("MaxPool", {{1, 2, side, side + 3}});
      one.node().add_output("indices");
      one.model().AnyOutput("indices", ElementType::kInt64);
      Ints(one.node(), "kernel_shape", {side - 1, side});
      Ints(one.node(), "pads", {1, 0, 2, 1});
      Ints(one.node(), "strides", {1, 2});
      Int(one.node(), "storage_order", order);
      one.inputs()[0] = Repeating({1, 2, side, side + 3}, nan);
      ExpectAsOnCpu(one);
    }
  }
  for (const int64_t counts : {0, 1}) {
    OneNode one("AveragePool", {{2, 1, side, side}}, 1, "", 19);
    Ints(one.node(), "kernel_shape", {side - 2, side - 2});
    Ints(one.node(), "pads", {3, 1, 0, 2});
    Int(one.node(), "count_include_pad", counts);
    ExpectAsOnCpu(one);
  }
  OneNode sparse("AveragePool", {{1, 2, side * side * 2}}, 1, "", 19);
  Ints(sparse.node(), "kernel_shape", {side * side});
  Ints(sparse.node(), "dilations", {2});
  ExpectAsOnCpu(sparse);
}

TEST_P(OpenclLongRowsTest, Norms) {
  const int64_t side = tiles() ? 140 : 520;
  for (const int64_t p : {1, 2, 3, 5, 20}) {
    SCOPED_TRACE(p);
    for (const int64_t kernel : {int64_t{3}, side - 1}) {
      OneNode one("LpPool", {{1, 2, side, side}});
      Ints(one.node(), "kernel_shape", {kernel, kernel});
      Int(one.node(), "p", p);
      ExpectAsOnCpu(one);
    }
    for (const int64_t size : {int64_t{7}, side, tiles() ? int64_t{300} : int64_t{1030}}) {
      OneNode one("GlobalLpPool", {{2, 3, size, size}}, 1);
      Int(one.node(), "p", p);
      ExpectAsOnCpu(one);
    }
  }
}

TEST_P(OpenclLongRowsTest, GlobalPools) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
    for (const int64_t size : {7, 30, 300, 1030}) {
      OneNode one(op, {{2, 3, size, size}});
      ExpectAsOnCpu(one);
      one.inputs()[0] = Repeating({2, 3, size, size}, true);
      ExpectAsOnCpu(one);
    }
  }
}

TEST_P(OpenclLongRowsTest, UpdatesOfOnePlace) {
  constexpr int64_t kUpdates = 20'011;
  for (const char* reduction : {"add", "mul", "max", "min"}) {
    SCOPED_TRACE(reduction);
    OneNode one("ScatterElements", {{3, 2}});
    std::vector<int64_t> at(2 * kUpdates);
    std::vector<float> updates(2 * kUpdates);
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = i % 7 == 0 ? 2 : 1;  // and none of row 0
      updates[i] = 1 + static_cast<float>(i * 2654435761u % 17 - 8) * 1e-4f;
    }
    one.model().Input("indices", ElementType::kInt64, {kUpdates, 2}).Input("updates", ElementType::kFloat, {kUpdates, 2});
    one.node().add_input("indices");
    one.node().add_input("updates");
    one.inputs().push_back(testing::Integers({kUpdates, 2}, at));
    one.inputs().push_back(Floats(Dims{kUpdates, 2}, updates));
    testing::Text(one.node(), "reduction", reduction);
    ExpectAsOnCpu(one, 1e-3f);
  }
}

TEST_P(OpenclLongRowsTest, LongQuantizedColumns) {
  constexpr int64_t kDepth = (int64_t{1} << 18) + 32 * 5 + 7, kBlocks = (kDepth + 31) / 32;
  for (const int64_t rows : {1, 3}) {
    for (const int64_t columns : {1, 18}) {
      OneNode one("MatMulNBits", {{rows, kDepth}}, 1, "com.microsoft");
      std::vector<uint8_t> quantized(static_cast<size_t>(columns * kBlocks * 16));
      for (size_t i = 0; i < quantized.size(); ++i) quantized[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
      one.model()
          .Input("b", ElementType::kUInt8, {columns, kBlocks, 16})
          .Input("scales", ElementType::kFloat, {columns, kBlocks});
      one.model().Input("bias", ElementType::kFloat, {columns});
      for (const char* input : {"b", "scales", "", "", "bias"}) one.node().add_input(input);
      one.inputs().push_back(Value(Tensor::Of<uint8_t>(Shape{columns, kBlocks, 16}, quantized)));
      one.inputs().push_back(RandomFloats({columns, kBlocks}, 5));
      one.inputs().push_back(RandomFloats({columns}, 6));
      Int(Int(Int(Int(one.node(), "K", kDepth), "N", columns), "bits", 4), "block_size", 32);
      ExpectAsOnCpu(one, 2e-3f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenclLongRowsTest, ::testing::Values("panels", "tiles"));

}  // namespace
}  // namespace tessera
