#pragma once

// Sessions on oneDNN beside the CPU provider.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "onednn/program/primitives.h"
#include "random_numbers.h"
#include "tessera/providers/names.h"
#include "tessera/session.h"

namespace tessera::testing {

inline SessionOptions OnProvider(const char* provider) {
  SessionOptions options;
  options.providers = {{provider, {}}};
  // Lowerings are to be tested on every processor.
  if (std::string_view(provider) == "dnnl") options.providers[0].options = {{"claims", "all"}};
  return options;
}

inline Tensor RandomTensor(const Shape& shape, unsigned seed) {
  return Tensor::Of<float>(shape, Random(static_cast<size_t>(shape.num_elements()), seed));
}

/// Adds a float initializer of random values.
inline void Weights(ModelBuilder& model, const std::string& name, std::initializer_list<int64_t> dims, float low = -0.5f,
                    float high = 0.5f) {
  const auto values =
      Random(static_cast<size_t>(Shape(dims).num_elements()), static_cast<unsigned>(name.size() * 31 + name[0]), low, high);
  model.Constant(name, dims, std::span<const float>(values));
}

inline std::vector<float> RunOne(const Session& session, const Tensor& x) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{x}, results);
  return ToVector(results[0]);
}

inline void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance = 1e-4f) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

/// What rounds operands and what lies between them: differences beside the largest number.
inline void ExpectRoughly(const std::vector<float>& actual, const std::vector<float>& expected) {
  constexpr float kShare = 0.03f;  // some roundings to 8 bits
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], kShare * largest) << "element " << i << " at bf16";
}

inline bool HasBfloat16() { return onednn::HasIsa(dnnl::cpu_isa::avx512_core_bf16); }

/// Runs on both providers and compares, where the processor can at bf16, too; returns the session on oneDNN.
inline Session ExpectSameAsCpu(const ModelBuilder& model, const std::vector<Value>& inputs) {
  Session session = model.Session(OnProvider("dnnl"));
  const Session reference = model.Session(OnProvider("cpu"));
  std::vector<Value> results(session.outputs().size()), expected(results.size());
  session.Run(inputs, results);
  reference.Run(inputs, expected);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].tensor().shape(), expected[i].tensor().shape());
    ExpectNear(ToVector(results[i]), ToVector(expected[i]));
  }
  if (HasBfloat16()) {
    SessionOptions options = OnProvider("dnnl");
    options.providers[0].options["precision"] = "bf16";
    std::vector<Value> rounded(results.size());
    model.Session(options).Run(inputs, rounded);
    for (size_t i = 0; i < results.size(); ++i) ExpectRoughly(ToVector(rounded[i]), ToVector(expected[i]));
  }
  return session;
}

/// Runs each node as the model has it on both providers and compares; `takes`: whether oneDNN has them all, or none.
inline void ExpectOnOnednn(const ModelBuilder& model, const std::vector<Value>& inputs, bool takes = true,
                           float tolerance = 1e-4f) {
  SessionOptions options = OnProvider("dnnl"), plain = OnProvider("cpu");
  options.optimization_level = plain.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options);
  for (const auto& node : session.placement().nodes) {
    EXPECT_EQ(node.provider, takes ? kOnednnProvider : kCpuProvider)
        << node.op_type << (node.refusals.empty() ? "" : ": " + node.refusals[0].second);
  }
  std::vector<Value> results(session.outputs().size()), expected(results.size());
  session.Run(inputs, results);
  model.Session(plain).Run(inputs, expected);
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].tensor().shape(), expected[i].tensor().shape());
    ExpectNear(ToVector(results[i]), ToVector(expected[i]), tolerance);
  }
}

}  // namespace tessera::testing
