#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

struct Case {
  std::string name;
  std::vector<int64_t> input;
  int64_t outputs, group, kernel, stride, pad;
};

class TransposedBatches : public ::testing::TestWithParam<Case> {};

std::vector<float> Waves(int64_t count, float step) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(std::sin(static_cast<float>(i) * step + 0.3f));
  return numbers;
}

/// Images that are multiplied together give what each gives alone.
TEST_P(TransposedBatches, GiveWhatImagesGiveAlone) {
  const Case& test = GetParam();
  const int64_t batch = test.input[0], channels = test.input[1], image = channels * test.input[2] * test.input[3];
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {-1, channels, test.input[2], test.input[3]}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  model.Floats("w", {channels, test.outputs, test.kernel, test.kernel}, Waves(channels * test.outputs * test.kernel * test.kernel, 0.37f));
  model.Floats("b", {test.outputs * test.group}, Waves(test.outputs * test.group, 1.1f));
  auto& node = model.Node("ConvTranspose", {"x", "w", "b"}, {"y"});
  Int(node, "group", test.group);
  Ints(node, "strides", {test.stride, test.stride});
  Ints(node, "pads", {test.pad, test.pad, test.pad, test.pad});
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    options.intra_op_threads = threads;
    const Session session = model.Session(options);
    const auto run = [&](int64_t images, const std::vector<float>& numbers) {
      std::vector<Value> results(1);
      session.Run(std::vector<Value>{Value(Floats({images, channels, test.input[2], test.input[3]}, numbers))}, results);
      return ToVector(results[0]);
    };
    const std::vector<float> all = Waves(batch * image, 0.71f), together = run(batch, all);
    for (int64_t i = 0; i < batch; ++i) {
      const std::vector<float> alone = run(1, {all.begin() + i * image, all.begin() + (i + 1) * image});
      ASSERT_EQ(together.size(), alone.size() * static_cast<size_t>(batch));
      for (size_t j = 0; j < alone.size(); ++j) {
        ASSERT_NEAR(together[static_cast<size_t>(i) * alone.size() + j], alone[j], 1e-4f * std::max(1.0f, std::abs(alone[j]))) << "image " << i << " at " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TransposedBatches,
                         ::testing::Values(Case{"OnePixel", {4, 20, 1, 1}, 40, 1, 4, 1, 0}, Case{"Small", {3, 24, 4, 3}, 30, 1, 4, 2, 1},
                                           Case{"Groups", {3, 24, 5, 5}, 7, 3, 3, 2, 1}, Case{"Large", {2, 8, 17, 16}, 12, 1, 3, 1, 1},
                                           Case{"Many", {9, 6, 11, 12}, 5, 1, 3, 2, 0}, Case{"FewChannels", {3, 2, 6, 6}, 9, 1, 3, 1, 1}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::testing
