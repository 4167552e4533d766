// Poolings of planes of few pixels, on each instruction set that this processor has.

#include "kernels/pool/tiny_planes.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attributes.h"
#include "guarded.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using cpu::PoolFinish;
using cpu::PoolKind;

class TinyPlanes : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { Choose(GetParam()); }
  void TearDown() override { Choose(0); }

 private:
  static void Choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

INSTANTIATE_TEST_SUITE_P(On, TinyPlanes, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Numbers, and now and then what is none.
std::vector<float> Elements(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<float> values(count);
  for (float& value : values) value = number(random);
  if (random() % 2 == 0) values[random() % count] = std::nanf("");
  if (random() % 3 == 0) values[random() % count] = -kInfinity;
  if (random() % 3 == 0) values[random() % count] = kInfinity;
  return values;
}

/// The windows of a plane: `outputs` of them with up to nine taps, some without any.
struct Windows {
  Windows(int64_t size, int64_t outputs, std::mt19937& random) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (size_t n = random() % 10; n > 0; --n)
        taps.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(size)));
      ends.push_back(static_cast<int32_t>(taps.size()));
      counts.push_back(static_cast<float>(1 + random() % 9));
    }
  }
  std::vector<int32_t> taps, ends;
  std::vector<float> counts;
};

float Expected(const cpu::TinyPlanes& tiny, const float* plane, size_t o) {
  const bool is_max = tiny.kind == PoolKind::kMax;
  float result = is_max ? -kInfinity : 0;
  for (int32_t t = o == 0 ? 0 : tiny.ends[o - 1]; t < tiny.ends[o]; ++t) {
    const float x = plane[tiny.taps[static_cast<size_t>(t)]];
    if (is_max) {
      result = std::isnan(result) || std::isnan(x) ? std::nanf("") : std::max(result, x);
    } else {
      result += tiny.kind == PoolKind::kSum ? x : tiny.kind == PoolKind::kSumOfAbs ? std::abs(x) : x * x;
    }
  }
  if (tiny.finish == PoolFinish::kDivide) return result / tiny.counts[o];
  return tiny.finish == PoolFinish::kSquareRoot ? std::sqrt(result) : result;
}

void ExpectPooled(PoolKind kind, PoolFinish finish, int64_t planes, int64_t size, int64_t outputs, std::mt19937& random) {
  const Windows windows(size, outputs, random);
  const cpu::TinyPlanes tiny{kind, finish, size, windows.taps, windows.ends, windows.counts.data()};
  const Guarded<float> in(Elements(static_cast<size_t>(planes * size), random)), out(static_cast<size_t>(planes * outputs));
  cpu::PoolTinyPlanes(tiny, planes, in.data(), out.data());
  for (int64_t i = 0; i < planes * outputs; ++i) {
    const float expected = Expected(tiny, in.data() + i / outputs * size, static_cast<size_t>(i % outputs));
    const float found = out.data()[i];
    const bool same = std::isnan(expected) ? std::isnan(found)
                                           : found == expected || std::abs(found - expected) <= 1e-5f * std::abs(expected);
    ASSERT_TRUE(same) << found << " for " << expected << " at " << i << " of " << planes << " planes of " << size << ", "
                      << outputs << " outputs";
  }
}

TEST_P(TinyPlanes, OfEverySize) {
  std::mt19937 random(5);
  for (const auto& [kind, finish] :
       {std::pair{PoolKind::kMax, PoolFinish::kNone}, std::pair{PoolKind::kSum, PoolFinish::kDivide},
        std::pair{PoolKind::kSumOfAbs, PoolFinish::kNone}, std::pair{PoolKind::kSumOfSquares, PoolFinish::kSquareRoot}}) {
    for (int64_t size = 1; size <= cpu::kMostOfTinyPlane; ++size) {
      for (const int64_t planes : {1, 3, 16, 17, 35})
        ExpectPooled(kind, finish, planes, size, 1 + (size * 7) % cpu::kMostOfTinyPlane, random);
    }
    for (int64_t outputs = 1; outputs <= cpu::kMostOfTinyPlane; ++outputs)
      ExpectPooled(kind, finish, 40, 9, outputs, random);
  }
}

