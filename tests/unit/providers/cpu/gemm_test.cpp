// GEMM beside a plain one: sizes around the edges of tiles and blocks, strides of A, kinds of B, epilogues,
// on every instruction set of this machine.

#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "on_each_target.h"
#include "random_numbers.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

enum class Order { kRows, kColumns, kNeither, kBoth };  // what lies side by side in A; both: rows overlap
enum class Right { kPacked, kRows, kColumns, kSource, kFloat16, kBFloat16 };

bool IsNarrow(Right right) { return right == Right::kFloat16 || right == Right::kBFloat16; }

struct GemmCase {
  int64_t m, n, k;
  Order order = Order::kRows;
  Right right = Right::kPacked;
  bool column_major = false;  // C
  bool extras = false;        // alpha, sums that are there, a bias, a residual and an activation
  bool channels_are_rows = false;
};

template <class T>
std::vector<T> Numbers(int64_t count, unsigned seed) {
  const std::vector<float> values = testing::Random(static_cast<size_t>(count) + 1, seed);  // never empty
  return {values.begin(), values.end()};
}

template <class T>
class RowMajorSource final : public GemmPanelSource<T> {
 public:
  RowMajorSource(const T* b, int64_t row) : b_(b), row_(row) {}
  void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, T* out) const override {
    PackGemmPanel<T>(b_ + k0 * row_ + n0, row_, 1, kc, width, out);
  }

 private:
  const T* b_;
  int64_t row_;
};

template <class T>
class Operands {
 public:
  explicit Operands(const GemmCase& p)
      : a_(Numbers<T>(2 * p.m * p.k, 1)),
        b_(Numbers<T>(p.k * p.n, 2)),
        c_(Numbers<T>(p.m * p.n, 3)),
        bias_(Numbers<T>(p.channels_are_rows ? p.m : p.n, 4)),
        residual_(Numbers<T>(p.m * p.n, 6)),
        source_(b_.data(), p.n) {
    if constexpr (std::is_same_v<T, float>) {
      if (p.right == Right::kFloat16) RoundTo<Float16>();
      if (p.right == Right::kBFloat16) RoundTo<BFloat16>();
    }
    args.m = p.m;
    args.n = p.n;
    args.k = p.k;
    args.lhs = {.data = a_.data(),
                .row = p.order == Order::kRows      ? p.k
                       : p.order == Order::kNeither ? 2 * p.k
                                                    : 1,
                .k = p.order == Order::kColumns   ? p.m
                     : p.order == Order::kNeither ? 2
                                                  : 1};
    args.rhs.k = p.right == Right::kColumns ? 1 : p.n;
    args.rhs.col = p.right == Right::kColumns ? p.k : 1;
    args.out = {.data = c_.data(), .row = p.column_major ? 1 : p.n, .col = p.column_major ? p.m : 1};
    if (!p.extras) return;
    args.alpha = T{0.5};
    args.epilogue = {.bias = bias_.data(),
                     .activation = {ActivationKind::kLeakyRelu, T{0.25}},
                     .channels_are_rows = p.channels_are_rows};
    args.accumulate = !p.column_major;
    if (!p.column_major) args.epilogue.residual = residual_.data();
  }

  /// C as it shall be: row after row, in doubles.
  std::vector<double> Expected() const {
    std::vector<double> expected;
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < args.k; ++p)
          sum += At(a_, i * args.lhs.row + p * args.lhs.k) * At(b_, p * args.rhs.k + j * args.rhs.col);
        sum *= args.alpha;
        if (args.accumulate) sum += At(c_, i * args.out.row + j);
        if (args.epilogue.bias != nullptr) sum += At(bias_, args.epilogue.channels_are_rows ? i : j);
        if (args.epilogue.residual != nullptr) sum += At(residual_, i * args.out.row + j);
        expected.push_back(args.epilogue.activation && sum < 0 ? sum / 4 : sum);
      }
    }
    return expected;
  }

  void Run(ThreadPool& threads, Right right) {
    const bool packs = right == Right::kPacked || IsNarrow(right);
    std::vector<T> packed(packs ? PackedGemmBSize<T>(args.k, args.n) + 1 : 0);
    std::vector<uint16_t> narrow(IsNarrow(right) ? packed.size() : 0);
    if (packs) {
      PackGemmB<T>(threads, args.k, args.n, b_.data(), args.rhs.k, args.rhs.col, packed.data());
      args.rhs.packed = packed.data();
      if constexpr (std::is_same_v<T, float>) {
        if (IsNarrow(right)) Narrow(right == Right::kFloat16 ? PanelType::kFloat16 : PanelType::kBFloat16, packed, narrow);
      }
    } else if (right == Right::kSource) {
      args.rhs.source = &source_;
    } else {
      args.rhs.data = b_.data();
    }
    std::vector<T> workspace(GemmWorkspaceSize<T>(args, threads.num_threads()));
    Gemm<T>(threads, args, workspace.empty() ? nullptr : workspace.data());
  }

  double result(int64_t i, int64_t j) const { return At(c_, i * args.out.row + j * args.out.col); }

  GemmProblem<T> args;

 private:
  template <class Half>
  void RoundTo() {
    for (float& value : b_) value = static_cast<float>(Half(value));
  }

  void Narrow(PanelType type, const std::vector<float>& packed, std::vector<uint16_t>& narrow) {
    NarrowGemmPanel(type, packed.data(), static_cast<int64_t>(packed.size()) / GemmPanelWidth<float>(), narrow.data());
    args.rhs.packed = narrow.data();
    args.rhs.type = type;
  }

  static double At(const std::vector<T>& values, int64_t i) { return static_cast<double>(values[static_cast<size_t>(i)]); }

  std::vector<T> a_, b_, c_, bias_, residual_;
  RowMajorSource<T> source_;
};

