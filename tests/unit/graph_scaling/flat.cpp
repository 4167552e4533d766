// Kinds of one graph: chains, fans, diamonds.

#include "graph_scaling/builder.h"

namespace tessera::scaling {
namespace {

using testing::Float;
using testing::Int;
using testing::Ints;

template <class Step>
Case Chain(int n, Builder b, Step step) {
  std::string v = "x";
  for (int i = 0; i < n; ++i) v = step(b, v, i);
  return b.Finish(v);
}

/// n values of x that differ.
std::vector<std::string> Fan(Builder& b, int n) {
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) values.push_back(b.Add("Mul", {"x", b.Scalar(1.0f + static_cast<float>(i) / 1024)}));
  return values;
}

Case AddChain(int n) {
  return Chain(n, Builder(), [](Builder& b, const std::string& v, int) { return b.Add("Add", {v, "x"}); });
}
Case SoftmaxChain(int n) {
  return Chain(n, Builder(), [](Builder& b, const std::string& v, int) { return b.Add("Softmax", {v}); });
}
Case FanOut(int n) {
  Builder b;
  std::string v = "x";
  for (const std::string& one : Fan(b, n)) v = b.Add("Add", {v, one});
  return b.Finish(v);
}
Case WideSum(int n) {
  Builder b;
  const auto fan = Fan(b, n);
  return b.Finish(b.Add("Sum", fan));
}
Case WideConcat(int n) {
  Builder b;
  const auto fan = Fan(b, n);
  const std::string v = b.Add("Concat", fan);
  Int(b.last(), "axis", 0);
  return b.Finish(v);
}
Case IdentitiesIntoConcat(int n) {
  Builder b;
  std::vector<std::string> parts;
  for (const std::string& one : Fan(b, n)) parts.push_back(b.Add("Identity", {one}));
  for (int i = 0; i < n; ++i) parts.push_back(b.Add("Identity", {"x"}));
  const std::string v = b.Add("Concat", parts);
  Int(b.last(), "axis", 0);
  return b.Finish(v);
}
Case Branches(int n) {
  Builder b;
  std::vector<std::string> ends;
  for (const std::string& one : Fan(b, n)) ends.push_back(b.Add("Softmax", {b.Add("Neg", {one})}));
  return b.Finish(b.Add("Max", ends));
}
Case Outputs(int n) {
  Builder b;
  int i = 0;
  for (const std::string& one : Fan(b, n)) {
    b.Node("Neg", {one}, {Name("y", i)});
    b.model().Output(Name("y", i++), ElementType::kFloat, {2, 3});
  }
  return b.Done();
}
Case IdentityOutputs(int n) {
  Builder b;
  int i = 0;
  for (const std::string& one : Fan(b, n)) {
    b.Node("Identity", {one}, {Name("y", i)});
    b.model().Output(Name("y", i++), ElementType::kFloat, {2, 3});
  }
  return b.Done();
}
Case TransposeChain(int n) {
  return Chain(n, Builder({2, 3, 4}), [](Builder& b, const std::string& v, int) {
    const std::string next = b.Add("Transpose", {v});
    Ints(b.last(), "perm", {1, 2, 0});
    return next;
  });
}
Case TransposedChain(int n) {
  return Chain(n / 2, Builder({2, 3, 4}), [](Builder& b, const std::string& v, int i) {
    const std::string next = b.Add("Transpose", {i % 7 == 0 ? b.Add("Softmax", {v}) : b.Add("Sigmoid", {v})});
    Ints(b.last(), "perm", {1, 2, 0});
    return next;
  });
}
Case TransposesApart(int n) {
  Builder b({4, 4});
  std::string sum = "x";
  for (const std::string& one : Fan(b, n / 4)) {
    const std::string turned = b.Add("Transpose", {one});
    Ints(b.last(), "perm", {1, 0});
    sum = b.Add("Add", {sum, b.Add("Softmax", {b.Add("Sigmoid", {turned})})});
  }
  return b.Finish(sum);
}
Case ReshapeChain(int n) {
  return Chain(n, Builder({2, 6}), [](Builder& b, const std::string& v, int i) {
    return b.Add("Reshape", {v, b.Ints(i % 2 == 0 ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{2, 6})});
  });
}
Case ReshapedChain(int n) {
  return Chain(n / 2, Builder({2, 6}), [](Builder& b, const std::string& v, int i) {
    return b.Add("Softmax",
                 {b.Add("Reshape", {v, b.Ints(i % 2 == 0 ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{2, 6})})});
  });
}
Case CastChain(int n) {
  return Chain(n, Builder(), [n](Builder& b, const std::string& v, int i) {
    const std::string next = b.Add("Cast", {v});
    Int(b.last(), "to", i % 2 == 0 && i + 1 < n ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
    return next;
  });
}
Case SplitConcat(int n) {
  Builder b({n, 3});
  std::vector<std::string> parts, after;
  for (int i = 0; i < n; ++i) parts.push_back(Name("p", i));
  Int(Int(b.Node("Split", {"x"}, parts), "axis", 0), "num_outputs", n);
  for (const std::string& part : parts) after.push_back(b.Add("Neg", {part}));
  const std::string v = b.Add("Concat", after);
  Int(b.last(), "axis", 0);
  return b.Finish(v);
}
Case EqualNodes(int n) {
  Builder b;
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) values.push_back(b.Add("Neg", {"x"}));
  return b.Finish(b.Add("Sum", values));
}
Case EqualBranches(int n) {
  Builder b;
  std::string sum = "x";
  for (int i = 0; i < n / 3; ++i) sum = b.Add("Add", {sum, b.Add("Exp", {b.Add("Neg", {"x"})})});
  return b.Finish(sum);
}
Case AttributesDiffer(int n) {
  Builder b;
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(b.Add("LeakyRelu", {"x"}));
    Float(b.last(), "alpha", 0.1f + 1e-6f * static_cast<float>(i));
  }
  return b.Finish(b.Add("Sum", values));
}
Case EqualConstants(int n) {
  return Chain(n, Builder({1, 16}), [](Builder& b, const std::string& v, int) {
    return b.Add("Max", {v, b.Floats({16}, std::vector<float>(16, 0.25f))});
  });
}
Case ConstantsThatDifferLate(int n) {
  return Chain(n, Builder({1, 80}), [](Builder& b, const std::string& v, int i) {
    std::vector<float> values(80, 0.25f);
    values.back() = static_cast<float>(i);
    return b.Add("Max", {v, b.Floats({80}, values)});
  });
}
Case ConstantChain(int n) {
  Builder b;
  std::string v = b.Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  for (int i = 0; i < n; ++i) v = b.Add("Cos", {v});
  return b.Finish(b.Add("Add", {"x", v}));
}
Case IdentityChain(int n) {
  return Chain(n, Builder(), [](Builder& b, const std::string& v, int) { return b.Add("Identity", {v}); });
}
Case DropoutChain(int n) {
  return Chain(n / 2, Builder(),
               [](Builder& b, const std::string& v, int) { return b.Add("Sigmoid", {b.Add("Dropout", {v})}); });
}
Case WhereChain(int n) {
  Builder b;
  const std::string condition = b.Add("Less", {"x", b.Scalar(0.25f)});
  std::string v = "x";
  for (int i = 0; i < n; ++i) v = b.Add("Where", {condition, v, "x"});
  return b.Finish(v);
}
Case DeadNodes(int n) {
  Builder b;
  std::string v = "x";
  for (int i = 0; i < n; ++i) v = b.Add("Cos", {v});
  return b.Finish("x");
}
Case Diamonds(int n) {
  return Chain(n / 3, Builder(), [](Builder& b, const std::string& v, int) {
    return b.Add("Mul", {b.Add("Sigmoid", {v}), b.Add("Cos", {v})});
  });
}
Case ShapeChain(int n) {
  return Chain(n / 6, Builder({-1, 6}), [](Builder& b, const std::string& v, int) {
    const std::string shape = b.Add("Shape", {v}), first = b.Add("Gather", {shape, b.Ints({0})});
    Int(b.last(), "axis", 0);
    const std::string target = b.Add("Concat", {b.Add("Mul", {first, b.Ints({2})}), b.Ints({3})});
    Int(b.last(), "axis", 0);
    return b.Add("Reshape", {b.Add("Reshape", {b.Add("Sigmoid", {v}), target}), b.Ints({-1, 6})});
  });
}
Case QuantizedChain(int n) {
  Builder b;
  const std::string scale = b.Scalar(0.05f);
  b.model().Quantized("zero", ElementType::kUInt8, {}, {3});
  std::string v = "x";
  for (int i = 0; i < n / 3; ++i)
    v = b.Add("Sigmoid", {b.Add("DequantizeLinear", {b.Add("QuantizeLinear", {v, scale, "zero"}), scale, "zero"})});
  return b.Finish(v);
}
Case Convolutions(int n) {
  Builder b({1, 4, 3, 3});
  std::vector<float> weights(4 * 4);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 5) / 8 - 0.25f;
  const std::string w = b.Floats({4, 4, 1, 1}, weights);
  std::string v = "x";
  for (int i = 0; i < n / 2; ++i) v = b.Add("Relu", {b.Add("Conv", {v, w})});
  return b.Finish(v);
}
Case Residuals(int n) {
  Builder b({1, 4, 3, 3});
  const std::string w = b.Floats({4, 4, 1, 1}, std::vector<float>(16, 0.125f)), bias = b.Floats({4}, {0, 1, 0, 1});
  std::string v = "x";
  for (int i = 0; i < n / 3; ++i) v = b.Add("Relu", {b.Add("Add", {b.Add("Conv", {v, w, bias}), v})});
  return b.Finish(v);
}
Case MatMuls(int n) {
  Builder b({2, 4});
  std::string v = "x";
  const std::string w = b.Floats({4, 4}, std::vector<float>(16, 0.125f)), bias = b.Floats({4}, {0, 1, 0, 1});
  for (int i = 0; i < n / 3; ++i) v = b.Add("Sigmoid", {b.Add("Add", {b.Add("MatMul", {v, w}), bias})});
  return b.Finish(v);
}
Case Normalizations(int n) {
  Builder b({2, 4});
  const std::string two = b.Scalar(2), epsilon = b.Scalar(1e-5f), scale = b.Floats({4}, {1, 2, 3, 4});
  std::string v = "x";
  for (int i = 0; i < n / 8; ++i) {
    const std::string mean = b.Add("ReduceMean", {v, b.Ints({-1})});
    const std::string centred = b.Add("Sub", {v, mean});
    const std::string variance = b.Add("ReduceMean", {b.Add("Pow", {centred, two}), b.Ints({-1})});
    v = b.Add("Mul", {b.Add("Div", {centred, b.Add("Sqrt", {b.Add("Add", {variance, epsilon})})}), scale});
  }
  return b.Finish(v);
}
Case Gelus(int n) {
  Builder b({2, 4});
  const std::string root = b.Scalar(1.4142135f), one = b.Scalar(1), half = b.Scalar(0.5f);
  std::string v = "x";
  for (int i = 0; i < n / 5; ++i) {
    v = b.Add("Mul", {b.Add("Mul", {v, b.Add("Add", {b.Add("Erf", {b.Add("Div", {v, root})}), one})}), half});
  }
  return b.Finish(v);
}
Case Slices(int n) {
  Builder b({n + 2, 3});
  std::vector<std::string> parts;
  const std::string axis = b.Ints({0});
  for (int i = 0; i < n; ++i) parts.push_back(b.Add("Slice", {"x", b.Ints({i}), b.Ints({i + 2}), axis}));
  return b.Finish(b.Add("Sum", parts));
}
Case SliceChain(int n) {
  Builder b({n + 2, 3});
  const std::string one = b.Ints({1}), end = b.Ints({1 << 30}), axis = b.Ints({0});
  std::string v = "x";
  for (int i = 0; i < n; ++i) v = b.Add("Slice", {v, one, end, axis});
  return b.Finish(v);
}
Case Unsqueezes(int n) {
  Builder b;
  const std::string axes = b.Ints({0});
  std::string v = "x";
  for (int i = 0; i < n / 2; ++i) v = b.Add("Squeeze", {b.Add("Unsqueeze", {v, axes}), axes});
  return b.Finish(v);
}
Case ConcatChain(int n) {
  Builder b({1, 0});
  std::string v = "x";
  for (int i = 0; i < n; ++i) {
    v = b.Add("Concat", {v, b.Add("Neg", {"x"})});
    Int(b.last(), "axis", 1);
  }
  return b.Finish(v);
}
Case Microsoft(int n) {
  Builder b({2, 8});
  auto* import = b.model().proto().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  const std::string bias = b.Floats({8}, std::vector<float>(8, 0.125f));
  std::string v = "x";
  for (int i = 0; i < n / 2; ++i) {
    v = b.Add("QuickGelu", {v});
    b.last().set_domain("com.microsoft");
    v = b.Add("BiasGelu", {v, bias});
    b.last().set_domain("com.microsoft");
  }
  return b.Finish(v);
}
Case LongNames(int n) {
  return Chain(n, Builder(), [](Builder& b, const std::string& v, int i) {
    const std::string next = b.Add("Cos", {v}), longer = std::string(300, 'n') + std::to_string(i);
    b.last().set_name(longer);
    b.last().set_output(0, longer);
    return longer;
  });
}

}  // namespace

