// A pointwise convolution with strides gives those pixels that it has without: it reads them only.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "waves.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

struct StridedCase {
  std::vector<int64_t> image, strides;
  int64_t channels, outputs, group = 1;
};

Tensor Convolve(const StridedCase& c, const std::vector<int64_t>& strides) {
  ModelBuilder model(17);
  std::vector<int64_t> dims = {2, c.channels}, kernel = {c.outputs, c.channels / c.group}, open = {-1, c.channels},
                       results_open = {-1, c.outputs};
  for (const int64_t size : c.image)
    dims.push_back(size), kernel.push_back(1), open.push_back(-1), results_open.push_back(-1);
  model.Input("x", ElementType::kFloat, open).Output("y", ElementType::kFloat, results_open);
  model.Floats("w", kernel, testing::Waves(c.outputs * c.channels / c.group, 0.37f))
      .Floats("b", {c.outputs}, testing::Waves(c.outputs, 0.9f));
  onnx::NodeProto& node = model.Node("Conv", {"x", "w", "b"}, {"y"});
  testing::Int(testing::Ints(node, "strides", strides), "group", c.group);
  Tensor x(ElementType::kFloat, Shape(dims));
  const auto numbers = testing::Waves(x.num_elements(), 0.71f);
  std::copy(numbers.begin(), numbers.end(), x.mutable_data<float>());
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options);
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Value(std::move(x))}, results);
  return results[0].tensor();
}

TEST(PointwiseConv, WithStridesGivesPixelsOfTheOneWithout) {
  for (const StridedCase& c : std::vector<StridedCase>{
           {{9}, {2}, 5, 7},
           {{8, 9}, {2, 2}, 16, 33},
           {{8, 9}, {1, 3}, 8, 6, 2},
           {{7, 5}, {3, 1}, 6, 6, 6},
           {{5, 6, 7}, {2, 3, 2}, 4, 8},
           {{3, 1, 4}, {4, 2, 1}, 4, 8, 4},
       }) {
    const Tensor whole = Convolve(c, std::vector<int64_t>(c.image.size(), 1)), picked = Convolve(c, c.strides);
    ASSERT_EQ(picked.shape().rank(), c.image.size() + 2);
    for (int64_t i = 0; i < picked.num_elements(); ++i) {
      int64_t rest = i, from = 0, step = 1;
      for (size_t axis = picked.shape().rank(); axis-- > 0;) {
        const int64_t at = rest % picked.shape()[axis];
        rest /= picked.shape()[axis];
        from += at * step * (axis < 2 ? 1 : c.strides[axis - 2]);
        step *= whole.shape()[axis];
      }
      ASSERT_NEAR(picked.data<float>()[i], whole.data<float>()[from], 1e-5f) << i << " of image " << c.image.size();
    }
  }
}

}  // namespace
}  // namespace tessera
