// ArrayFeatureExtractor (ai.onnx.ml 1).

#include <memory>

#include "cpu/engine/element.h"
#include "cpu/engine/on_texts.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
class ArrayFeatureExtractor final : public Kernel {
 public:
  explicit ArrayFeatureExtractor(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(x.shape().rank() >= 1, "X is a scalar, one dimension at least is expected");
    const int64_t width = x.shape().back(), count = indices.num_elements();
    PacedCancellationPoint look(1);
    for (const int64_t index : indices.values<int64_t>()) {
      look.Pass();
      Require(index >= 0 && index < width, "index {} is outside the last dimension of X, {}", index, width);
    }
    Shape shape = x.shape();
    if (shape.rank() == 1) {
      shape = Shape{1, count};
    } else {
      shape[shape.rank() - 1] = count;
    }
    Tensor* y = context.output(0, x.type(), shape);
    if (y == nullptr || width == 0) return;
    const int64_t* index = indices.data<int64_t>();
    const auto* in = static_cast<const T*>(x.raw());
    auto* out = static_cast<T*>(y->mutable_raw());
    context.threads().ParallelFor(x.num_elements() / width, static_cast<double>(count), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        InCancellablePieces(0, count, 2, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) out[row * count + i] = in[row * width + index[i]];
        });
      }
    });
  }
};

std::unique_ptr<Kernel> MakeArrayFeatureExtractor(const KernelInfo& info) {
  return VisitElement(KindOf(MovedType(info.input_type(0))), [&]<class T>() -> std::unique_ptr<Kernel> {
    return OnTexts(info, std::make_unique<ArrayFeatureExtractor<T>>(info));
  });
}

}  // namespace

void RegisterArrayFeatureExtractor(KernelRegistry& registry) {
  registry.Add(Op("ArrayFeatureExtractor", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers | TypeSet{ElementType::kString})
                   .Factory(MakeArrayFeatureExtractor));
}

}  // namespace tessera::cpu
