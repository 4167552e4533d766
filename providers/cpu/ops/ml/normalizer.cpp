// Normalizer (ai.onnx.ml 1).

#include <algorithm>
#include <cmath>

#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"
#include "kernels/reduce/fold.h"

namespace tessera::cpu {
namespace {

class Normalizer final : public Kernel {
 public:
  explicit Normalizer(const KernelInfo& info) {
    const auto norm = info.attribute<std::string>("norm", "MAX");
    Require(norm == "MAX" || norm == "L1" || norm == "L2", "norm is '{}', MAX, L1 or L2 is expected", norm);
    // Not the largest magnitude: the specification divides by max(X).
    fold_ = norm == "MAX" ? Fold::kMax : norm == "L1" ? Fold::kSumAbs : Fold::kSumSquare;
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    Tensor* y = context.output(0, ElementType::kFloat, x.shape());
    if (y == nullptr || x.num_elements() == 0) return;
    const int64_t width = rows.features;
    const float* in = ElementsAs<float>(context, x);
    float* out = y->mutable_data<float>();
    const double row_ns = 10 + 0.3 * static_cast<double>(width);
    context.threads().ParallelFor(rows.count, row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; row += kRows)
        Normalize(in + row * width, out + row * width, std::min(kRows, end - row), width);
    });
  }

 private:
  static constexpr int64_t kRows = 64, kLongRow = 65536;
  static constexpr double kElementNs = 0.5;

  void Normalize(const float* in, float* out, int64_t rows, int64_t width) const {
    double acc[kRows];
    std::fill_n(acc, rows, FoldIdentity<double>(fold_));
    const FoldKernels<float>& kernels = FoldKernelsOf<float>(fold_);
    if (width < kLongRow) {
      kernels.rows(in, rows, width, width, nullptr, acc);
    } else {
      for (int64_t row = 0; row < rows; ++row) {
        InCancellablePieces(0, width, kElementNs, [&](int64_t begin, int64_t end) {
          kernels.rows(in + row * width + begin, 1, width, end - begin, nullptr, acc + row);
        });
      }
    }
    for (int64_t row = 0; row < rows; ++row, in += width, out += width) {
      const auto divisor = static_cast<float>(fold_ == Fold::kSumSquare ? std::sqrt(acc[row]) : acc[row]);
      InCancellablePieces(0, width, kElementNs, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = divisor == 0 ? in[i] : in[i] / divisor;
      });
    }
  }

  Fold fold_;
};

}  // namespace

void RegisterNormalizer(KernelRegistry& registry) {
  registry.Add(Op("Normalizer", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<Normalizer>());
}

}  // namespace tessera::cpu
