// Constant matrices take 16 bits where their numbers need no more, and matmuls do not tell the difference.

#include "cpu/ops/nn/packed_matrices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "random_numbers.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

enum class Numbers { kFloat16, kBFloat16, kFloat };

std::vector<float> Make(Numbers numbers, int64_t count) {
  std::vector<float> values = testing::Random(static_cast<size_t>(count), 7);
  for (float& value : values) {
    if (numbers == Numbers::kFloat16) value = static_cast<float>(Float16(value));
    if (numbers == Numbers::kBFloat16) value = static_cast<float>(BFloat16(value));
  }
  return values;
}

/// One byte off, as in a file.
template <class T>
Tensor Misaligned(ElementType type, const Shape& shape, const std::vector<float>& values) {
  const size_t bytes = values.size() * sizeof(T);
  const std::shared_ptr<char> owner(new char[bytes + 1], std::default_delete<char[]>());
  for (size_t i = 0; i < values.size(); ++i) {
    const T value(values[i]);
    std::memcpy(owner.get() + 1 + i * sizeof(T), &value, sizeof(T));
  }
  return Tensor::ShareUnaligned(type, shape, owner.get() + 1, owner);
}

/// The matmul of some numbers with one of the matrices, by doubles and by the panels.
void CheckMatMul(ThreadPool& threads, const PackedMatrices& packed, const std::vector<float>& b, int64_t matrix, int64_t m,
                 int64_t k, int64_t n, bool transposed) {
  const std::vector<float> a = testing::Random(static_cast<size_t>(m * k), 11);
  std::vector<float> c(static_cast<size_t>(m * n), -1);
  GemmProblem<float> args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.lhs = {.data = a.data(), .row = k};
  args.out = {.data = c.data(), .row = n};
  args.rhs = packed.Rhs<float>(matrix);
  Gemm<float>(threads, args);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const size_t at = static_cast<size_t>(matrix * k * n + (transposed ? j * k + p : p * n + j));
        sum += static_cast<double>(a[static_cast<size_t>(i * k + p)]) * static_cast<double>(b[at]);
      }
      ASSERT_NEAR(c[static_cast<size_t>(i * n + j)], sum, 1e-6 * static_cast<double>(k + 8)) << i << ", " << j;
    }
  }
}

TEST(PackedMatrices, TakeTheNarrowestTypeThatHoldsTheirNumbers) {
  const auto threads = MakeWorkerPool(2, true);
  const bool float16 = HasGemmPanels(PanelType::kFloat16);
  const ElementType expected[] = {float16 ? ElementType::kFloat16 : ElementType::kFloat, ElementType::kBFloat16,
                                  ElementType::kFloat};
  for (const Numbers numbers : {Numbers::kFloat16, Numbers::kBFloat16, Numbers::kFloat}) {
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{150, 90}, {1, 5}, {9, 16}, {331, 1}}) {
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(::testing::Message() << static_cast<int>(numbers) << ", " << k << " by " << n << ", transposed "
                                          << transposed);
        constexpr int64_t kCount = 2;
        const std::vector<float> b = Make(numbers, kCount * k * n);
        const Shape shape{kCount, transposed ? n : k, transposed ? k : n};
        const Tensor panels =
            PackAsPanels(*threads, Misaligned<float>(ElementType::kFloat, shape, b), kCount, k, n, transposed);
        EXPECT_EQ(panels.type(), expected[static_cast<int>(numbers)]);
        for (const int64_t m : {1, 4, 40}) {
          CheckMatMul(*threads, PackedMatrices(std::make_shared<Tensor>(panels)), b, kCount - 1, m, k, n, transposed);
        }
      }
    }
  }
}

TEST(PackedMatrices, OneNumberThatNeedsMoreIsEnough) {
  const auto threads = MakeWorkerPool(2, true);
  constexpr int64_t kK = 70, kN = 130;
  for (const float number : {1.0f / 3, 1e-9f, 70000.5f}) {
    std::vector<float> b = Make(Numbers::kFloat16, kK * kN);
    b.back() = number;
    const Tensor panels = PackAsPanels(*threads, Misaligned<float>(ElementType::kFloat, {1, kK, kN}, b), 1, kK, kN, false);
    EXPECT_EQ(panels.type(), ElementType::kFloat) << number;
  }
}

TEST(PackedMatrices, HalvesStayHalves) {
  const auto threads = MakeWorkerPool(2, true);
  constexpr int64_t kK = 301, kN = 75;
  for (const bool transposed : {false, true}) {
    const Shape shape = transposed ? Shape{1, kN, kK} : Shape{1, kK, kN};
    for (const Numbers numbers : {Numbers::kFloat16, Numbers::kBFloat16}) {
      const std::vector<float> b = Make(numbers, kK * kN);
      const Tensor halves = numbers == Numbers::kFloat16 ? Misaligned<Float16>(ElementType::kFloat16, shape, b)
                                                         : Misaligned<BFloat16>(ElementType::kBFloat16, shape, b);
      const Tensor panels = PackAsPanels(*threads, halves, 1, kK, kN, transposed);
      const bool whole = numbers == Numbers::kFloat16 && !HasGemmPanels(PanelType::kFloat16);
      EXPECT_EQ(panels.type(), whole ? ElementType::kFloat : halves.type());
      for (const int64_t m : {1, 40}) {
        CheckMatMul(*threads, PackedMatrices(std::make_shared<Tensor>(panels)), b, 0, m, kK, kN, transposed);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
