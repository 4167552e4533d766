#include <gmock/gmock.h>

#include "model_builder.h"
#include "onnx/defs/parser.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ToVector;

Session Load(const char* text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  const std::string bytes = model.SerializeAsString();
  return Session(std::as_bytes(std::span(bytes)));
}

std::string LoadErrorOf(const char* text) {
  try {
    Load(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<float> Result(const Session& session, std::vector<Value> inputs, size_t result = 0) {
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return ToVector(results[result]);
}

#define MODEL "<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.preview.training\": 1, \"own\": 1]> "

TEST(Gradient, IsZeroWhereNoPathLeads) {
  const Session session = Load(MODEL R"(main (float[2] a, float[2] b, float[2] c) => (float[2] da, float[2] dc) {
    y = Mul(a, b)
    steps = Floor(c)
    z = Add(y, steps)
    da, dc = ai.onnx.preview.training.Gradient <xs = ["a", "c"], zs = ["b"], y = "z"> (a, c, b)
  })");
  EXPECT_THAT(Result(session, {Floats({2}, {1, 2}), Floats({2}, {3, 4}), Floats({2}, {5, 6})}), ElementsAre(3, 4));
  EXPECT_THAT(Result(session, {Floats({2}, {1, 2}), Floats({2}, {3, 4}), Floats({2}, {5, 6})}, 1), ElementsAre(0, 0));
}

TEST(Gradient, StopsAtIntermediateTensors) {
  const Session session = Load(MODEL R"(main (float[2] a) => (float[2] dh) {
    h = Mul(a, a)
    y = Mul(h, h)
    dh = ai.onnx.preview.training.Gradient <xs = ["h"], y = "y"> (h)
  })");
  EXPECT_THAT(Result(session, {Floats({2}, {1, 2})}), ElementsAre(2, 8));
}

TEST(Gradient, SumsBroadcastDimensionsOfUnknownSize) {
  const Session session = Load(MODEL R"(main (float[n, m] a, float[k] b) => (float[k] db) {
    y = Add(a, b)
    db = ai.onnx.preview.training.Gradient <xs = ["b"], zs = ["a"], y = "y"> (b, a)
  })");
  EXPECT_THAT(Result(session, {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({3}, {1, 2, 3})}), ElementsAre(2, 2, 2));
  EXPECT_THAT(Result(session, {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({1}, {1})}), ElementsAre(6));
}

TEST(Gradient, KnowsTheBroadcastingOfOldVersions) {
  const Session session = Load(R"(<ir_version: 3, opset_import: ["": 6, "ai.onnx.preview.training": 1]>
  main (float[2, 3, 2] a, float[3] b) => (float[3] db) {
    y = Mul <broadcast = 1, axis = 1> (a, b)
    db = ai.onnx.preview.training.Gradient <xs = ["b"], zs = ["a"], y = "y"> (b, a)
  })");
  EXPECT_THAT(Result(session, {Floats({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), Floats({3}, {1, 2, 3})}),
              ElementsAre(18, 26, 34));
}

TEST(Gradient, WorksInsideFunctions) {
  const Session session = Load(MODEL R"(main (float[2] p) => (float[2] d) { d = own.Slope(p) }
  <domain: "own", opset_import: ["": 21, "ai.onnx.preview.training": 1]>
  Slope (x) => (dx) {
    y = Mul(x, x)
    dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)
  })");
  EXPECT_THAT(Result(session, {Floats({2}, {1, 2})}), ElementsAre(2, 4));
}

TEST(Gradient, DerivesOuterTensorsInsideBranches) {
  const Session session = Load(MODEL R"(main (float[2] x, bool c) => (float[2] d) {
    h = Sqrt(x)
    y = Mul(h, x)
    d = If (c) <
      then_branch = yes () => (float[2] dx) { dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x) },
      else_branch = no () => (float[2] none) { none = Identity(x) }
    >
  })");
  const bool yes = true;
  EXPECT_THAT(Result(session, {Floats({2}, {4, 16}), Tensor::Of<bool>({}, std::span(&yes, 1))}), ElementsAre(3, 6));
}

TEST(Gradient, DerivesFunctionsWithoutARuleByTheirBody) {
  const Session session = Load(MODEL R"(main (float[1, 2] x, float[2] s, float[2] b) => (float[2] ds) {
    y = LayerNormalization <epsilon = 0.0> (x, s, b)
    ds = ai.onnx.preview.training.Gradient <xs = ["s"], zs = ["x", "b"], y = "y"> (s, x, b)
  })");
  EXPECT_THAT(Result(session, {Floats({1, 2}, {1, 3}), Floats({2}, {1, 2}), Floats({2}, {0, 0})}), ElementsAre(-1, 1));
}

TEST(Gradient, NamesOperatorsWithoutDerivative) {
  EXPECT_THAT(LoadErrorOf(MODEL R"(main (float[2, 2] x) => (float d) {
    y = Det(x)
    d = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)
  })"),
              HasSubstr("no derivative is known for Det"));
}

TEST(Gradient, RefusesNamesThatMeanNothing) {
  EXPECT_THAT(LoadErrorOf(MODEL R"(main (float[2] x) => (float[2] dx) {
    y = Neg(x)
    dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "z"> (x)
  })"),
              HasSubstr("'z'"));
  EXPECT_THAT(LoadErrorOf(MODEL R"(main (float[2] x) => (float[2] dx) {
    y = Neg(x)
    dx = ai.onnx.preview.training.Gradient <xs = ["x", "y"], y = "y"> (x)
  })"),
              HasSubstr("1 inputs"));
  EXPECT_THAT(LoadErrorOf(MODEL R"(main (float[2] x) => (float[2] dx) {
    y = Add(x, dx)
    dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)
  })"),
              HasSubstr("depends on its own outputs"));
}

}  // namespace
}  // namespace tessera
