// Reductions of rows that are longer than one group of work items takes, and operators along lines that are longer than one
// item takes: by slices, which are joined. Against the CPU provider. Skipped where there is no device.

#include <limits>

#include "providers/opencl_device.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::ModelBuilder;
using testing::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class OpenclReduceTest : public testing::OnDevice<::testing::TestWithParam<const char*>> {};

ModelBuilder Reduction(const char* op, ElementType type, const std::vector<int64_t>& dims,
                       const std::vector<int64_t>& axes) {
  ModelBuilder model(18);
  model.Input("x", type, dims).AnyOutput("y", type);
  model.Ints("axes", axes).Node(op, {"x", "axes"}, {"y"});
  return model;
}

TEST_P(OpenclReduceTest, LongRows) {
  struct Case {
    std::vector<int64_t> x, axes;
  };
  for (const Case& one :
       {Case{{2, 70'001}, {1}}, Case{{65'537, 3}, {0}}, Case{{2, 300, 3, 401}, {1, 3}}, Case{{150'000}, {0}}}) {
    const Shape shape(std::span<const int64_t>(one.x));
    SCOPED_TRACE(shape.ToString());
    std::vector<float> x = Random(static_cast<size_t>(shape.num_elements()), 3);
    for (float& value : x) value = std::string_view(GetParam()) == "ReduceProd" ? 1 + 1e-4f * value : std::abs(value);
    testing::ExpectAsOnCpu(Reduction(GetParam(), ElementType::kFloat, one.x, one.axes), {Floats(one.x, x)}, 1e-3f);
  }
}

TEST_P(OpenclReduceTest, NumbersThatAreNotFinite) {
  constexpr int64_t kRow = 100'000;
  std::vector<float> x(5 * kRow, -kInfinity);
  for (int64_t i = 0; i < kRow; ++i) {
    x[static_cast<size_t>(kRow + i)] =
        i < kRow / 2 ? -kInfinity : -1000.0f;  // slices of nothing but infinities, and others
    x[static_cast<size_t>(2 * kRow + i)] = x[static_cast<size_t>(3 * kRow + i)] = 0.5f;
    x[static_cast<size_t>(4 * kRow + i)] = 200.0f;  // whose exponential is none
  }
  x[static_cast<size_t>(2 * kRow + 90'000)] = std::numeric_limits<float>::quiet_NaN();
  x[static_cast<size_t>(3 * kRow + 17)] = kInfinity;
  testing::ExpectAsOnCpu(Reduction(GetParam(), ElementType::kFloat, {5, kRow}, {1}), {Floats({5, kRow}, x)}, 1e-3f);
}

INSTANTIATE_TEST_SUITE_P(Operators, OpenclReduceTest,
                         ::testing::Values("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1",
                                           "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"));

class OpenclReduceIntegersTest : public testing::OnDevice<> {};

TEST_F(OpenclReduceIntegersTest, LongRows) {
  constexpr int64_t kRow = 100'003;
  std::vector<int64_t> x(2 * kRow);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int64_t>(i * 2654435761u % 2001) - 1000;
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1"})
    testing::ExpectAsOnCpu(Reduction(op, ElementType::kInt64, {2, kRow}, {1}), {testing::Integers({2, kRow}, x)}, 0.0f);
}

class OpenclLongLinesTest : public testing::OnDevice<> {
 protected:
  static constexpr int64_t kLine = 70'001;

  /// Whole numbers, so that sums are exact and some are equal; with NaNs on the way.
  static Value Lines(const std::vector<int64_t>& dims, bool nan) {
    const Shape shape{std::span<const int64_t>(dims)};
    std::vector<float> x(static_cast<size_t>(shape.num_elements()));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 7) - 3;
    if (nan) x[x.size() / 2 + 5] = x[x.size() / 2 + 55] = std::numeric_limits<float>::quiet_NaN();
    return Floats(dims, x);
  }

  static onnx::NodeProto& Line(ModelBuilder& model, const char* op, const std::vector<int64_t>& dims, ElementType out) {
    model.Input("x", ElementType::kFloat, dims).AnyOutput("y", out);
    return model.Node(op, {"x"}, {"y"});
  }

  const std::vector<std::pair<std::vector<int64_t>, int64_t>> cases_ = {
      {{2, kLine}, 1}, {{kLine, 3}, 0}, {{2, 16'384, 2}, 1}};
};

TEST_F(OpenclLongLinesTest, PositionsOfExtremes) {
  for (const auto& [dims, axis] : cases_) {
    for (const char* op : {"ArgMax", "ArgMin"}) {
      for (const int64_t last : {0, 1}) {
        ModelBuilder model(13);
        auto& node = Line(model, op, dims, ElementType::kInt64);
        testing::Int(node, "axis", axis);
        testing::Int(node, "select_last_index", last);
        for (const bool nan : {false, true}) testing::ExpectAsOnCpu(model, {Lines(dims, nan)});
      }
    }
  }
}

// Equal elements and NaNs in several slices, fewer elements than asked for in the last.
TEST_F(OpenclLongLinesTest, FewOfTheLargest) {
  for (const auto& [dims, axis] : cases_) {
    for (const int64_t largest : {0, 1}) {
      for (const int64_t k : {1, 10, 16}) {
        ModelBuilder model(13);
        model.Input("x", ElementType::kFloat, dims).AnyOutput("y", ElementType::kFloat).AnyOutput("i", ElementType::kInt64);
        auto& node = model.Ints("k", {k}).Node("TopK", {"x", "k"}, {"y", "i"});
        testing::Int(node, "axis", axis);
        testing::Int(node, "largest", largest);
        for (const bool nan : {false, true}) testing::ExpectAsOnCpu(model, {Lines(dims, nan)});
      }
    }
  }
}

TEST_F(OpenclLongLinesTest, MeanVarianceNormalization) {
  for (const auto& [dims, axes] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
           {{2, 3, 200, 201}, {0, 2, 3}}, {{2, kLine}, {1}}, {{kLine, 3}, {0}}, {{1, 2, 32'768, 4}, {3, 2}}}) {
    ModelBuilder model(13);
    testing::Ints(Line(model, "MeanVarianceNormalization", dims, ElementType::kFloat), "axes", axes);
    testing::ExpectAsOnCpu(model, {Lines(dims, false)}, 1e-4f);
  }
}

TEST_F(OpenclLongLinesTest, Hardmax) {
  for (const auto& [dims, axis] : cases_) {
    ModelBuilder model(13);
    testing::Int(Line(model, "Hardmax", dims, ElementType::kFloat), "axis", axis);
    for (const bool nan : {false, true}) testing::ExpectAsOnCpu(model, {Lines(dims, nan)});
  }
}

TEST_F(OpenclLongLinesTest, RunningSums) {
  for (const auto& [dims, axis] : cases_) {
    for (const int64_t how : {0, 1, 2, 3}) {
      ModelBuilder model(14);
      auto& node = Line(model, "CumSum", dims, ElementType::kFloat);
      node.add_input("axis");
      model.Ints("axis", {axis});
      testing::Int(node, "exclusive", how & 1);
      testing::Int(node, "reverse", how >> 1);
      testing::ExpectAsOnCpu(model, {Lines(dims, false)});
    }
  }
}

TEST_F(OpenclLongLinesTest, Norms) {
  for (const auto& [dims, axis] : cases_) {
    for (const int64_t p : {1, 2}) {
      ModelBuilder model(13);
      auto& node = Line(model, "LpNormalization", dims, ElementType::kFloat);
      testing::Int(node, "axis", axis);
      testing::Int(node, "p", p);
      testing::ExpectAsOnCpu(model, {Lines(dims, false)});
    }
  }
}

}  // namespace
}  // namespace tessera
