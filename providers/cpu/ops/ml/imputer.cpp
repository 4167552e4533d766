// Imputer (ai.onnx.ml 1).

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
class Imputer final : public Kernel {
 public:
  explicit Imputer(const KernelInfo& info) {
    const auto floats = info.attribute<std::vector<float>>("imputed_value_floats", {});
    const auto ints = info.attribute<std::vector<int64_t>>("imputed_value_int64s", {});
    Require(floats.empty() != ints.empty(), "one of imputed_value_floats and imputed_value_int64s is expected");
    if (!floats.empty()) {
      for (const float value : floats) values_.push_back(Converted(value));
      const float replaced = info.attribute<float>("replaced_value_float", 0);
      replaces_nan_ = std::isnan(replaced);
      if (!replaces_nan_) replaced_ = Converted(replaced);
    } else {
      for (const int64_t value : ints) values_.push_back(static_cast<T>(value));
      replaced_ = static_cast<T>(info.attribute<int64_t>("replaced_value_int64", 0));
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto width = static_cast<int64_t>(values_.size());
    Require(width == 1 || (x.shape().rank() > 0 && x.shape().back() == width), "{} imputed values do not fit X of shape {}",
            width, x.shape());
    Tensor* y = context.output(0, x.type(), x.shape());
    if (y == nullptr) return;
    const T* in = x.data<T>();
    T* out = y->mutable_data<T>();
    context.threads().ParallelFor(x.num_elements() / width, 0.5 * static_cast<double>(width),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t row = begin; row < end; ++row) {
                                      for (int64_t i = 0; i < width; ++i) {
                                        const T value = in[row * width + i];
                                        const bool missing = replaces_nan_ ? value != value : value == replaced_;
                                        out[row * width + i] = missing ? values_[static_cast<size_t>(i)] : value;
                                      }
                                    }
                                  });
  }

 private:
  static T Converted(float value) {
    if constexpr (std::is_integral_v<T>) {
      Require(value >= static_cast<float>(std::numeric_limits<T>::min()) &&
                  value < static_cast<float>(std::numeric_limits<T>::max()),
              "imputed value {} does not fit the element type", value);
    }
    return static_cast<T>(value);
  }

  std::vector<T> values_;
  T replaced_ = 0;
  bool replaces_nan_ = false;
};

}  // namespace

void RegisterImputer(KernelRegistry& registry) {
  registry.Add(Op("Imputer", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers)
                   .InPlace(0, 0)
                   .Factory(MakeTyped<Imputer, MlNumberTypes>));
}

}  // namespace tessera::cpu
