#include <limits>
#include <string>
#include <vector>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

using Sizes = std::vector<int64_t>;

struct StraightCase {
  Sizes image, weights, dilations, pads;
  int64_t group = 1;
  Sizes strides = {}, output_padding = {};
};

ModelBuilder Model(const StraightCase& c, std::vector<float> numbers) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, c.image).Output("y", ElementType::kFloat, Sizes(c.image.size(), -1));
  model.Floats("w", c.weights, numbers)
      .Floats("b", {c.weights[1] * c.group}, Numbers(static_cast<size_t>(c.weights[1] * c.group)));
  auto& node = Int(model.Node("ConvTranspose", {"x", "w", "b"}, {"y"}), "group", c.group);
  Ints(node, "kernel_shape", Sizes(c.weights.begin() + 2, c.weights.end()));
  Ints(node, "dilations", c.dilations);
  Ints(node, "pads", c.pads);
  if (!c.strides.empty()) Ints(node, "strides", c.strides);
  if (!c.output_padding.empty()) Ints(node, "output_padding", c.output_padding);
  return model;
}
size_t Count(const Sizes& sizes) {
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

TEST(ConvTransposeToConv, StrideOne) {
  for (const StraightCase& c : {
           StraightCase{{2, 4, 7, 9}, {4, 8, 3, 3}, {1, 1}, {1, 1, 1, 1}},
           StraightCase{{1, 6, 12, 9}, {6, 2, 4, 1}, {1, 1}, {1, 0, 2, 0}, 3},
           StraightCase{{1, 4, 15, 14}, {4, 1, 3, 5}, {2, 1}, {0, 4, 3, 2}, 4, {}, {1, 0}},
           StraightCase{{2, 4, 30}, {4, 9, 7}, {1}, {3, 3}},
           StraightCase{{-1, 4, -1, -1}, {4, 8, 3, 3}, {1, 1}, {1, 2, 1, 2}},
           StraightCase{{1, 3, 4, 9, 8}, {3, 8, 3, 1, 3}, {1, 1, 1}, {1, 0, 1, 1, 0, 1}},
       }) {
    SCOPED_TRACE(::testing::PrintToString(c.weights));
    const Rewriting rewriting(Model(c, Numbers(Count(c.weights))), {"conv_transpose_to_conv"});
    EXPECT_EQ(rewriting.after(), "Conv");
    EXPECT_EQ(rewriting.Difference(1, 9, true), "");
  }
}

TEST(ConvTransposeToConv, LeavesWhatIsNoConvolutionOrReadsPadding) {
  for (const StraightCase& c : {
           StraightCase{{1, 4, 7, 9}, {4, 8, 3, 3}, {1, 1}, {1, 1, 1, 1}, 1, {1, 2}},  // pixels lie apart
           StraightCase{{1, 4, 7, 9}, {4, 8, 3, 3}, {1, 1}, {3, 1, 1, 1}},             // crops more than windows reach
           StraightCase{{1, 4, 1, 1}, {4, 8, 4, 4}, {1, 1}, {0, 0, 0, 0}},             // one pixel becomes an image
           StraightCase{{1, 4, -1, -1}, {4, 8, 3, 3}, {1, 1}, {0, 0, 0, 0}},           // or may
           StraightCase{{1, 4, 7, 9}, {4, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}},             // few outputs
       }) {
    SCOPED_TRACE(::testing::PrintToString(c.pads));
    EXPECT_EQ(Rewriting(Model(c, Numbers(Count(c.weights))), {"conv_transpose_to_conv"}).after(), "ConvTranspose");
  }
  const StraightCase finite{{1, 4, 7, 9}, {4, 8, 3, 3}, {1, 1}, {1, 1, 1, 1}};
  std::vector<float> numbers = Numbers(Count(finite.weights));
  numbers[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Rewriting(Model(finite, numbers), {"conv_transpose_to_conv"}).after(), "ConvTranspose");
}

TEST(ConvTransposeToConv, LeavesGroupsThatTheKernelRefuses) {
  for (const int64_t group : {int64_t{0}, int64_t{-1}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    ModelBuilder model = Model({{1, 4, 7, 9}, {4, 8, 3, 3}, {1, 1}, {1, 1, 1, 1}}, Numbers(288));
    model.proto().mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(group);
    EXPECT_EQ(Rewriting(model, {"conv_transpose_to_conv"}).after(), "ConvTranspose") << group;
  }
}

}  // namespace
}  // namespace tessera::testing
