#include "ops/nn/pool.h"

#include <gmock/gmock.h>

#include "error_of.h"
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

}  // namespace
}  // namespace tessera::testing
