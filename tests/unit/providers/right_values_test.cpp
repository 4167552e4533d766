// What operators give in corners of their definitions, by the operator's text, numpy and what other runtimes agree on: on
// every provider, with nodes as the model has them and rewritten.

#include "providers/right_values.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "random_numbers.h"

namespace tessera::testing {
namespace {

class RightValues : public OnEachProvider {};

INSTANTIATE_TEST_SUITE_P(On, RightValues, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return info.param; });

Value Counts(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

/// 1, 2, ... count.
std::vector<float> Counted(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

/// Along a line whose element i is i + 1.
std::vector<float> AlongCounted(const std::vector<double>& positions) {
  std::vector<float> values;
  for (const double at : positions) values.push_back(static_cast<float>(at + 1));
  return values;
}

ModelBuilder Resizing(int64_t from, int64_t to, const char* coordinates, const std::vector<float>& scales = {}) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {1, 1, 1, from}).Output("y", ElementType::kFloat, {1, 1, 1, to});
  model.Floats("roi", {8}, {0, 0, 0, 0, 1, 1, 1, 1});
  if (scales.empty()) model.Ints("sizes", {1, 1, 1, to});
  if (!scales.empty()) model.Floats("scales", {4}, scales);
  auto& node = scales.empty() ? model.Node("Resize", {"x", "roi", "", "sizes"}, {"y"})
                              : model.Node("Resize", {"x", "roi", "scales"}, {"y"});
  Text(node, "mode", "linear");
  Text(node, "coordinate_transformation_mode", coordinates);
  Float(node, "extrapolation_value", -7);
  return model;
}

/// From end to end: nothing of it lies outside, and one element is the middle.
TEST_P(RightValues, CropsMeetTheLastElement) {
  for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{
           {55, 7}, {55, 14}, {55, 224}, {71, 7}, {7, 61}, {49, 1}, {2, 299}, {1, 5}}) {
    std::vector<double> positions;
    for (int64_t i = 0; i < to; ++i) {
      positions.push_back(to == 1 ? 0.5 * static_cast<double>(from - 1)
                                  : static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1));
    }
    SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
    Expect(Resizing(from, to, "tf_crop_and_resize"), {Numbers({1, 1, 1, from}, Counted(from))},
           {Numbers({1, 1, 1, to}, AlongCounted(positions))});
  }
}

TEST_P(RightValues, CropsByScalesTakeTheLengthOfTheResult) {
  Expect(Resizing(4, 2, "tf_crop_and_resize", {1, 1, 1, 0.6f}), {Numbers({1, 1, 1, 4}, {1, 2, 3, 4})},
         {Numbers({1, 1, 1, 2}, {1, 4})});
  Expect(Resizing(10, 13, "tf_crop_and_resize", {1, 1, 1, 1.3f}), {Numbers({1, 1, 1, 10}, Counted(10))},
         {Numbers({1, 1, 1, 13}, {1, 1.75f, 2.5f, 3.25f, 4, 4.75f, 5.5f, 6.25f, 7, 7.75f, 8.5f, 9.25f, 10})});
}

/// What gets longer meets the last element; onnx's own cases say otherwise of what gets shorter.
TEST_P(RightValues, AlignedCornersOfFractionalScales) {
  Expect(Resizing(4, 5, "align_corners", {1, 1, 1, 1.3f}), {Numbers({1, 1, 1, 4}, {1, 2, 3, 4})},
         {Numbers({1, 1, 1, 5}, {1, 1.75f, 2.5f, 3.25f, 4})});
  Expect(Resizing(5, 7, "align_corners", {1, 1, 1, 1.5f}), {Numbers({1, 1, 1, 5}, {1, 4, 7, 10, 13})},
         {Numbers({1, 1, 1, 7}, {1, 3, 5, 7, 9, 11, 13})});
  Expect(Resizing(4, 2, "align_corners", {1, 1, 1, 0.6f}), {Numbers({1, 1, 1, 4}, {1, 2, 3, 4})},
         {Numbers({1, 1, 1, 2}, {1, 3.142857f})});
  Expect(Resizing(4, 2, "align_corners"), {Numbers({1, 1, 1, 4}, {1, 2, 3, 4})}, {Numbers({1, 1, 1, 2}, {1, 4})});
}

