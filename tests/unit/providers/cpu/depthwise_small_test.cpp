// Depthwise convolution of planes of few pixels against its definition: groups that end inside a vector, several outputs of
// a plane, planes of one pixel, activations.

#include "kernels/conv/depthwise/depthwise_small.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "waves.h"

namespace tessera::cpu {
namespace {

struct Case {
  int64_t batch, channels, multiplier, width, kernel;
  int64_t pad, stride = 1, dilation = 1;
  int64_t output() const { return (width + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1; }
};

/// Along one axis: what tables say of several is the same to the kernel.
struct Table {
  explicit Table(const Case& c) {
    for (int64_t o = 0; o < c.output(); ++o) {
      begins.push_back(static_cast<int32_t>(meetings.size()));
      for (int64_t k = 0; k < c.kernel; ++k) {
        const int64_t at = o * c.stride - c.pad + k * c.dilation;
        if (at >= 0 && at < c.width) meetings.push_back({static_cast<int32_t>(at), static_cast<int32_t>(k)});
      }
    }
    begins.push_back(static_cast<int32_t>(meetings.size()));
  }
  std::vector<int32_t> begins;
  std::vector<SmallPlanes::Meeting> meetings;
};

void Check(const Case& c) {
  const int64_t together = SmallPlanesTogether();
  if (together == 0) GTEST_SKIP() << "no kernel here";
  const int64_t planes = c.batch * c.channels, outputs = c.channels * c.multiplier, pixels = c.output();
  // Buffers that end with their last element: sanitizers see what is read behind it.
  const std::vector<float> input = testing::Waves(planes * c.width, 0.7f, 1.0f),
                           weights = testing::Waves(outputs * c.kernel, 0.3f, 1.0f),
                           bias = testing::Waves(outputs, 0.9f, 1.0f);
  std::vector<float> output(static_cast<size_t>(planes * c.multiplier * pixels), -9.0f);
  const Table table(c);
  const SmallPlanes shape{c.batch, c.channels, c.multiplier,        c.width,
                          pixels,  c.kernel,   table.begins.data(), table.meetings.data()};
  const DepthwiseTensors tensors{
      input.data(), weights.data(), output.data(), {.bias = bias.data(), .activation = {.kind = ActivationKind::kRelu}}};
  const int64_t groups = (planes + together - 1) / together;
  ConvolveSmallPlanes(shape, tensors, 0, groups / 2);
  ConvolveSmallPlanes(shape, tensors, groups / 2, groups);
  for (int64_t i = 0; i < planes * c.multiplier; ++i) {
    for (int64_t o = 0; o < pixels; ++o) {
      double sum = bias[static_cast<size_t>(i % outputs)];
      for (int32_t m = table.begins[static_cast<size_t>(o)]; m < table.begins[static_cast<size_t>(o) + 1]; ++m) {
        const auto [pixel, tap] = table.meetings[static_cast<size_t>(m)];
        sum += double{input[static_cast<size_t>(i / c.multiplier * c.width + pixel)]} *
               weights[static_cast<size_t>(i % outputs * c.kernel + tap)];
      }
      ASSERT_NEAR(output[static_cast<size_t>(i * pixels + o)], std::max(sum, 0.0), 1e-5)
          << c.batch << " x " << c.channels << " x " << c.width << " by " << c.multiplier << " x " << c.kernel << ", plane "
          << i << ", pixel " << o;
    }
  }
}

TEST(DepthwiseSmall, EveryNumberOfPlanes) {
  for (int64_t planes = 1; planes <= 35; ++planes) {
    Check({.batch = 1, .channels = planes, .multiplier = 1, .width = 9, .kernel = 3, .pad = 1});
    Check({.batch = 3, .channels = planes, .multiplier = 2, .width = 5, .kernel = 5, .pad = 2, .stride = 2});
  }
}

TEST(DepthwiseSmall, EveryWidth) {
  for (int64_t width = 1; width <= kMostSmallPixels; ++width) {
    Check({.batch = 2, .channels = 32, .multiplier = 1, .width = width, .kernel = 3, .pad = 1});
    Check({.batch = 2, .channels = 12, .multiplier = 1, .width = width, .kernel = 7, .pad = 6, .stride = 3, .dilation = 2});
  }
}

TEST(DepthwiseSmall, PlanesOfOnePixelAndTheWidestWindow) {
  for (const int64_t channels : {1, 8, 15, 16, 17, 64}) {
    Check({.batch = 5, .channels = channels, .multiplier = 1, .width = 1, .kernel = 3, .pad = 1});
    Check({.batch = 5, .channels = channels, .multiplier = 3, .width = 1, .kernel = 3, .pad = 1});
    Check({.batch = 2, .channels = channels, .multiplier = 1, .width = 63, .kernel = kMostSmallTaps - 1, .pad = 63});
  }
}

}  // namespace
}  // namespace tessera::cpu
