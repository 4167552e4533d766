// Tables of Resize for regions that are cut out: whatever the two lengths are, ends that lie on elements meet them.

#include <gtest/gtest.h>

#include "ops/image/resample_plan.h"
#include "tessera/memory.h"

namespace tessera::testing {
namespace {

AxisTable TableOf(int64_t in, int64_t out, double start, double end) {
  ResampleOptions options;
  options.mode = ResampleMode::kLinear;
  options.coordinates = CoordinateMode::kTfCropAndResize;
  const AxisRequest request{
      .out = out, .scale = static_cast<double>(out) / static_cast<double>(in), .roi_start = start, .roi_end = end};
  return MakeAxisTable(options, in, request, HostAllocator());
}

TEST(CropTables, NothingOfTheWholeLiesOutside) {
  for (int64_t in = 1; in < 130; ++in) {
    for (int64_t out = 1; out < 130; ++out) {
      for (const bool turned : {false, true}) {
        const AxisTable table = TableOf(in, out, turned, !turned);
        ASSERT_TRUE(table.outside.empty()) << in << " to " << out;
        const int64_t last = table.first[static_cast<size_t>(turned ? 0 : out - 1)];
        const int64_t expected = out > 1 ? in : last + table.taps;
        ASSERT_EQ(last + table.taps, expected) << in << " to " << out;
      }
    }
  }
}

TEST(CropTables, WhatIsBesideLiesOutside) {
  const AxisTable table = TableOf(5, 3, -0.25, 1);
  EXPECT_EQ(table.outside, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(TableOf(5, 1, 0.75, 1.5).outside, (std::vector<uint8_t>{1}));
}

}  // namespace
}  // namespace tessera::testing