template <class T>
void Check(const GemmCase& p, ThreadPool& threads) {
  SCOPED_TRACE(::testing::Message() << sizeof(T) << " bytes, m " << p.m << ", n " << p.n << ", k " << p.k << ", order "
                                    << static_cast<int>(p.order) << ", right " << static_cast<int>(p.right)
                                    << ", column-major " << p.column_major << ", extras " << p.extras
                                    << ", channels are rows " << p.channels_are_rows << ", threads "
                                    << threads.num_threads());
  Operands<T> operands(p);
  const std::vector<double> expected = operands.Expected();
  operands.Run(threads, p.right);
  const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-14) * static_cast<double>(p.k + 8);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double want = expected[static_cast<size_t>(i * p.n + j)];
      ASSERT_NEAR(operands.result(i, j), want, tolerance * std::max(1.0, std::abs(want))) << "at " << i << ", " << j;
    }
  }
}

/// Those with extras with both kinds of bias.
void CheckAll(std::vector<GemmCase> cases) {
  for (size_t i = 0, count = cases.size(); i < count; ++i) {
    if (!cases[i].extras) continue;
    cases.push_back(cases[i]);
    cases.back().channels_are_rows = true;
  }
  const auto serial = MakeSerialPool();
  const auto several = MakeWorkerPool(3);
  const RunScope scope(*several);
  testing::OnEachTarget([&] {
    for (ThreadPool* threads : {static_cast<ThreadPool*>(serial.get()), static_cast<ThreadPool*>(several.get())}) {
      for (const GemmCase& p : cases) {
        if (p.right != Right::kFloat16 || HasGemmPanels(PanelType::kFloat16)) Check<float>(p, *threads);
        if (!IsNarrow(p.right)) Check<double>(p, *threads);
      }
    }
  });
}

TEST(Gemm, EveryOrderAroundTheEdgesOfTiles) {
  std::vector<GemmCase> cases;
  for (const int64_t m : {1, 3, 6, 13}) {
    for (const int64_t n : {1, 7, 16, 33}) {
      for (const int64_t k : {0, 1, 3, 18}) {
        for (const Order order : {Order::kRows, Order::kColumns, Order::kNeither}) {
          for (const Right right :
               {Right::kPacked, Right::kRows, Right::kColumns, Right::kSource, Right::kFloat16, Right::kBFloat16}) {
            for (const bool extras : {false, true}) cases.push_back({m, n, k, order, right, false, extras});
          }
        }
      }
    }
  }
  CheckAll(cases);
}

TEST(Gemm, BlocksOfRowsAndColumnsAndDepth) {
  std::vector<GemmCase> cases;
  for (const Order order : {Order::kRows, Order::kColumns, Order::kNeither}) {
    for (const Right right : {Right::kPacked, Right::kFloat16, Right::kBFloat16}) {
      cases.push_back({135, 130, 423, order, right, false, true});
      cases.push_back({5, 130, 323, order, right, false, true});
    }
    cases.push_back({194, 131, 161, order, Right::kRows, false, false});
  }
  cases.push_back({132, 130, 320, Order::kBoth, Right::kPacked, false, false});
  cases.push_back({17, 1041, 5, Order::kRows, Right::kPacked, false, true});
  for (const int64_t m : {20, 217}) cases.push_back({m, 131, 801, Order::kRows, Right::kPacked, false, true});
  CheckAll(cases);
}

TEST(Gemm, ColumnMajorResults) {
  std::vector<GemmCase> cases;
  for (const Order order : {Order::kRows, Order::kColumns}) {
    for (const bool extras : {false, true}) {
      cases.push_back({2, 5, 9, order, Right::kPacked, true, extras});
      cases.push_back({135, 263, 33, order, Right::kPacked, true, extras});
      cases.push_back({135, 263, 33, order, Right::kBFloat16, true, extras});
    }
  }
  CheckAll(cases);
}

}  // namespace
}  // namespace tessera::cpu
