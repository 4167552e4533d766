#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attributes.h"
#include "model_builder.h"
#include "waves.h"

namespace tessera::testing {
namespace {

struct TransposedCase {
  std::string name;
  std::vector<int64_t> input;
  int64_t outputs, group, kernel, stride, pad;
};

class TransposedBatches : public ::testing::TestWithParam<TransposedCase> {};

Session MakeSession(const TransposedCase& test, int threads) {
  const int64_t channels = test.input[1];
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {-1, channels, test.input[2], test.input[3]})
      .Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  model.Floats("w", {channels, test.outputs, test.kernel, test.kernel},
               Waves(channels * test.outputs * test.kernel * test.kernel, 0.37f));
  model.Floats("b", {test.outputs * test.group}, Waves(test.outputs * test.group, 1.1f));
  auto& node = model.Node("ConvTranspose", {"x", "w", "b"}, {"y"});
  Int(node, "group", test.group);
  Ints(node, "strides", {test.stride, test.stride});
  Ints(node, "pads", {test.pad, test.pad, test.pad, test.pad});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = threads;
  return model.Session(options);
}

std::vector<float> Outputs(const Session& session, const TransposedCase& test, int64_t images,
                           const std::vector<float>& numbers) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Value(Floats({images, test.input[1], test.input[2], test.input[3]}, numbers))}, results);
  return ToVector(results[0]);
}

/// Images that are multiplied together give what each gives alone.
TEST_P(TransposedBatches, GiveWhatImagesGiveAlone) {
  const TransposedCase& test = GetParam();
  const int64_t batch = test.input[0], image = test.input[1] * test.input[2] * test.input[3];
  for (const int threads : {1, 3}) {
    const Session session = MakeSession(test, threads);
    const std::vector<float> all = Waves(batch * image, 0.71f), together = Outputs(session, test, batch, all);
    for (int64_t i = 0; i < batch; ++i) {
      const std::vector<float> alone = Outputs(session, test, 1, {all.begin() + i * image, all.begin() + (i + 1) * image});
      ASSERT_EQ(together.size(), alone.size() * static_cast<size_t>(batch));
      for (size_t j = 0; j < alone.size(); ++j) {
        ASSERT_NEAR(together[static_cast<size_t>(i) * alone.size() + j], alone[j],
                    1e-4f * std::max(1.0f, std::abs(alone[j])))
            << "image " << i << " at " << j;
      }
    }
  }
}

/// Every input pixel's contribution to every output pixel, one by one.
std::vector<double> Spread(const TransposedCase& test, const std::vector<float>& x) {
  const int64_t batch = test.input[0], channels = test.input[1], height = test.input[2], width = test.input[3],
                k = test.kernel;
  const int64_t all = test.outputs * test.group, in_group = channels / test.group;
  const int64_t rows = (height - 1) * test.stride + k - 2 * test.pad,
                columns = (width - 1) * test.stride + k - 2 * test.pad;
  const std::vector<float> w = Waves(channels * test.outputs * k * k, 0.37f), b = Waves(all, 1.1f);
  std::vector<double> y(static_cast<size_t>(batch * all * rows * columns));
  for (size_t i = 0; i < y.size(); ++i) y[i] = b[i / static_cast<size_t>(rows * columns) % static_cast<size_t>(all)];
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t column = at % width, row = at / width % height, c = at / (width * height) % channels,
                  image = at / (width * height * channels);
    for (int64_t j = 0; j < test.outputs * k * k; ++j) {
      const int64_t to_row = row * test.stride + j / k % k - test.pad, to_column = column * test.stride + j % k - test.pad;
      if (to_row < 0 || to_row >= rows || to_column < 0 || to_column >= columns) continue;
      const int64_t output = c / in_group * test.outputs + j / (k * k);
      y[static_cast<size_t>(((image * all + output) * rows + to_row) * columns + to_column)] +=
          double{x[i]} * w[static_cast<size_t>(c * test.outputs * k * k + j)];
    }
  }
  return y;
}

