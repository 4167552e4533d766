// NegativeLogLikelihoodLoss (12, 13, 22), SoftmaxCrossEntropyLoss (12, 13): the weighted loss of class scores [N, C, d1,
// ...] against labels [N, d1, ...], with labels to ignore.

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/cancellation.h"
#include "cpu/types.h"
#include "ops/training/loss.h"

namespace tessera::cpu {
namespace {

template <class T>
class Loss final : public Kernel {
 public:
  explicit Loss(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& labels = context.required_input(1);
    const Tensor* weights = context.input(2);
    const Shape& shape = x.shape();
    const Shape rest = LossAttributes::CheckLabels(x, labels.shape(), weights);
    const int64_t classes = shape[1], inner = shape.SizeOfRange(2, shape.rank());
    const int64_t batch = inner == 0 ? 0 : shape[0];
    const bool softmax = attributes_.softmax;
    const LossReduction reduction = attributes_.reduction;

    const T* scores = x.data<T>();
    Tensor* kept = softmax && context.has_output(1) ? context.output(1, shape) : nullptr;
    Tensor& y = *context.output(0, reduction == LossReduction::kNone ? rest : Shape{});
    double sum = 0, weight_sum = 0;
    PacedCancellationPoint look(10);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t d = 0; d < inner; ++d) {
        look.Pass();
        const T* column = scores + n * classes * inner + d;
        const int64_t label = Label(labels, n * inner + d);
        const bool counts = attributes_.Counts(label, classes);
        double logarithm = 0;
        if (softmax) {
          const double normalizer = LogSumExp(column, classes, inner, look);
          if (kept != nullptr) {
            T* out = kept->mutable_data<T>() + n * classes * inner + d;
            for (int64_t c = 0; c < classes; ++c, look.Pass())
              out[c * inner] = static_cast<T>(static_cast<double>(column[c * inner]) - normalizer);
          }
          if (counts) logarithm = static_cast<double>(column[label * inner]) - normalizer;
        } else if (counts) {
          logarithm = static_cast<double>(column[label * inner]);
        }
        const double weight = !counts ? 0.0 : weights != nullptr ? static_cast<double>(weights->data<T>()[label]) : 1.0;
        const double loss = counts ? -logarithm * weight : 0.0;
        if (reduction == LossReduction::kNone) y.mutable_data<T>()[n * inner + d] = static_cast<T>(loss);
        sum += loss;
        weight_sum += weight;
      }
    }
    if (reduction == LossReduction::kNone) return;
    y.mutable_data<T>()[0] = static_cast<T>(reduction == LossReduction::kMean ? sum / weight_sum : sum);
  }

 private:
  static int64_t Label(const Tensor& labels, int64_t i) {
    return labels.is(ElementType::kInt32) ? labels.data<int32_t>()[i] : labels.data<int64_t>()[i];
  }

  static double LogSumExp(const T* column, int64_t classes, int64_t stride, PacedCancellationPoint& look) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < classes; ++c, look.Pass()) top = std::max(top, static_cast<double>(column[c * stride]));
    for (int64_t c = 0; c < classes; ++c, look.Pass()) sum += std::exp(static_cast<double>(column[c * stride]) - top);
    return top + std::log(sum);
  }

  const LossAttributes attributes_;
};

}  // namespace

void RegisterLosses(KernelRegistry& registry) {
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    registry.Add(Op(op)
                     .Versions(12)
                     .Types(0, kFloats)
                     .Types(1, {ElementType::kInt32, ElementType::kInt64})
                     .Factory(MakeTyped<Loss, FloatTypes>));
  }
}

}  // namespace tessera::cpu
