// Poolings of planes of few pixels, on each instruction set that this processor has.

#include "kernels/pool/tiny_planes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attributes.h"
#include "guarded.h"
#include "model_builder.h"
#include "on_each_target.h"

namespace tessera::testing {
namespace {

using cpu::PoolFinish;
using cpu::PoolKind;

class TinyPlanes : public TestOfTarget {};

INSTANTIATE_TEST_SUITE_P(On, TinyPlanes, EachTarget(), NameOfTarget);

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
  Shape image;
  std::vector<int64_t> kernel, strides, pads;
};

/// The index along each axis of the flat index `i`.
Shape IndexOf(int64_t i, std::span<const int64_t> sizes) {
  Shape index(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; i /= sizes[axis]) index[axis] = i % sizes[axis];
  return index;
}

/// A maximum, NaN where an element is, or a mean of what a window has of its plane.
float PooledAt(const SmallPool& pool, bool is_max, const float* plane, const Shape& output) {
  double sum = 0, most = -kInfinity;
  int64_t count = 0;
  const Shape kernel{std::span<const int64_t>(pool.kernel)};
  for (int64_t k = 0; k < kernel.num_elements(); ++k) {
    const Shape tap = IndexOf(k, pool.kernel);
    int64_t at = 0;
    for (size_t i = 0; i < kernel.rank() && at >= 0; ++i) {
      const int64_t along = output[i] * pool.strides[i] - pool.pads[i] + tap[i];
      at = along < 0 || along >= pool.image[i] ? -1 : at * pool.image[i] + along;
    }
    if (at < 0) continue;
    const double value = plane[at];
    sum += value;
    most = std::isnan(value) || std::isnan(most) ? std::nan("") : std::max(most, value);
    ++count;
  }
  return static_cast<float>(is_max ? most : sum / static_cast<double>(std::max<int64_t>(count, 1)));
}

/// Whichever way the planes go, the result is the definition's.
void ExpectDefinition(const SmallPool& pool, bool is_max, bool ceil, int64_t planes) {
  ModelBuilder model;
  const size_t rank = pool.image.rank();
  std::vector<int64_t> dims = {1, planes};
  dims.insert(dims.end(), pool.image.begin(), pool.image.end());
  model.Input("x", ElementType::kFloat, dims).AnyOutput("y", ElementType::kFloat);
  auto& node = model.Node(is_max ? "MaxPool" : "AveragePool", {"x"}, {"y"});
  Ints(Ints(Ints(node, "kernel_shape", pool.kernel), "strides", pool.strides), "pads", pool.pads);
  Int(node, "ceil_mode", ceil ? 1 : 0);
  std::mt19937 random(static_cast<unsigned>(planes));
  const std::vector<float> x = Elements(static_cast<size_t>(planes * pool.image.num_elements()), random);
  const auto found = model.Session().Run(std::vector<std::string>{"x"}, std::vector<Value>{Floats(dims, x)});
  const Shape& shape = found[0].tensor().shape();
  const std::vector<float> y = ToVector(found[0]);
  const auto outputs = shape.dims().subspan(2);
  const int64_t of_plane = shape.SizeOfRange(2, 2 + rank);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const float* plane = x.data() + i / of_plane * pool.image.num_elements();
    const float expected = PooledAt(pool, is_max, plane, IndexOf(i % of_plane, outputs)),
                result = y[static_cast<size_t>(i)];
    const bool same = std::isnan(expected) ? std::isnan(result) : result == expected || std::abs(result - expected) < 1e-6f;
    ASSERT_TRUE(same) << result << " for " << expected << " at " << i << " of " << planes << " planes";
  }
}

void ExpectDefinitions(std::initializer_list<int64_t> counts, std::initializer_list<SmallPool> pools) {
  for (const SmallPool& pool : pools) {
    for (const bool is_max : {true, false}) {
      for (const bool ceil : {true, false}) {
        for (const int64_t planes : counts) ExpectDefinition(pool, is_max, ceil, planes);
      }
    }
  }
}

