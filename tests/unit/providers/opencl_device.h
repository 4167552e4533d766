#pragma once

// What the tests of the OpenCL provider share.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "providers_here.h"
#include "random_numbers.h"
#include "tessera/session.h"

namespace tessera::testing {

inline constexpr char kOpencl[] = "OpenCLExecutionProvider";

/// For a session on one provider, which must start.
inline SessionOptions On(const char* provider, ProviderOptions options = {}) {
  SessionOptions session;
  session.providers = {{provider, std::move(options)}};
  session.error_on_failure = true;
  return session;
}

/// The same, with each node as the model has it.
inline SessionOptions PlainOn(const char* provider, ProviderOptions options = {}) {
  SessionOptions session = On(provider, std::move(options));
  session.optimization_level = OptimizationLevel::kNone;
  return session;
}

/// Skips the test that calls it where there is no OpenCL device, or no provider for one.
inline void NeedDevice() {
  if (!IsCompiledIn("opencl")) GTEST_SKIP() << "not compiled in";
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Relu", {"x"}, {"y"});
  try {
    model.Session(On(kOpencl));
  } catch (const Error& error) {
    if (std::string(error.what()).find("there is no OpenCL device") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
}

/// Fixtures whose tests need one.
template <class Fixture = ::testing::Test>
class OnDevice : public Fixture {
 protected:
  void SetUp() override { NeedDevice(); }
};

inline std::vector<Value> ResultsOf(const Session& session, const std::vector<Value>& inputs) {
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return results;
}

/// Nodes that another provider has.
inline std::vector<std::string> Elsewhere(const Session& session) {
  std::vector<std::string> nodes;
  for (const auto& node : session.placement().nodes) {
    if (node.provider != kOpencl) nodes.push_back(node.op_type);
  }
  return nodes;
}

/// Floats may differ by `tolerance` of one and of themselves; not numbers, infinities and integers are the same.
inline void ExpectClose(const Tensor& actual, const Tensor& expected, float tolerance = 1e-4f) {
  ASSERT_EQ(actual.shape(), expected.shape());
  ASSERT_EQ(actual.type(), expected.type());
  if (!actual.is(ElementType::kFloat)) {
    EXPECT_TRUE(expected.byte_size() == 0 || std::memcmp(actual.raw(), expected.raw(), expected.byte_size()) == 0);
    return;
  }
  const auto a = actual.values<float>(), e = expected.values<float>();
  int wrong = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    const bool close = std::isfinite(e[i]) ? std::abs(a[i] - e[i]) <= tolerance * (1 + std::abs(e[i]))
                       : std::isnan(e[i])  ? std::isnan(a[i])
                                           : a[i] == e[i];
    if (!close && wrong++ < 3) ADD_FAILURE() << "element " << i << " is " << a[i] << ", not " << e[i];
  }
  EXPECT_EQ(wrong, 0);
}

inline void ExpectClose(const std::vector<Value>& actual, const std::vector<Value>& expected, float tolerance = 1e-4f) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    ExpectClose(actual[i].tensor(), expected[i].tensor(), tolerance);
  }
}

/// Every output as on the CPU provider, with every node on the device; both run each node as the model has it.
inline void ExpectAsOnCpu(const ModelBuilder& model, const std::vector<Value>& inputs, ProviderOptions device = {},
                          float tolerance = 1e-4f) {
  const Session session = model.Session(PlainOn(kOpencl, std::move(device))), cpu = model.Session(PlainOn("cpu"));
  EXPECT_TRUE(Elsewhere(session).empty()) << Elsewhere(session).front();
  ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs), tolerance);
}

inline void ExpectAsOnCpu(const ModelBuilder& model, const std::vector<Value>& inputs, float tolerance) {
  ExpectAsOnCpu(model, inputs, {}, tolerance);
}

inline Shape ShapeOf(const std::vector<int64_t>& dims) { return Shape(std::span<const int64_t>(dims)); }
inline Value RandomFloats(const std::vector<int64_t>& dims, unsigned seed) {
  return Floats(dims, Random(static_cast<size_t>(ShapeOf(dims).num_elements()), seed));
}

/// By the kernels for processors, "panels", and for GPUs, "tiles".
class OnKernels : public OnDevice<::testing::TestWithParam<const char*>> {
 protected:
  static void ExpectAsOnCpu(const ModelBuilder& model, const std::vector<Value>& inputs, float tolerance = 1e-4f) {
    testing::ExpectAsOnCpu(model, inputs, {{"kernels", GetParam()}}, tolerance);
  }
};

inline Value Integers(const Shape& shape, const std::vector<int64_t>& values) {
  return Value(Tensor::Of<int64_t>(shape, values));
}

/// A convolution of images `x` with filters `w`.
struct ConvolutionCase {
  std::vector<int64_t> x, w, pads, strides, dilations;
  int64_t group;

  void SetAttributes(onnx::NodeProto& node) const {
    Ints(node, "pads", pads);
    Ints(node, "strides", strides);
    Ints(node, "dilations", dilations);
    Int(node, "group", group);
  }
};
inline const ConvolutionCase kConvolutionCases[] = {
    {{2, 3, 17, 15}, {24, 3, 3, 3}, {1, 1, 1, 1}, {2, 1}, {1, 1}, 1},
    {{1, 16, 14, 14}, {70, 16, 1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1},
    {{3, 17, 9, 9}, {20, 17, 1, 1}, {0, 0, 0, 0}, {2, 2}, {1, 1}, 1},
    {{1, 8, 20, 20}, {16, 4, 5, 3}, {2, 0, 1, 3}, {1, 2}, {2, 1}, 2},
    {{1, 40, 20, 20}, {10, 20, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 2},
    {{2, 12, 9, 40}, {12, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 12},
    {{2, 12, 9, 9}, {12, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 12},
    {{2, 12, 9, 9}, {24, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 12},
    {{1, 9, 31}, {33, 9, 5}, {2, 2}, {1}, {1}, 1},
    {{1, 4, 6, 7, 8}, {10, 4, 3, 3, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1},
    {{1, 2, 5, 5}, {1, 2, 5, 5}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1},
    {{2, 5, 8, 8}, {9, 5, 1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1},
    {{2, 6, 7, 7}, {8, 3, 1, 1}, {1, 0, 0, 1}, {1, 1}, {1, 1}, 2},
    {{2, 2, 6, 4}, {3, 2, 2, 3}, {0, 0, 1, 0}, {1, 2}, {1, 1}, 1},  // the last of six windows begins 15 pixels after the
                                                                    // first
};

}  // namespace tessera::testing
