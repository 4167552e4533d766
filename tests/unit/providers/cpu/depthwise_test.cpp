// Depthwise convolution of images against its definition, at every width around the vectors', with all pads that fit.

#include "kernels/conv/depthwise/depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tessera::cpu {
namespace {

std::vector<float> Random(int64_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = uniform(random);
  return numbers;
}

float PixelOf(const DepthwiseShape& s, const float* plane, const float* kernel, int64_t y, int64_t x) {
  double sum = 0;
  for (int64_t ky = 0; ky < s.kernel; ++ky) {
    for (int64_t kx = 0; kx < s.kernel; ++kx) {
      const int64_t row = y * s.stride - s.pad_top + ky, column = x * s.stride - s.pad_left + kx;
      if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
      sum += double{plane[row * s.width + column]} * kernel[ky * s.kernel + kx];
    }
  }
  return static_cast<float>(sum);
}

void Check(const DepthwiseShape& s, int64_t planes) {
  ASSERT_TRUE(SuitsDepthwise(s));
  const int64_t pixels = s.output_height * s.output_width, outputs = s.channels * s.multiplier, area = s.kernel * s.kernel;
  // Buffers that end with their last element: sanitizers see what is read behind it.
  const std::vector<float> input = Random(planes * s.height * s.width), weights = Random(outputs * area),
                           bias = Random(outputs);
  std::vector<float> output(static_cast<size_t>(planes * s.multiplier * pixels), -9.0f);
  const int64_t half = planes / 2;
  const DepthwiseTensors tensors{input.data(), weights.data(), output.data(), {.bias = bias.data()}};
  ConvolveDepthwise(s, tensors, 0, half);
  ConvolveDepthwise(s, tensors, half, planes);
  for (int64_t i = 0; i < planes * s.multiplier; ++i) {
    const int64_t channel = i % outputs;
    for (int64_t p = 0; p < pixels; ++p) {
      const float expected = bias[static_cast<size_t>(channel)] +
                             PixelOf(s, input.data() + i / s.multiplier * s.height * s.width,
                                     weights.data() + channel * area, p / s.output_width, p % s.output_width);
      ASSERT_NEAR(output[static_cast<size_t>(i * pixels + p)], expected, 1e-5)
          << "kernel " << s.kernel << " stride " << s.stride << " width " << s.width << " pads " << s.pad_top << ", "
          << s.pad_left << " plane " << i << " pixel " << p;
    }
  }
}

DepthwiseShape ShapeOf(int64_t kernel, int64_t stride, int64_t height, int64_t width, int64_t pad_top, int64_t pad_left,
                       int64_t pad_end) {
  return {3,
          1,
          height,
          width,
          (height + pad_top + pad_end - kernel) / stride + 1,
          (width + pad_left + pad_end - kernel) / stride + 1,
          pad_top,
          pad_left,
          kernel,
          stride};
}

TEST(Depthwise, ComputesEveryWidth) {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (int64_t width = kernel; width <= 40; ++width)
        Check(ShapeOf(kernel, stride, 6 + width % 5, width, kernel / 2, kernel / 2, kernel / 2), 6);
    }
  }
}

TEST(Depthwise, ComputesEveryPadding) {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t width : {1, 2, 7, 16, 17, 33, 34}) {
        for (int64_t left = 0; left < kernel; ++left) {
          for (int64_t behind = 0; behind < 2 * kernel; ++behind) {
            if (width + left + behind >= kernel)
              Check(ShapeOf(kernel, stride, 5, width, (left + 1) % kernel, left, behind), 3);
          }
        }
      }
    }
  }
}

TEST(Depthwise, ComputesImagesInBandsAndSeveralOutputsOfAPlane) {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      DepthwiseShape shape = ShapeOf(kernel, stride, 131, 150, 1, 1, 1);  // more than a band
      Check(shape, 3);
      shape = ShapeOf(kernel, stride, 12, 19, 1, 2, 0);
      shape.multiplier = 2;
      Check(shape, 6);
    }
  }
}

// Enough planes that vectors may have one pixel of several; calls begin and end inside a batch, and with parts of a vector.
TEST(Depthwise, ComputesManyPlanes) {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (int64_t width = 1; width <= 33; ++width) {
        DepthwiseShape shape =
            ShapeOf(kernel, stride, 4 + width % 5, width, (width + 1) % kernel, width % kernel, kernel - 1);
        shape.channels = 19;
        Check(shape, 38);
        shape.channels = 5;
        shape.multiplier = 2;
        Check(shape, 30);
      }
    }
  }
}

TEST(Depthwise, ComputesManyPlanesInBands) {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t width : {40, 56, 110}) {
        DepthwiseShape shape = ShapeOf(kernel, stride, 50, width, 1, 1, 2);
        shape.channels = 16;
        Check(shape, 32);
        shape.multiplier = 3;
        Check(shape, 16);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
