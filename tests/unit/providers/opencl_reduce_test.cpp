// Reductions of rows that are longer than one group of work items takes: by slices, which another group joins. Against the
// CPU provider. Skipped where there is no device.

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
  model.Input("x", type, dims).Output("y", type, {});
  model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  model.Ints("axes", axes).Node(op, {"x", "axes"}, {"y"});
  return model;
}

TEST_P(OpenclReduceTest, LongRows) {
  struct Case {
    std::vector<int64_t> x, axes;
  };
  for (const Case& one : {Case{{2, 70'001}, {1}}, Case{{65'537, 3}, {0}}, Case{{2, 300, 3, 401}, {1, 3}}, Case{{150'000}, {0}}}) {
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
    x[static_cast<size_t>(kRow + i)] = i < kRow / 2 ? -kInfinity : -1000.0f;  // slices of nothing but infinities, and others
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

}  // namespace
}  // namespace tessera
