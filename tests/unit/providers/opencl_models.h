#pragma once

// Small models of the kinds that the OpenCL provider runs whole.

#include <cmath>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"

namespace tessera::testing {

/// Convolutions with bias, groups, strides and a residual sum; pooling, normalization, a classifier.
inline ModelBuilder Cnn() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 17, 15}).Output("y", ElementType::kFloat, {2, 10});
  const auto weights = [&](const char* name, std::initializer_list<int64_t> dims, unsigned seed, float low = -0.5f,
                           float high = 0.5f) {
    size_t count = 1;
    for (int64_t dim : dims) count *= static_cast<size_t>(dim);
    model.Constant(name, dims, Random(count, seed, low, high));
  };
  weights("w1", {8, 3, 3, 3}, 1);
  weights("b1", {8}, 2);
  weights("scale", {8}, 3, 0.5f, 1.5f);
  weights("bias", {8}, 4);
  weights("mean", {8}, 5);
  weights("variance", {8}, 6, 0.5f, 1.5f);
  weights("w2", {8, 4, 3, 3}, 7);
  weights("w3", {10, 8}, 8);
  weights("b3", {10}, 9);
  auto& first = model.Node("Conv", {"x", "w1", "b1"}, {"c1"});
  Ints(first, "pads", {1, 1, 1, 1});
  Ints(first, "strides", {2, 1});
  model.Node("BatchNormalization", {"c1", "scale", "bias", "mean", "variance"}, {"n1"});
  model.Node("Relu", {"n1"}, {"r1"});
  auto& grouped = model.Node("Conv", {"r1", "w2"}, {"c2"});
  Ints(grouped, "pads", {1, 1, 1, 1});
  Int(grouped, "group", 2);
  model.Node("Add", {"c2", "r1"}, {"s"});
  auto& pool = model.Node("MaxPool", {"s"}, {"p"});
  Ints(pool, "kernel_shape", {3, 3});
  Ints(pool, "strides", {2, 2});
  model.Node("GlobalAveragePool", {"p"}, {"g"});
  model.Node("Flatten", {"g"}, {"f"});
  Int(model.Node("Gemm", {"f", "w3", "b3"}, {"l"}), "transB", 1);
  model.Node("Softmax", {"l"}, {"y"});
  return model;
}

/// One layer: attention of two heads over a batch whose size is not known, with shape arithmetic, then the feed-forward
/// part.
inline ModelBuilder Transformer() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 5, 16}).Output("y", ElementType::kFloat, {-1, 5, 16});
  const std::vector<int64_t> zero = {0}, tail = {5, 2, 8}, merged = {5, 16};
  model.Constant("zero", {1}, zero).Constant("tail", {3}, tail).Constant("merged", {2}, merged);
  unsigned seed = 20;
  for (const char* name : {"wq", "wk", "wv", "wo"}) model.Constant(name, {16, 16}, Random(256, seed++, -0.3f, 0.3f));
  for (const char* name : {"g", "b"}) model.Constant(name, {16}, Random(16, seed++));
  model.Constant("w1", {16, 64}, Random(1024, 30, -0.3f, 0.3f)).Constant("w2", {64, 16}, Random(1024, 31, -0.3f, 0.3f));
  const std::vector<float> root = {std::sqrt(8.0f)};
  model.Constant("root", {}, root);
  model.Node("LayerNormalization", {"x", "g", "b"}, {"n1"});
  model.Node("Shape", {"x"}, {"shape"});
  model.Node("Gather", {"shape", "zero"}, {"batch"});
  Int(model.Node("Concat", {"batch", "tail"}, {"split"}), "axis", 0);
  Int(model.Node("Concat", {"batch", "merged"}, {"join"}), "axis", 0);
  for (const std::string part : {"q", "k", "v"}) {
    model.Node("MatMul", {"n1", "w" + part}, {part + "1"});
    model.Node("Reshape", {part + "1", "split"}, {part + "2"});
    Ints(model.Node("Transpose", {part + "2"}, {part}), "perm",
         part == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }
  model.Node("MatMul", {"q", "k"}, {"scores"});
  model.Node("Div", {"scores", "root"}, {"scaled"});
  model.Node("Softmax", {"scaled"}, {"p"});
  model.Node("MatMul", {"p", "v"}, {"heads"});
  Ints(model.Node("Transpose", {"heads"}, {"turned"}), "perm", {0, 2, 1, 3});
  model.Node("Reshape", {"turned", "join"}, {"joined"});
  model.Node("MatMul", {"joined", "wo"}, {"attention"});
  model.Node("Add", {"attention", "x"}, {"a"});
  model.Node("LayerNormalization", {"a", "g", "b"}, {"n2"});
  model.Node("MatMul", {"n2", "w1"}, {"h"});
  model.Node("Gelu", {"h"}, {"act"});
  model.Node("MatMul", {"act", "w2"}, {"o"});
  model.Node("Add", {"o", "a"}, {"y"});
  return model;
}

}  // namespace tessera::testing