/// Weights of the four neighbours of a place `t` behind the second.
std::array<double, 4> Cubic(double t) {
  const auto near = [](double d) { return (1.25 * d - 2.25) * d * d + 1; };
  const auto far = [](double d) { return ((-0.75 * d + 3.75) * d - 6) * d + 3; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

/// Each neighbour is clamped by itself, as in PyTorch and ONNX Runtime. Up to three axes, coordinates innermost first.
double CubicSample(const std::vector<float>& image, const std::vector<int64_t>& sizes, const float* point, bool align,
                   size_t axis = 0, int64_t at = 0) {
  if (axis == sizes.size()) return image[static_cast<size_t>(at)];
  const double size = static_cast<double>(sizes[axis]), g = point[sizes.size() - 1 - axis];
  const double x = align ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
  const std::array<double, 4> weights = Cubic(x - std::floor(x));
  double sum = 0;
  for (int64_t t = 0; t < 4; ++t) {
    const int64_t index = std::clamp<int64_t>(static_cast<int64_t>(std::floor(x)) - 1 + t, 0, sizes[axis] - 1);
    sum += weights[static_cast<size_t>(t)] * CubicSample(image, sizes, point, align, axis + 1, at * sizes[axis] + index);
  }
  return sum;
}

TEST_P(RightValues, CubicSamplesBesideABorder) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{4, 5}, {3, 4, 2}}) {
    for (const bool align : {false, true}) {
      const auto rank = static_cast<int64_t>(sizes.size());
      constexpr int64_t kPoints = 60;
      std::vector<int64_t> x_dims = {1, 1}, y_dims = {1, 1}, grid_dims = {1};
      x_dims.insert(x_dims.end(), sizes.begin(), sizes.end());
      for (int64_t i = 0; i < rank; ++i) {
        y_dims.push_back(i == 0 ? kPoints : 1);
        grid_dims.push_back(y_dims.back());
      }
      grid_dims.push_back(rank);
      const std::vector<float> image =
          Random(static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>())), 1);
      std::vector<float> grid = Random(static_cast<size_t>(kPoints * rank), 2), expected;
      for (float& coordinate : grid) coordinate *= 1.8f;
      grid[0] = 50;
      grid[static_cast<size_t>(rank)] = -50;
      for (int64_t p = 0; p < kPoints; ++p)
        expected.push_back(static_cast<float>(CubicSample(image, sizes, grid.data() + p * rank, align)));
      ModelBuilder model(20);
      model.Input("x", ElementType::kFloat, x_dims)
          .Input("g", ElementType::kFloat, grid_dims)
          .Output("y", ElementType::kFloat, y_dims);
      auto& node = model.Node("GridSample", {"x", "g"}, {"y"});
      Text(node, "mode", "cubic");
      Text(node, "padding_mode", "border");
      Int(node, "align_corners", align);
      SCOPED_TRACE(std::to_string(rank) + (align ? " aligned" : ""));
      Expect(model, {Numbers(x_dims, image), Numbers(grid_dims, grid)}, {Numbers(y_dims, expected)}, 1e-4f);
    }
  }
}

struct Cut {
  int64_t start, end, step;
  std::vector<float> taken;  // of 0, 1, 2, 3
};
const Cut kCuts[] = {
    {-10, -20, -1, {0}},
    {-5, -20, -2, {0}},
    {-10, -4, -1, {}},
    {10, -20, -1, {3, 2, 1, 0}},
    {-1, -5, -3, {3, 0}},
    {2, -3, -1, {2}},
    {-10, 20, 3, {0, 3}},
    {7, 20, 1, {}},
    {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min(), -1, {0}},
    {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min(), {3}},
};

