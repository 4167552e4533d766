#include <limits>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// A kernel of `kernel` taps on an axis: dilation, stride, padding, size of the image, taps that stay.
struct CroppedAxis {
  int64_t kernel, dilation, stride, begin, end, size, left;
};

TEST(TrimConvKernels, TapsThatOnlyMeetPadding) {
  const std::vector<CroppedAxis> axes = {{3, 24, 1, 24, 24, 20, 1}, {3, 12, 1, 12, 12, 20, 3}, {3, 1, 1, 1, 1, 1, 1},
                                         {5, 2, 1, 4, 4, 3, 3},     {3, 1, 2, 1, 1, 2, 2},     {4, 3, 2, 9, 6, 5, 4},
                                         {3, 2, 1, 4, 0, 2, 1},     {7, 1, 3, 6, 6, 2, 7},     {1, 1, 1, 0, 0, 4, 1}};
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const size_t j : {size_t{0}, size_t{1}, i}) {
      SCOPED_TRACE(::testing::Message() << i << " and " << j);
      const CroppedAxis &h = axes[i], &w = axes[j];
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {2, 4, h.size, w.size}).Output("y", ElementType::kFloat, {2, 6, -1, -1});
      model.Floats("w", {6, 2, h.kernel, w.kernel}, Numbers(static_cast<size_t>(12 * h.kernel * w.kernel)));
      auto& conv = Int(model.Node("Conv", {"x", "w"}, {"y"}), "group", 2);
      Ints(conv, "dilations", {h.dilation, w.dilation});
      Ints(conv, "strides", {h.stride, w.stride});
      Ints(conv, "pads", {h.begin, w.begin, h.end, w.end});
      const Rewriting rewriting(model, {"trim_conv_kernels", "eliminate_dead_nodes"});
      const Graph& graph = rewriting.graph();
      const Node& left = graph.node(graph.TopologicalOrder()[0]);
      EXPECT_EQ(graph.constant(left.inputs[1])->shape(), (Shape{6, 2, h.left, w.left}));
      EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    }
  }
}

TEST(TrimConvKernels, InfinitiesAndUnknownSizesStay) {
  for (const bool infinite : {false, true}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 1, infinite ? 1 : -1, 1}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
    std::vector<float> numbers = Numbers(9);
    if (infinite) numbers[0] = std::numeric_limits<float>::infinity();
    model.Floats("w", {1, 1, 3, 3}, numbers);
    Ints(model.Node("Conv", {"x", "w"}, {"y"}), "pads", {1, 1, 1, 1});
    const Rewriting rewriting(model, {"trim_conv_kernels"});
    EXPECT_EQ(rewriting.graph().constant(rewriting.graph().node(0).inputs[1])->shape(), (Shape{1, 1, 3, 3}));
  }
}

}  // namespace
}  // namespace tessera::testing
