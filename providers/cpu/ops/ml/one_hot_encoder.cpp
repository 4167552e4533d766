// OneHotEncoder, ai.onnx.ml, version 1.

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu/ops/ml/lookup.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
class OneHotEncoder final : public Kernel {
 public:
  explicit OneHotEncoder(const KernelInfo& info) : zeros_(info.attribute<int64_t>("zeros", 1) != 0) {
    if constexpr (std::is_same_v<T, std::string>) {
      lookup_.Build(info.allocator(), info.attribute<std::vector<std::string>>("cats_strings", {}), true, false);
    } else {
      lookup_.Build(info.allocator(), info.attribute<std::vector<int64_t>>("cats_int64s", {}), true, false);
    }
    Require(lookup_.size() > 0, "no categories are given for the input's element type");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto width = static_cast<int64_t>(lookup_.size());
    Shape shape = x.shape();
    shape.Append(width);
    Tensor* y = context.output(0, ElementType::kFloat, shape);
    if (y == nullptr) return;
    const T* in = x.data<T>();
    float* out = y->mutable_data<float>();
    context.threads().ParallelFor(x.num_elements(), 5 + 0.1 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      std::fill(out + begin * width, out + end * width, 0.0f);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t position = Find(in[i]);
        if (position >= 0) {
          out[i * width + position] = 1;
        } else {
          Require(zeros_, "element {} of X is none of the {} categories", i, width);
        }
      }
    });
  }

 private:
  int64_t Find(const T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(value > T(-9.2e18) && value < T(9.2e18))) return -1;
      return lookup_.Find(static_cast<int64_t>(value));
    } else if constexpr (std::is_same_v<T, int32_t>) {
      return lookup_.Find(static_cast<int64_t>(value));
    } else {
      return lookup_.Find(value);
    }
  }

  Lookup<std::conditional_t<std::is_same_v<T, std::string>, std::string, int64_t>> lookup_;
  bool zeros_;
};

using OneHotTypes = TypeList<std::string, int64_t, int32_t, float, double>;

}  // namespace

void RegisterOneHotEncoder(KernelRegistry& registry) {
  registry.Add(Op("OneHotEncoder", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, ToTypeSet(OneHotTypes{}))
                   .Factory(MakeTyped<OneHotEncoder, OneHotTypes>));
}

}  // namespace tessera::cpu