/// The start is clamped to an element, the end to what lies beside them; sizes say the same when they are inferred, and
/// when it is a shape that is cut.
TEST_P(RightValues, SlicesBackwards) {
  for (const Cut& cut : kCuts) {
    const auto count = static_cast<int64_t>(cut.taken.size());
    for (const bool known : {true, false}) {
      ModelBuilder model(17);
      model.Input("x", ElementType::kFloat, {known ? 4 : -1}).Input("image", ElementType::kFloat, {1, 2, 3, 4});
      model.Output("y", ElementType::kFloat, {known ? count : -1})
          .Output("size", ElementType::kInt64, {1})
          .Output("sizes", ElementType::kInt64, {-1});
      model.Ints("start", {cut.start}).Ints("end", {cut.end}).Ints("axis", {0}).Ints("step", {cut.step});
      model.Node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
      model.Node("Shape", {"y"}, {"size"});
      model.Node("Shape", {"image"}, {"shape"});
      model.Node("Slice", {"shape", "start", "end", "axis", "step"}, {"sizes"});
      std::vector<int64_t> sizes;
      for (const float taken : cut.taken) sizes.push_back(static_cast<int64_t>(taken) + 1);
      SCOPED_TRACE(::testing::Message() << cut.start << " to " << cut.end << " by " << cut.step);
      Expect(model, {Numbers({4}, {0, 1, 2, 3}), Numbers({1, 2, 3, 4}, Counted(24))},
             {Numbers({count}, cut.taken), Counts({count}), Counts(sizes)});
    }
  }
}

/// Absent bounds: version 1 has none, version 6 the largest floats as defaults.
TEST_P(RightValues, ClipWithoutABound) {
  const std::vector<float> x = {kInfinity, -kInfinity, 1, -5, kNaN};
  for (const int opset : {1, 6, 7, 10}) {
    const float most = opset == 1 ? kInfinity : kMost;
    for (const bool low : {false, true}) {
      for (const bool high : {false, true}) {
        ModelBuilder model(opset);
        model.Input("x", ElementType::kFloat, {5}).Output("y", ElementType::kFloat, {5});
        auto& node = model.Node("Clip", {"x"}, {"y"});
        if (low) Float(node, "min", 0);
        if (high) Float(node, "max", 3);
        SCOPED_TRACE(::testing::Message() << "opset " << opset << (low ? " from 0" : "") << (high ? " to 3" : ""));
        Expect(model, {Numbers({5}, x)}, {Numbers({5}, {high ? 3 : most, low ? 0 : -most, 1, low ? 0.0f : -5.0f, kNaN})});
      }
    }
  }
}

/// The same behind what it is fused with.
TEST_P(RightValues, ClipAfterAConvolution) {
  ModelBuilder model(9);
  model.Input("x", ElementType::kFloat, {1, 1, 1, 3})
      .Output("y", ElementType::kFloat, {1, 1, 1, 3})
      .Floats("w", {1, 1, 1, 1}, {2});
  model.Node("Conv", {"x", "w"}, {"c"});
  Float(model.Node("Clip", {"c"}, {"y"}), "min", 0);
  Expect(model, {Numbers({1, 1, 1, 3}, {kMost, -kMost, 1})}, {Numbers({1, 1, 1, 3}, {kMost, 0, 2})});
}

TEST_P(RightValues, PartsThatNobodyReadsCount) {
  for (const int opset : {11, 13, 18}) {
    for (const bool last : {true, false}) {
      ModelBuilder model(opset);
      model.Input("x", ElementType::kFloat, {6}).Output("y", ElementType::kFloat, {2});
      auto& node = last ? model.Node("Split", {"x"}, {"y", "", ""}) : model.Node("Split", {"x"}, {"", "y", ""});
      if (opset >= 18) Int(node, "num_outputs", 3);
      SCOPED_TRACE(opset);
      Expect(model, {Numbers({6}, Counted(6))}, {Numbers({2}, last ? std::vector<float>{1, 2} : std::vector<float>{3, 4})});
    }
  }
}

