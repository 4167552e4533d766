#include "ops/nn/pool.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/nn/max_roi_pool.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

TEST(PoolAttributes, Defaults) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}) {
    const PoolAttributes attributes(NodeOf(op, 22));
    EXPECT_EQ(attributes.global, std::string_view(op).starts_with("Global"));
    EXPECT_FALSE(attributes.count_include_pad || attributes.column_major || attributes.window.ceil_mode());
    EXPECT_EQ(attributes.p, std::string_view(op).ends_with("LpPool") ? 2 : 1);
  }
}

TEST(PoolAttributes, TheNormIsAFloatInVersionOne) {
  EXPECT_EQ(PoolAttributes(NodeOf("LpPool", 1, {{"p", 2.5f}})).p, 2.5);
  EXPECT_EQ(PoolAttributes(NodeOf("LpPool", 2, {{"p", int64_t{3}}})).p, 3);
  EXPECT_THAT(ErrorOf([] { PoolAttributes{NodeOf("GlobalLpPool", 2, {{"p", int64_t{0}}})}; }), HasSubstr("'p' is 0"));
}

TEST(PoolAttributes, Windows) {
  const Shape x{2, 3, 6, 8};
  const PoolAttributes pool(NodeOf("MaxPool", 12, {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 1}}}));
  const Window window = pool.Fit(x);
  EXPECT_EQ(PoolAttributes::ResultShape(x, window), Shape({2, 3, 3, 6}));
  const Window global = PoolAttributes(NodeOf("GlobalMaxPool", 1)).Fit(x);
  EXPECT_EQ(global.kernel, Shape({6, 8}));
  EXPECT_EQ(PoolAttributes::ResultShape(x, global), Shape({2, 3, 1, 1}));
  // Without a kernel the image is the window, which padding and strides move as others.
  EXPECT_EQ(PoolAttributes(NodeOf("LpPool", 1, {{"pads", Ints{1, 0, 1, 0}}})).Fit(x).output, Shape({3, 1}));
  EXPECT_THAT(ErrorOf([&] { pool.Fit(Shape{2, 3}); }), HasSubstr("at least one spatial axis"));
  EXPECT_THAT(ErrorOf([&] { pool.Fit(Shape{2, 3, 4}); }), HasSubstr("the kernel has 2 axes"));
}

TEST(MaxRoiPoolAttributes, RegionsAndCells) {
  const MaxRoiPoolAttributes pool(NodeOf("MaxRoiPool", 1, {{"pooled_shape", Ints{2, 3}}, {"spatial_scale", 0.5f}}));
  EXPECT_EQ(pool.ResultShape({4, 5, 8, 9}, {7, 5}), Shape({7, 5, 2, 3}));
  const float numbers[] = {3, 2, 4, 12, 9};
  const RoiOfImage region = pool.Region(numbers, 4);
  EXPECT_EQ(region.image, 3);
  EXPECT_EQ(region.rows.start, 2);
  EXPECT_EQ(region.rows.size, 2);  // pixels 2 to 5, as 4.5 is rounded away from 0
  EXPECT_EQ(region.columns.start, 1);
  EXPECT_EQ(region.columns.size, 2);
  const RoiCells::Cell cell = region.columns.At(2, 6);
  EXPECT_EQ(cell.begin, 5);
  EXPECT_EQ(cell.end, 6);  // the image's end
}

TEST(MaxRoiPoolAttributes, Refusals) {
  const MaxRoiPoolAttributes pool(NodeOf("MaxRoiPool", 22, {{"pooled_shape", Ints{1, 1}}}));
  EXPECT_THAT(ErrorOf([&] { pool.ResultShape({5, 8, 9}, {7, 5}); }), HasSubstr("must have 4 dimensions"));
  EXPECT_THAT(ErrorOf([&] { pool.ResultShape({4, 5, 8, 9}, {7, 4}); }), HasSubstr("rois must be [n,5]"));
  const double beyond[] = {4, 0, 0, 1, 1}, large[] = {0, 0, 0, 1e10, 1}, none[] = {0, NAN, 0, 1, 1};
  EXPECT_THAT(ErrorOf([&] { pool.Region(beyond, 4); }), HasSubstr("batch index is 4, the batch has 4"));
  EXPECT_THAT(ErrorOf([&] { pool.Region(large, 4); }), HasSubstr("corner is 10000000000"));
  EXPECT_THAT(ErrorOf([&] { pool.Region(none, 4); }), HasSubstr("corner is nan"));
  for (const Ints& wrong : {Ints{}, Ints{1}, Ints{0, 1}}) {
    const Node node = NodeOf("MaxRoiPool", 1, {{"pooled_shape", wrong}});
    EXPECT_THAT(ErrorOf([&] { MaxRoiPoolAttributes{node}; }), HasSubstr("two positive values"));
  }
}

}  // namespace
}  // namespace tessera::testing
