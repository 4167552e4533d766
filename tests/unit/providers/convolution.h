#pragma once

// Convolutions with constant weights beside the same ones whose weights are an input, which no kernel of its own takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "session/tuning.h"
#include "waves.h"

namespace tessera::testing {

struct ConvolutionCase {
  using Sizes = std::vector<int64_t>;
  Sizes input, weights, pads, dilations;
  Sizes strides = {};
  int64_t group = 1;
};

/// `open`: the model does not declare the input's sizes. `algorithm`: by what constant weights are multiplied, if not the
/// kernel's choice.
inline std::vector<float> Convolve(const ConvolutionCase& c, const std::string& activation, bool constant, int threads,
                                   bool open, std::string_view algorithm = "") {
  using Sizes = ConvolutionCase::Sizes;
  ModelBuilder model(17);
  const auto numbers = [](const Sizes& shape, float step) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return Waves(count, step);
  };
  const Sizes unknown(c.input.size(), -1);
  model.Input("x", ElementType::kFloat, open ? unknown : c.input).Output("y", ElementType::kFloat, unknown);
  if (!constant) model.Input("w", ElementType::kFloat, c.weights);
  if (constant) model.Floats("w", c.weights, numbers(c.weights, 0.37f));
  model.Floats("b", {c.weights[0]}, Waves(c.weights[0], 1.1f));
  auto& node = model.Node("Conv", {"x", "w", "b"}, {activation.empty() ? "y" : "sums"});
  Ints(node, "pads", c.pads);
  Ints(node, "dilations", c.dilations);
  if (!c.strides.empty()) Ints(node, "strides", c.strides);
  if (c.group != 1) Int(node, "group", c.group);
  if (!activation.empty()) model.Node(activation, {"sums"}, {"y"});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = threads;
  std::vector<Value> inputs = {Value(Floats(c.input, numbers(c.input, 0.71f)))}, results(1);
  if (!constant) inputs.emplace_back(Floats(c.weights, numbers(c.weights, 0.37f)));
  if (algorithm.empty() || !constant) {
    model.Session(options).Run(inputs, results);
    return ToVector(results[0]);
  }
  options.optimization_level = OptimizationLevel::kExtended;  // no other layout
  Trial trial({}, algorithm);
  Session::State state(options, Environment::Default().state());
  const std::string bytes = model.bytes();
  state.Load(
      {}, [&](const LoadOptions& load) { return LoadModel(std::as_bytes(std::span(bytes)), nullptr, "", load); }, &trial);
  const Value* const given = &inputs[0];
  state.Run({std::span(&given, 1), state.model->all_outputs, results, {}}, RunOptions());
  return ToVector(results[0]);
}

/// Constant weights give what those give that are an input, with each activation and number of threads.
inline void ExpectSameConvolution(const ConvolutionCase& c, bool open, std::string_view algorithm = "") {
  for (const std::string activation : {"", "Relu", "LeakyRelu", "HardSwish"}) {
    for (const int threads : {1, 3}) {
      const auto given = Convolve(c, activation, true, threads, open, algorithm),
                 expected = Convolve(c, activation, false, threads, open);
      SCOPED_TRACE(::testing::PrintToString(c.input) + " " + ::testing::PrintToString(c.pads) + activation);
      ASSERT_EQ(given.size(), expected.size());
      for (size_t i = 0; i < given.size(); ++i)
        ASSERT_NEAR(given[i], expected[i], 1e-4f * std::max(1.0f, std::abs(expected[i]))) << i;
    }
  }
}

}  // namespace tessera::testing
