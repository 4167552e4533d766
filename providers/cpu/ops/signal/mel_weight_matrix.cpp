// MelWeightMatrix (ai.onnx 17).

#include <cmath>
#include <numbers>

#include "base/cancellation.h"
#include "cpu/ops/ops.h"
#include "cpu/ops/signal/number_table.h"
#include "cpu/ops/signal/transform.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

double ReadNumber(KernelContext& context, size_t index) {
  const Tensor& tensor = context.required_input(index);
  Require(tensor.num_elements() == 1, "input {} is {}, a scalar is expected", index, tensor.shape());
  return VisitType(FloatTypes{}, tensor.type(),
                   [&]<class T>() -> double { return static_cast<double>(*tensor.data<T>()); });
}

class MelWeightMatrix final : public Kernel {
 public:
  explicit MelWeightMatrix(const KernelInfo& info) : type_(TableType(info)) {}

  void Compute(KernelContext& context) override {
    for (size_t i = 0; i < 3; ++i) context.required_input(i);
    const int64_t mels = ReadLength(context, 0, 0), length = ReadLength(context, 1, 0), rate = ReadLength(context, 2, 0);
    const double low = Mel(ReadNumber(context, 3)), high = Mel(ReadNumber(context, 4));
    Require(mels >= 1 && mels < kLimit, "num_mel_bins is {}", mels);
    Require(length >= 1 && length < kLimit, "dft_length is {}", length);
    Require(rate >= 1, "sample_rate is {}", rate);
    Require(std::isfinite(low) && std::isfinite(high), "lower_edge_hertz or upper_edge_hertz is out of range");
    const int64_t bins = length / 2 + 1;
    Tensor* output = context.output(0, type_, Shape{bins, mels});
    if (output == nullptr) return;

    const std::span<int64_t> edges = context.scratch<int64_t>(static_cast<size_t>(mels + 2));
    const double step = (high - low) / static_cast<double>(mels + 2);
    PacedCancellationPoint look(50);
    for (size_t i = 0; i < edges.size(); ++i) {
      look.Pass();
      const double hertz = 700 * std::expm1((static_cast<double>(i) * step + low) / 2595 * std::numbers::ln10);
      const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
      Require(bin >= 0 && bin <= static_cast<double>(i + 1 == edges.size() ? bins : bins - 1),
              "mel band {} lies at spectrogram bin {} of {}", i, bin, bins);
      edges[i] = static_cast<int64_t>(bin);
    }
    VisitType(NumberTypes{}, type_, [&]<class T>() { Fill(edges, bins, mels, output->template mutable_data<T>()); });
  }

 private:
  static constexpr int64_t kLimit = int64_t{1} << 31;

  static double Mel(double hertz) { return 2595 * std::log1p(hertz / 700) / std::numbers::ln10; }

  template <class T>
  static void Fill(std::span<const int64_t> edges, int64_t bins, int64_t mels, T* out) {
    InCancellablePieces(0, bins * mels, 1, [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, T{}); });
    PacedCancellationPoint look(10);  // elements of a band are a row apart
    for (int64_t i = 0; i < mels; ++i) {
      const int64_t low = edges[static_cast<size_t>(i)], center = edges[static_cast<size_t>(i + 1)],
                    high = edges[static_cast<size_t>(i + 2)];
      if (center == low) {
        out[center * mels + i] = FromDouble<T>(1);
      } else {
        for (int64_t j = low; j <= center; ++j) {
          look.Pass();
          out[j * mels + i] = FromDouble<T>(static_cast<double>(j - low) / static_cast<double>(center - low));
        }
      }
      for (int64_t j = center; j < high; ++j) {
        look.Pass();
        out[j * mels + i] = FromDouble<T>(static_cast<double>(high - j) / static_cast<double>(high - center));
      }
    }
  }

  ElementType type_;
};

}  // namespace

void RegisterMelWeightMatrix(KernelRegistry& registry) {
  registry.Add(Op("MelWeightMatrix").Versions(17).Make<MelWeightMatrix>());
}

}  // namespace tessera::cpu