/// The same between convolutions, whose channels may lie in blocks.
TEST_P(RightValues, ChannelsThatNobodyReadsCount) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {1, 16, 9, 9}).Output("y", ElementType::kFloat, {1, 16, 9, 9});
  model.Floats("w", {48, 16, 3, 3}, Random(48 * 16 * 9, 1)).Floats("v", {16, 16, 3, 3}, Random(16 * 16 * 9, 2));
  Ints(model.Node("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  model.Node("Relu", {"c"}, {"r"});
  auto& split = model.Node("Split", {"r"}, {"", "p", ""});
  Int(split, "axis", 1);
  Int(split, "num_outputs", 3);
  Ints(model.Node("Conv", {"p", "v"}, {"y"}), "pads", {1, 1, 1, 1});
  const std::vector<Value> inputs = {Numbers({1, 16, 9, 9}, Random(16 * 81, 3))};
  ModelBuilder all = model;
  all.proto().mutable_graph()->mutable_node(2)->set_output(0, "a");
  all.proto().mutable_graph()->mutable_node(2)->set_output(2, "b");
  Expect(model, inputs, ResultsOf(all.Session(PlainOn("cpu")), inputs), 1e-3f);
}

template <class T>
void FillAbs(std::vector<T>& x, std::vector<T>& y) {
  x = {std::numeric_limits<T>::min(), T{-3}, T{4}};
  y = {T{0}, T{3}, T{4}};
}

TEST_P(RightValues, ReluOfTheLeastInteger) {
  const auto check = [&]<class T>(T) {
    std::vector<T> x, y;
    FillAbs(x, y);
    ModelBuilder model(14);
    model.Input("x", ElementTypeOf<T>, {3}).Output("y", ElementTypeOf<T>, {3});
    model.Node("Abs", {"x"}, {"a"});
    model.Node("Relu", {"a"}, {"y"});
    Expect(model, {Tensor::Of<T>(Shape{3}, x)}, {Tensor::Of<T>(Shape{3}, y)});
  };
  check(int8_t{});
  check(int16_t{});
  check(int32_t{});
  check(int64_t{});
}

ModelBuilder OfOne(const char* op, int opset, size_t count, ElementType type = ElementType::kFloat) {
  const auto size = static_cast<int64_t>(count);
  ModelBuilder model(opset);
  model.Input("x", type, {size}).Output("y", type, {size});
  model.Node(op, {"x"}, {"y"});
  return model;
}

/// 1 exactly, so that what is quantized after it has the range that it has on other providers.
TEST_P(RightValues, SaturatesExactly) {
  std::vector<float> x = {9.5f, 12, 20, 22, 60, 100, 1e10f, kMost, kInfinity};
  for (size_t i = x.size(); i-- > 0;) x.push_back(-x[i]);
  std::vector<float> signs, units;
  for (const float value : x) {
    signs.push_back(value > 0 ? 1 : -1);
    units.push_back(value > 0 ? 1 : 0);
  }
  Expect(OfOne("Tanh", 13, x.size()), {Numbers({18}, x)}, {Numbers({18}, signs)}, 0);
  Expect(OfOne("Erf", 13, x.size()), {Numbers({18}, x)}, {Numbers({18}, signs)}, 0);
  const std::vector<float> right(x.begin() + 2, x.begin() + 9);
  Expect(OfOne("Sigmoid", 13, right.size()), {Numbers({7}, right)}, {Numbers({7}, std::vector<float>(7, 1))}, 0);
  std::vector<double> wide(x.begin() + 2, x.end() - 2), wide_signs(signs.begin() + 2, signs.end() - 2);
  for (const char* op : {"Tanh", "Erf"}) {
    const Session session = OfOne(op, 13, wide.size(), ElementType::kDouble).Session(OnProvider(GetParam()));
    const auto y = ResultsOf(session, {Tensor::Of<double>(Shape{14}, wide)});
    EXPECT_THAT(y[0].tensor().values<double>(), ::testing::ElementsAreArray(wide_signs)) << op;
  }
}

TEST_P(RightValues, ActivationsFarOutAndOfNaN) {
  const std::vector<float> x = {kNaN, -1e10f, -50, 50, 1e10f};
  ModelBuilder gelu = OfOne("Gelu", 20, x.size());
  Text(*gelu.proto().mutable_graph()->mutable_node(0), "approximate", "tanh");
  Expect(gelu, {Numbers({5}, x)}, {Numbers({5}, {kNaN, 0, 0, 50, 1e10f})});
  Expect(OfOne("Mish", 18, x.size()), {Numbers({5}, x)}, {Numbers({5}, {kNaN, 0, 0, 50, 1e10f})});
  Expect(OfOne("Celu", 12, x.size()), {Numbers({5}, x)}, {Numbers({5}, {kNaN, -1, -1, 50, 1e10f})});
  Expect(OfOne("Elu", 6, x.size()), {Numbers({5}, x)}, {Numbers({5}, {kNaN, -1, -1, 50, 1e10f})});
  Expect(OfOne("Softplus", 1, x.size()), {Numbers({5}, x)}, {Numbers({5}, {kNaN, 0, 0, 50, 1e10f})});
  Expect(OfOne("HardSigmoid", 6, x.size()), {Numbers({5}, x)}, {Numbers({5}, {kNaN, 0, 0, 1, 1})});
  Expect(OfOne("ThresholdedRelu", 10, x.size()), {Numbers({5}, x)}, {Numbers({5}, {0, 0, 0, 50, 1e10f})});
}

/// Windows with one that is not a number, at each place, of images that different kernels have.
TEST_P(RightValues, MaximaOfNaN) {
  struct Case {
    std::vector<int64_t> x, kernel;
    int64_t stride;
  };
  for (const Case& one :
       {Case{{1, 1, 5}, {3}, 1}, Case{{1, 2, 3, 40}, {3, 3}, 2}, Case{{1, 16, 9, 9}, {2, 2}, 1},
        Case{{40, 3, 3, 3}, {3, 3}, 1}, Case{{1, 1, 4, 5, 20}, {2, 2, 3}, 1}, Case{{1, 3, 40, 41}, {5, 5}, 1}}) {
    const Shape shape(std::span<const int64_t>(one.x));
    SCOPED_TRACE(shape.ToString());
    const auto count = static_cast<size_t>(shape.num_elements());
    const auto ends = {size_t{0}, count / 2, count - 2, count - 1};
    std::vector<int64_t> out = one.x;
    for (size_t i = 0; i < one.kernel.size(); ++i) out[i + 2] = (one.x[i + 2] - one.kernel[i]) / one.stride + 1;
    ModelBuilder pool(12), with_indices(12), all(12);
    for (ModelBuilder* model : {&pool, &with_indices, &all}) model->Input("x", ElementType::kFloat, one.x);
    pool.Output("y", ElementType::kFloat, out);
    with_indices.Output("y", ElementType::kFloat, out).Output("i", ElementType::kInt64, out);
    std::vector<int64_t> ones(one.x.size(), 1);
    std::copy_n(one.x.begin(), 2, ones.begin());
    all.Output("y", ElementType::kFloat, ones);
    all.Node("GlobalMaxPool", {"x"}, {"y"});
    const std::vector<int64_t> strides(one.kernel.size(), one.stride);
    Ints(Ints(pool.Node("MaxPool", {"x"}, {"y"}), "kernel_shape", one.kernel), "strides", strides);
    Ints(Ints(with_indices.Node("MaxPool", {"x"}, {"y", "i"}), "kernel_shape", one.kernel), "strides", strides);
    const Session sessions[] = {pool.Session(OnProvider(GetParam())), with_indices.Session(OnProvider(GetParam())),
                                all.Session(OnProvider(GetParam()))};
    for (const size_t at : ends) {
      SCOPED_TRACE(at);
      std::vector<float> x(count, 1);
      x[at] = kNaN;
      const Value input = Numbers(one.x, x);
      const auto plain = ResultsOf(sessions[0], {input}), placed = ResultsOf(sessions[1], {input}),
                 whole = ResultsOf(sessions[2], {input});
      // As an average that is NaN where an element of the window is.
      const auto y = plain[0].tensor().values<float>(), y2 = placed[0].tensor().values<float>();
      const auto indices = placed[1].tensor().values<int64_t>();
      size_t nans = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(std::isnan(y[i]), std::isnan(y2[i])) << i;
        EXPECT_EQ(std::isnan(y2[i]), indices[i] == static_cast<int64_t>(at)) << i;
        nans += std::isnan(y[i]) ? 1 : 0;
      }
      EXPECT_EQ(nans > 0, one.stride == 1 || std::ranges::count(indices, static_cast<int64_t>(at)) > 0);
      const auto z = whole[0].tensor().values<float>();
      const size_t plane = count / z.size();
      for (size_t i = 0; i < z.size(); ++i) EXPECT_EQ(std::isnan(z[i]), at / plane == i) << i;
    }
  }
}

