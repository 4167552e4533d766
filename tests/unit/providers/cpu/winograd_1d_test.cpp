#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attributes.h"
#include "kernels/conv/choose/choose.h"
#include "model_builder.h"
#include "waves.h"

namespace tessera::testing {
namespace {

struct Winograd1dCase {
  std::string name;
  int64_t batch, channels, outputs, length;
  int64_t dilation, begin, end;  // padding before and after
  bool known;                    // the length, when the session is made
};

/// Of `pixels` outputs, without padding.
bool TakesWinograd(int64_t batch, int64_t channels, int64_t outputs, int64_t pixels, int64_t dilation) {
  const Window window{{pixels + 2 * dilation}, {pixels}, {3}, {1}, {dilation}, {0}, {0}};
  const cpu::ConvProblem problem{.batch = batch, .channels = channels, .outputs = outputs, .window = window};
  return RankConvAlgorithms(problem).front().algorithm == cpu::ConvAlgorithm::kWinograd;
}

class Winograd1dTest : public ::testing::TestWithParam<Winograd1dCase> {};

std::vector<double> Convolve(const Winograd1dCase& test, const std::vector<float>& x, const std::vector<float>& w,
                             const std::vector<float>& b) {
  const int64_t pixels = test.length + test.begin + test.end - 2 * test.dilation;
  std::vector<double> y;
  for (int64_t row = 0; row < test.batch * test.outputs; ++row) {
    const int64_t image = row / test.outputs, output = row % test.outputs;
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      double sum = b[static_cast<size_t>(output)];
      for (int64_t tap = 0; tap < 3; ++tap) {
        const int64_t from = pixel + tap * test.dilation - test.begin;
        if (from < 0 || from >= test.length) continue;
        const float* column = x.data() + image * test.channels * test.length + from;
        const float* weights = w.data() + output * test.channels * 3 + tap;
        for (int64_t c = 0; c < test.channels; ++c) sum += double{column[c * test.length]} * weights[c * 3];
      }
      y.push_back(std::max(sum, 0.0));
    }
  }
  return y;
}

TEST_P(Winograd1dTest, GiveWhatTheSumGives) {
  const Winograd1dCase& test = GetParam();
  const int64_t pixels = test.length + test.begin + test.end - 2 * test.dilation;
  ASSERT_TRUE(TakesWinograd(test.batch, test.channels, test.outputs, pixels, test.dilation));
  const std::vector<float> x = Waves(test.batch * test.channels * test.length, 0.71f);
  const std::vector<float> w = Waves(test.outputs * test.channels * 3, 0.37f), b = Waves(test.outputs, 1.1f);
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {-1, test.channels, test.known ? test.length : -1})
      .Output("y", ElementType::kFloat, {-1, -1, -1});
  model.Floats("w", {test.outputs, test.channels, 3}, w);
  model.Floats("b", {test.outputs}, b);
  auto& node = model.Node("Conv", {"x", "w", "b"}, {"sums"});
  Ints(node, "pads", {test.begin, test.end});
  Ints(node, "dilations", {test.dilation});
  model.Node("Relu", {"sums"}, {"y"});
  const std::vector<double> expected = Convolve(test, x, w, b);
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    options.intra_op_threads = threads;
    const Session session = model.Session(options);
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Value(Floats({test.batch, test.channels, test.length}, x))}, results);
    const std::vector<float> actual = ToVector(results[0]);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], 2e-5 * std::max(1.0, std::abs(expected[i])))
          << "pixel " << i << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lines, Winograd1dTest,
                         ::testing::Values(Winograd1dCase{"Neighbours", 1, 64, 72, 400, 1, 1, 1, true},
                                           Winograd1dCase{"NoPadding", 2, 64, 65, 403, 1, 0, 0, true},
                                           Winograd1dCase{"Causal", 1, 65, 64, 401, 1, 2, 0, false},
                                           Winograd1dCase{"WidePadding", 1, 64, 64, 397, 1, 9, 30, true},
                                           Winograd1dCase{"TwoApart", 1, 64, 64, 398, 2, 2, 2, true},
                                           Winograd1dCase{"ThreeApart", 2, 64, 64, 410, 3, 3, 2, false},
                                           Winograd1dCase{"SevenApart", 1, 64, 72, 433, 7, 14, 0, true},
                                           Winograd1dCase{"EightApart", 1, 64, 64, 480, 8, 8, 8, true},
                                           Winograd1dCase{"ThirteenApart", 1, 64, 80, 463, 13, 13, 13, true},
                                           Winograd1dCase{"FarApart", 1, 64, 64, 480, 60, 60, 60, false},
                                           Winograd1dCase{"OneTileEach", 1, 96, 64, 400, 100, 100, 100, true},
                                           Winograd1dCase{"ManyBlocks", 1, 64, 64, 2100, 4, 4, 4, true}),
                         [](const auto& info) { return info.param.name; });

/// Tiles of few pixels take as many products as the pixels do, or more.
TEST(WinogradLinePaysTest, NotForFewPixelsOrChannels) {
  EXPECT_TRUE(TakesWinograd(1, 128, 128, 1000, 1));
  EXPECT_FALSE(TakesWinograd(1, 128, 128, 1000, 900));
  EXPECT_FALSE(TakesWinograd(1, 128, 128, 0, 1));
  EXPECT_FALSE(TakesWinograd(1, 128, 128, 4, 1));
  EXPECT_FALSE(TakesWinograd(1, 8, 128, 1000, 1));
}

}  // namespace
}  // namespace tessera::testing
