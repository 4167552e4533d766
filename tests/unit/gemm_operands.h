#pragma once

// Operands of a GEMM for one row of kernels.inc: small whole numbers, whose products and sums every type holds exactly.

#include <random>
#include <type_traits>
#include <vector>

#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_int8.h"
#include "kernels/gemm/gemm_kernels.h"

namespace tessera::cpu {

/// The row of that name for the best instruction set here; null: it has none.
template <class Lhs, class T>
const GemmKernel<T>* KernelNamed(std::string_view name) {
  GemmKernelRows<T> rows;
  if constexpr (std::is_same_v<T, int32_t>) rows = GemmKernelsInt32();
  else if constexpr (std::is_same_v<T, double>) rows = GemmKernelsF64().rows;
  else if constexpr (std::is_same_v<Lhs, BFloat16>) rows = GemmKernelsBf16();
  else rows = GemmKernelsF32().rows;
  for (const GemmKernel<T>& row : rows) {
    if (row.name == name) return row.available ? &row : nullptr;
  }
  return nullptr;
}

template <class T>
std::vector<T> SmallNumbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T& number : numbers) number = static_cast<T>(static_cast<int>(random() % 17) - 8);
  return numbers;
}

/// A as it is read, and B in panels.
template <class Lhs, class Rhs, class T>
class GemmOperands {
  using Number = std::conditional_t<std::is_same_v<T, int32_t>, int8_t, T>;

 public:
  GemmOperands(ThreadPool& threads, PanelType panels, int64_t m, int64_t n, int64_t k)
      : a(SmallNumbers<Number>(m * k, 1)), b(SmallNumbers<Number>(k * n, 2)), c(static_cast<size_t>(m * n)) {
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.out = {.data = c.data(), .row = n};
    SetLhs();
    Pack(threads);
    problem.rhs = {.packed = packed_.data(), .type = panels};
  }

  std::vector<Number> a, b;  // row after row
  std::vector<T> c;
  GemmProblem<T> problem;

 private:
  void SetLhs() {
    const int64_t m = problem.m, k = problem.k;
    if constexpr (std::is_same_v<Lhs, BFloat16>) {
      lhs_.resize(static_cast<size_t>(m * PairedSize(k)));
      RoundToPairs(a.data(), m, k, lhs_.data());
      problem.lhs.pairs = lhs_.data();
    } else if constexpr (std::is_same_v<Lhs, int16_t>) {
      const int32_t zero = 0;
      lhs_.resize(static_cast<size_t>(m * 2 * Pairs(k)));
      WidenRows(a.data(), true, m, k, k, &zero, 0, lhs_.data());
      problem.lhs = {.data = lhs_.data(), .row = 2 * Pairs(k)};
    } else {
      problem.lhs = {.data = a.data(), .row = k};
    }
  }

  void Pack(ThreadPool& threads) {
    const int64_t n = problem.n, k = problem.k;
    if constexpr (std::is_same_v<T, int32_t>) {
      packed_.resize(PackedInt8Size(k, n));
      const auto* bytes = reinterpret_cast<const uint8_t*>(b.data());
      if constexpr (std::is_same_v<Rhs, int8_t>) PackNarrowInt8(threads, k, n, bytes, true, packed_.data());
      else PackInt8(threads, k, n, Source(bytes, n), packed_.data());
    } else if constexpr (std::is_same_v<Lhs, BFloat16>) {
      packed_.resize(PackedGemmBf16Size(k, n));
      const int64_t width = GemmPanelWidth<float>();
      for (int64_t j = 0; j < n; j += width)
        PackGemmBf16Panel(b.data() + j, n, false, k, std::min(width, n - j), packed_.data() + j * PairedSize(k));
    } else {
      std::vector<T> whole(PackedGemmBSize<T>(k, n));
      PackGemmB<T>(threads, k, n, b.data(), n, 1, whole.data());
      packed_.resize(whole.size());
      if constexpr (std::is_same_v<Rhs, T>) {
        packed_ = whole;
      } else {
        NarrowGemmPanel(std::is_same_v<Rhs, Float16> ? PanelType::kFloat16 : PanelType::kBFloat16, whole.data(),
                        static_cast<int64_t>(whole.size()) / GemmPanelWidth<float>(),
                        reinterpret_cast<uint16_t*>(packed_.data()));
      }
    }
  }

  /// Panels of pairs of a row-major B.
  class Source final : public GemmPanelSource<int16_t> {
   public:
    Source(const uint8_t* b, int64_t n) : b_(b), n_(n) {}
    void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, int16_t* out) const override {
      const int32_t zero = 0;
      InterleavePairs(b_ + k0 * n_ + n0, true, n_, kc, width, &zero, 0, out);
    }

   private:
    const uint8_t* b_;
    int64_t n_;
  };

  std::vector<Lhs> lhs_;
  std::vector<Rhs> packed_;
};

}  // namespace tessera::cpu