TEST_P(TransposedBatches, GiveWhatTheSumGives) {
  const TransposedCase& test = GetParam();
  const std::vector<float> x = Waves(test.input[0] * test.input[1] * test.input[2] * test.input[3], 0.71f);
  const std::vector<double> expected = Spread(test, x);
  for (const int threads : {1, 3}) {
    const std::vector<float> actual = Outputs(MakeSession(test, threads), test, test.input[0], x);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-4 * std::max(1.0, std::abs(expected[i]))) << i;
  }
}

/// Rows whose phases fill vectors or not, in planes that end with them.
TEST(TransposedRows, OfEveryWidth) {
  for (const int64_t stride : {2, 3, 4, 5}) {
    for (const int64_t kernel : {1, 2, 3, 5, 8}) {
      for (int64_t width = 1; width <= 20; ++width) {
        for (const bool depthwise : {false, true}) {
          const int64_t height = width % 3 + 1, pad = std::min(width + stride + kernel, int64_t{7}) % (kernel / 2 + 1);
          if ((std::min(height, width) - 1) * stride + kernel <= 2 * pad) continue;
          const TransposedCase test{"", {2, 6, height, width}, depthwise ? 1 : 5, depthwise ? 6 : 1, kernel, stride, pad};
          const std::vector<float> x = Waves(12 * height * width, 0.71f);
          const std::vector<double> expected = Spread(test, x);
          const std::vector<float> actual = Outputs(MakeSession(test, 1), test, 2, x);
          ASSERT_EQ(actual.size(), expected.size());
          for (size_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(actual[i], expected[i], 1e-4 * std::max(1.0, std::abs(expected[i])))
                << i << " of width " << width << " kernel " << kernel << " stride " << stride << " pad " << pad;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TransposedBatches,
                         ::testing::Values(TransposedCase{"OnePixel", {4, 20, 1, 1}, 40, 1, 4, 1, 0},
                                           TransposedCase{"Small", {3, 24, 4, 3}, 30, 1, 4, 2, 1},
                                           TransposedCase{"Groups", {3, 24, 5, 5}, 7, 3, 3, 2, 1},
                                           TransposedCase{"Large", {2, 8, 17, 16}, 12, 1, 3, 1, 1},
                                           TransposedCase{"Many", {9, 6, 11, 12}, 5, 1, 3, 2, 0},
                                           TransposedCase{"Pairs", {3, 24, 5, 4}, 9, 1, 2, 2, 0},
                                           TransposedCase{"Thirds", {2, 12, 6, 5}, 10, 1, 5, 3, 1},
                                           TransposedCase{"FewChannels", {3, 2, 6, 6}, 9, 1, 3, 1, 1},
                                           TransposedCase{"DepthwisePairs", {3, 24, 5, 17}, 1, 24, 2, 2, 0},
                                           TransposedCase{"Depthwise", {2, 20, 7, 9}, 1, 20, 3, 2, 1},
                                           TransposedCase{"DepthwiseMultiplied", {2, 12, 6, 6}, 3, 12, 4, 2, 1},
                                           TransposedCase{"TwoChannelsInAGroup", {2, 24, 6, 5}, 1, 12, 3, 2, 1},
                                           TransposedCase{"FewChannelsApart", {2, 2, 5, 40}, 20, 1, 2, 5, 0},
                                           TransposedCase{"Apart", {2, 12, 4, 4}, 33, 1, 2, 4, 0},
                                           TransposedCase{"FarApart", {2, 12, 3, 70}, 5, 1, 3, 10, 0},
                                           TransposedCase{"Quarters", {2, 12, 3, 80}, 7, 1, 5, 4, 1},
                                           TransposedCase{"QuartersApart", {2, 12, 3, 80}, 7, 1, 2, 4, 0}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::testing