TEST_P(TinyPlanes, AreThoseOfTheDefinition) {
  // So many planes that their taps may be many.
  ExpectDefinitions({1, 17, 804}, {{{4, 4}, {5, 5}, {2, 2}, {2, 2, 2, 2}},
                                   {{5, 5}, {2, 1}, {1, 1}, {0, 0, 0, 0}},
                                   {{3, 3}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                                   {{1, 25}, {1, 2}, {1, 1}, {0, 0, 0, 0}},
                                   {{4, 4}, {3, 3}, {2, 2}, {0, 0, 1, 1}},
                                   {{2, 1}, {2, 2}, {1, 2}, {1, 0, 0, 1}},
                                   {{7, 7}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                                   {{6, 6}, {3, 3}, {1, 1}, {0, 0, 0, 0}},
                                   {{1, 17}, {1, 9}, {1, 4}, {0, 4, 0, 4}},
                                   {{8, 8}, {2, 2}, {3, 3}, {0, 0, 0, 0}},
                                   {{50}, {3}, {4}, {0, 0}},
                                   {{7}, {5}, {2}, {1, 2}}});
}

TEST_P(TinyPlanes, AndWhereWindowsHaveOneRowOrColumn) {
  ExpectDefinitions({1, 3, 18}, {{{2, 70}, {1, 3}, {1, 1}, {0, 0, 0, 0}},
                                 {{3, 45}, {1, 2}, {1, 1}, {0, 0, 0, 1}},
                                 {{2, 9}, {1, 3}, {1, 1}, {0, 0, 0, 0}},
                                 {{120}, {5}, {1}, {0, 0}},
                                 {{10, 10}, {2, 1}, {1, 1}, {0, 0, 0, 0}},
                                 {{12, 11}, {3, 1}, {1, 1}, {1, 0, 1, 0}},
                                 {{12, 3}, {5, 1}, {1, 1}, {0, 0, 0, 0}},
                                 {{9, 33}, {2, 1}, {1, 2}, {0, 0, 0, 0}},
                                 {{9, 33}, {2, 1}, {2, 1}, {0, 0, 0, 0}}});
}

TEST_P(TinyPlanes, AndOfMoreAxes) {
  ExpectDefinitions({1, 17, 36}, {{{8, 8, 8}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
                                  {{5, 7, 9}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1, 1, 1, 1}},
                                  {{4, 6, 6}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},  // slices as planes
                                  {{4, 6, 6}, {1, 3, 3}, {2, 1, 1}, {0, 1, 1, 0, 1, 1}},  // some of the slices
                                  {{4, 6, 6}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0, 0, 0, 0}},
                                  {{2, 5, 17}, {4, 2, 3}, {3, 2, 3}, {3, 0, 1, 3, 1, 1}},
                                  {{3, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0, 1, 0, 0}},
                                  {{3, 2, 4, 5}, {1, 2, 2, 3}, {1, 1, 2, 1}, {0, 0, 0, 0, 0, 0, 0, 0}},
                                  {{3, 2, 4, 5}, {2, 1, 2, 3}, {1, 1, 1, 1}, {1, 0, 0, 1, 0, 0, 1, 1}}});
}

TEST_P(TinyPlanes, AndOfWholePlanes) {
  std::mt19937 random(4);
  for (const bool is_max : {true, false}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {-1, -1, -1}).Output("y", ElementType::kFloat, {-1, -1, 1});
    model.Node(is_max ? "GlobalMaxPool" : "GlobalAveragePool", {"x"}, {"y"});
    const Session session = model.Session();
    for (int64_t size = 1; size <= 70; ++size) {
      for (const int64_t planes : {3, 16, 45}) {
        const std::vector<float> x = Elements(static_cast<size_t>(planes * size), random);
        const auto y =
            ToVector(session.Run(std::vector<std::string>{"x"}, std::vector<Value>{Floats({1, planes, size}, x)})[0]);
        const SmallPool pool{{size}, {size}, {1}, {0, 0}};
        for (int64_t p = 0; p < planes; ++p) {
          const float expected = PooledAt(pool, is_max, x.data() + p * size, {0}), found = y[static_cast<size_t>(p)];
          const bool same =
              std::isnan(expected) ? std::isnan(found) : found == expected || std::abs(found - expected) < 1e-6f;
          ASSERT_TRUE(same) << found << " for " << expected << " at " << p << " of " << planes << " planes of " << size;
        }
      }
    }
  }
}

TEST_P(TinyPlanes, MaximaOfSlices) {
  std::mt19937 random(3);
  for (const int64_t count : {0, 1, 2, 5}) {
    for (int64_t size = 1; size < 40; ++size) {
      std::vector<std::vector<float>> slices;
      for (int64_t s = 0; s < count; ++s) slices.push_back(Elements(static_cast<size_t>(size), random));
      std::vector<const float*> pointers;
      for (const auto& slice : slices) pointers.push_back(slice.data());
      const Guarded<float> out(static_cast<size_t>(size));
      cpu::MaxOfSlices(pointers.data(), count, size, out.data());
      for (int64_t i = 0; i < size; ++i) {
        float expected = -kInfinity;
        for (const auto& slice : slices) {
          const float x = slice[static_cast<size_t>(i)];
          expected = std::isnan(x) || std::isnan(expected) ? std::nanf("") : std::max(expected, x);
        }
        ASSERT_TRUE(out.data()[i] == expected || (std::isnan(expected) && std::isnan(out.data()[i])))
            << i << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