/// A gate that is not a number shows in the state.
TEST_P(RightValues, RecurrentReluOfNaN) {
  for (const int64_t hidden : {3, 16}) {
    ModelBuilder model(14);
    model.Input("x", ElementType::kFloat, {1, 1, 1}).Output("y", ElementType::kFloat, {1, 1, hidden});
    model.Floats("w", {1, hidden, 1}, std::vector<float>(static_cast<size_t>(hidden), 1))
        .Floats("r", {1, hidden, hidden}, std::vector<float>(static_cast<size_t>(hidden * hidden)));
    auto& node = model.Node("RNN", {"x", "w", "r"}, {"", "y"});
    Int(node, "hidden_size", hidden);
    Texts(node, "activations", {"Relu"});
    Expect(model, {Numbers({1, 1, 1}, {kNaN})},
           {Numbers({1, 1, hidden}, std::vector<float>(static_cast<size_t>(hidden), kNaN))});
  }
}

/// Of longs, counted as such: in double these ends are one number.
TEST_P(RightValues, RangesOfLargeNumbers) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max(), kFirst = std::numeric_limits<int64_t>::min();
  struct Case {
    int64_t start, limit, delta;
    std::vector<int64_t> values;
  };
  const Case cases[] = {
      {kLast - 9, kLast, 3, {kLast - 9, kLast - 6, kLast - 3}},
      {kFirst + 5, kFirst, -2, {kFirst + 5, kFirst + 3, kFirst + 1}},
      {kFirst, kLast, int64_t{1} << 62, {kFirst, kFirst / 2, 0, -(kFirst / 2)}},
      {0, (int64_t{1} << 62) + 1, int64_t{1} << 62, {0, int64_t{1} << 62}},
      {kLast, kFirst, 1, {}},
  };
  for (const Case& one : cases) {
    for (const bool constant : {false, true}) {
      ModelBuilder model(17);
      std::vector<Value> inputs;
      for (const auto& [name, value] :
           {std::pair("start", one.start), std::pair("limit", one.limit), std::pair("delta", one.delta)}) {
        if (constant) {
          model.Constant(name, {}, std::span(&value, 1));
        } else {
          model.Input(name, ElementType::kInt64, {});
          inputs.push_back(Tensor::Of<int64_t>(Shape{}, std::span(&value, 1)));
        }
      }
      model.Output("y", ElementType::kInt64, {-1});
      model.Node("Range", {"start", "limit", "delta"}, {"y"});
      SCOPED_TRACE(::testing::Message() << one.start << " to " << one.limit << " by " << one.delta);
      Expect(model, inputs, {Counts(one.values)});
    }
  }
}

/// It adds to the output what no window reaches, also where it is below the dilation alone, or below neither.
TEST_P(RightValues, ConvTransposePadsItsOutput) {
  for (const int64_t padding : {1, 3}) {
    SCOPED_TRACE(padding);
    const int64_t size = 5 + padding - 1;
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 1, 1, 2}).Output("y", ElementType::kFloat, {1, 1, 1, size});
    model.Floats("w", {1, 1, 1, 2}, {1, 10}).Floats("b", {1}, {0.5f});
    auto& node = model.Node("ConvTranspose", {"x", "w", "b"}, {"y"});
    Ints(node, "dilations", {1, 2});
    Ints(node, "output_padding", {0, padding});
    std::vector<float> expected = {1.5f, 2.5f, 10.5f, 20.5f};
    expected.resize(static_cast<size_t>(size), 0.5f);
    Expect(model, {Floats({1, 1, 1, 2}, {1, 2})}, {Floats({1, 1, 1, size}, expected)});
  }
}

}  // namespace
}  // namespace tessera::testing