const std::vector<Kind>& FlatKinds() {
  static const std::map<std::string, std::string> all = {{"claims", "all"}};
  static const std::vector<Kind> kinds = {
      {"add_chain", AddChain},
      {"softmax_chain", SoftmaxChain},
      {"fan_out", FanOut},
      {"wide_sum", WideSum},
      {"wide_concat", WideConcat},
      {"identities_into_concat", IdentitiesIntoConcat},
      {"branches", Branches},
      {"outputs", Outputs},
      {"identity_outputs", IdentityOutputs},
      {"transpose_chain", TransposeChain},
      {"transposed_chain", TransposedChain},
      {"transposes_apart", TransposesApart},
      {"reshape_chain", ReshapeChain},
      {"reshaped_chain", ReshapedChain},
      {"cast_chain", CastChain},
      {"split_concat", SplitConcat},
      {"equal_nodes", EqualNodes},
      {"equal_branches", EqualBranches},
      {"attributes_differ", AttributesDiffer},
      {"equal_constants", EqualConstants},
      {"constants_that_differ_late", ConstantsThatDifferLate},
      {"constant_chain", ConstantChain},
      {"identity_chain", IdentityChain},
      {"dropout_chain", DropoutChain},
      {"where_chain", WhereChain},
      {"dead_nodes", DeadNodes},
      {"diamonds", Diamonds},
      {"shape_chain", ShapeChain},
      {"quantized_chain", QuantizedChain},
      {"convolutions", Convolutions},
      {"residuals", Residuals},
      {"matmuls", MatMuls},
      {"normalizations", Normalizations},
      {"gelus", Gelus},
      {"slices", Slices},
      {"slice_chain", SliceChain},
      {"unsqueezes", Unsqueezes},
      {"concat_chain", ConcatChain},
      {"microsoft", Microsoft},
      {"long_names", LongNames},
      {"onednn_convolutions", Convolutions, 1 << 20, "dnnl"},
      {"onednn_residuals", Residuals, 1 << 20, "dnnl", all},
      {"onednn_add_chain", AddChain, 1 << 20, "dnnl", all},
      {"onednn_diamonds", Diamonds, 1 << 20, "dnnl", all},
      {"onednn_fan_out", FanOut, 1 << 20, "dnnl", all},
      {"onednn_wide_concat", WideConcat, 1 << 20, "dnnl", all},
      {"onednn_quantized", QuantizedChain, 1 << 20, "dnnl", all},
      {"opencl_add_chain", AddChain, 1 << 20, "opencl"},
      {"opencl_diamonds", Diamonds, 1 << 20, "opencl"},
      {"opencl_fan_out", FanOut, 1 << 20, "opencl"},
      {"opencl_softmax_chain", SoftmaxChain, 1 << 20, "opencl"},
      {"opencl_outputs", Outputs, 1 << 20, "opencl"},
  };
  return kinds;
}

}  // namespace tessera::scaling
