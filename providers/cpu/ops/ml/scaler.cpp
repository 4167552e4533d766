// Scaler (ai.onnx.ml 1).

#include <algorithm>
#include <vector>

#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
class Scaler final : public Kernel {
 public:
  explicit Scaler(const KernelInfo& info)
      : offset_(info.attribute<std::vector<float>>("offset", {})), scale_(info.attribute<std::vector<float>>("scale", {})) {
    if (offset_.empty()) offset_.assign(std::max<size_t>(scale_.size(), 1), 0.0f);
    if (scale_.empty()) scale_.assign(offset_.size(), 1.0f);
    const size_t width = std::max(offset_.size(), scale_.size());
    if (offset_.size() == 1) offset_.resize(width, offset_[0]);
    if (scale_.size() == 1) scale_.resize(width, scale_[0]);
    Require(offset_.size() == scale_.size(), "offset has {} elements, scale {}", offset_.size(), scale_.size());
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto width = static_cast<int64_t>(offset_.size());
    Require(width == 1 || (x.shape().rank() > 0 && x.shape().back() == width), "{} offsets do not fit X of shape {}", width,
            x.shape());
    Tensor* y = context.output(0, ElementType::kFloat, x.shape());
    if (y == nullptr) return;
    const T* in = x.data<T>();
    float* out = y->mutable_data<float>();
    context.threads().ParallelFor(
        x.num_elements() / width, 0.4 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
          if (width == 1) {
            const float offset = offset_[0], scale = scale_[0];
            for (int64_t i = begin; i < end; ++i) out[i] = (static_cast<float>(in[i]) - offset) * scale;
            return;
          }
          for (int64_t row = begin; row < end; ++row) {
            for (int64_t i = 0; i < width; ++i) {
              out[row * width + i] = (static_cast<float>(in[row * width + i]) - offset_[static_cast<size_t>(i)]) *
                                     scale_[static_cast<size_t>(i)];
            }
          }
        });
  }

 private:
  std::vector<float> offset_, scale_;
};

}  // namespace

void RegisterScaler(KernelRegistry& registry) {
  registry.Add(Op("Scaler", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Factory(MakeTyped<Scaler, MlNumberTypes>));
}

}  // namespace tessera::cpu