struct SmallPool {
  int64_t height, width;
  std::vector<int64_t> kernel, strides, pads;
};

/// A maximum or a mean of what a window has of its plane.
float PooledAt(const SmallPool& pool, bool is_max, const float* plane, int64_t y, int64_t x) {
  double sum = 0, most = -kInfinity;
  int64_t count = 0;
  for (int64_t i = 0; i < pool.kernel[0]; ++i) {
    for (int64_t j = 0; j < pool.kernel[1]; ++j) {
      const int64_t row = y * pool.strides[0] - pool.pads[0] + i, column = x * pool.strides[1] - pool.pads[1] + j;
      if (row < 0 || row >= pool.height || column < 0 || column >= pool.width) continue;
      const double value = plane[row * pool.width + column];
      sum += value;
      most = std::max(most, value);
      ++count;
    }
  }
  return static_cast<float>(is_max ? most : sum / static_cast<double>(std::max<int64_t>(count, 1)));
}

/// Whichever way the planes go, the result is the definition's.
void ExpectDefinition(const SmallPool& pool, bool is_max, bool ceil, int64_t planes) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1, -1, -1}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  auto& node = model.Node(is_max ? "MaxPool" : "AveragePool", {"x"}, {"y"});
  Ints(Ints(Ints(node, "kernel_shape", pool.kernel), "strides", pool.strides), "pads", pool.pads);
  Int(node, "ceil_mode", ceil ? 1 : 0);
  std::mt19937 random(static_cast<unsigned>(planes));
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<float> x(static_cast<size_t>(planes * pool.height * pool.width));
  for (float& value : x) value = number(random);
  const std::vector<Value> found = model.Session().Run(std::vector<std::string>{"x"},
                                                       std::vector<Value>{Floats({1, planes, pool.height, pool.width}, x)});
  const Shape& shape = found[0].tensor().shape();
  const std::vector<float> y = ToVector(found[0]);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int64_t plane = i / (shape[2] * shape[3]);
    const float expected =
        PooledAt(pool, is_max, x.data() + plane * pool.height * pool.width, i / shape[3] % shape[2], i % shape[3]);
    ASSERT_NEAR(y[static_cast<size_t>(i)], expected, 1e-6) << i << " of " << planes << " planes";
  }
}

TEST_P(TinyPlanes, AreThoseOfTheDefinition) {
  for (const SmallPool& pool :
       {SmallPool{4, 4, {5, 5}, {2, 2}, {2, 2, 2, 2}}, SmallPool{5, 5, {2, 1}, {1, 1}, {0, 0, 0, 0}},
        SmallPool{3, 3, {3, 3}, {1, 1}, {1, 1, 1, 1}}, SmallPool{1, 25, {1, 2}, {1, 1}, {0, 0, 0, 0}},
        SmallPool{4, 4, {3, 3}, {2, 2}, {0, 0, 1, 1}}, SmallPool{2, 1, {2, 2}, {1, 2}, {1, 0, 0, 1}},
        SmallPool{7, 7, {3, 3}, {2, 2}, {1, 1, 1, 1}}, SmallPool{6, 6, {3, 3}, {1, 1}, {0, 0, 0, 0}},
        SmallPool{1, 17, {1, 9}, {1, 4}, {0, 4, 0, 4}}, SmallPool{8, 8, {2, 2}, {3, 3}, {0, 0, 0, 0}}}) {
    for (const bool is_max : {true, false}) {
      for (const bool ceil : {true, false}) {
        for (const int64_t planes : {1, 16, 37, 900}) ExpectDefinition(pool, is_max, ceil, planes);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
