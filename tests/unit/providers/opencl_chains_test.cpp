// Elementwise operators that the OpenCL provider computes in one pass, with operands that broadcast; against the CPU
// provider.

#include <gmock/gmock.h>

#include <algorithm>

#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera::testing {
namespace {

using Dims = std::vector<int64_t>;

size_t Count(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return static_cast<size_t>(count);
}

class OpenclChains : public OnDevice<> {
 protected:
  /// y = relu(x * a) + b over x of these sizes; `constant`: b is one. Returns the fused node's name.
  static std::string Run(const Dims& x, const Dims& a, const Dims& b, bool constant, const Dims& declared) {
    ModelBuilder model;
    const auto given = [&](const Dims& dims) {  // unknown where x is
      Dims result = dims;
      for (size_t i = 0; i < dims.size(); ++i) {
        const size_t at = x.size() - dims.size() + i;
        if (dims[i] == x[at] && dims[i] != 1) result[i] = declared[at];
      }
      return result;
    };
    model.Input("x", ElementType::kFloat, declared)
        .Input("a", ElementType::kFloat, given(a))
        .Output("y", ElementType::kFloat, declared);
    std::vector<Value> inputs = {Value(Tensor::Of<float>(Shape(x), Random(Count(x), 1))),
                                 Value(Tensor::Of<float>(Shape(a), Random(Count(a), 2)))};
    if (constant) {
      model.Constant("b", b, Random(Count(b), 3));
    } else {
      model.Input("b", ElementType::kFloat, given(b));
      inputs.emplace_back(Tensor::Of<float>(Shape(b), Random(Count(b), 3)));
    }
    model.Node("Mul", {"x", "a"}, {"p"});
    model.Node("Relu", {"p"}, {"r"});
    model.Node("Add", {"b", "r"}, {"y"});
    const Session session = model.Session(On(kOpencl)), cpu = model.Session(On("cpu"));
    ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs), 1e-5f);
    const auto& nodes = session.placement().nodes;
    return nodes.empty() ? "" : nodes[0].fused_into;
  }
};

TEST_F(OpenclChains, OperandsThatBroadcastAreReadInPlace) {
  const Dims x = {2, 3, 4, 5}, places[] = {{2, 3, 4, 5}, {5},       {4, 1},       {3, 1, 1}, {2, 1, 1, 1},
                                           {2, 3, 1, 1}, {3, 4, 1}, {1, 3, 4, 5}, {1},       {}};
  for (const Dims& a : places) {
    for (const Dims& b : places) {
      for (const bool constant : {false, true}) {
        SCOPED_TRACE(Shape(a).ToString() + Shape(b).ToString());
        EXPECT_EQ(Run(x, a, b, constant, x), "Mul+Relu+Add");
      }
    }
  }
}

TEST_F(OpenclChains, OperandsWithGapsAreNot) {
  for (const Dims& a : {Dims{3, 1, 5}, Dims{2, 1, 4, 1}}) EXPECT_EQ(Run({2, 3, 4, 5}, a, {5}, true, {2, 3, 4, 5}), "");
}

TEST_F(OpenclChains, DimensionsMayBeUnknown) {
  Run({2, 3, 4, 5}, {5}, {3, 1, 1}, true, {-1, 3, 4, 5});
  Run({2, 3, 4, 5}, {3, 1, 1}, {5}, true, {2, 3, -1, 5});
  Run({2, 3, 4, 5}, {2, 3, 1, 1}, {5}, false, {-1, -1, -1, -1});
}

}  // namespace
}  // namespace tessera::testing
