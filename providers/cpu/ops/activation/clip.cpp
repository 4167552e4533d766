// Clip (1, 6: bounds are attributes; 11, 12, 13: inputs).

#include <limits>
#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/activation/clip.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise-inl.h"
#include "ops/activation/clip.h"

#ifndef TESSERA_OPS_CLIP_ONCE
#define TESSERA_OPS_CLIP_ONCE
namespace tessera::cpu {
template <class T>
struct Bounds {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// NaN stays; where low > high the result is high.
template <class T>
struct ClipOf {
  Bounds<T> bounds;
  T operator()(T x) const {
    x = x < bounds.low ? bounds.low : x;
    return x > bounds.high ? bounds.high : x;
  }
};

}  // namespace

SpanLoop FindClipLoop(ElementType type) {
  return LoopOfNumber(type, []<class T>() -> SpanLoop { return UnaryLoop<T, T, ClipOf<T>>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindClipLoop);

namespace {

template <class T>
class Clip final : public Kernel {
 public:
  using C = ComputeType<T>;

  explicit Clip(const KernelInfo& info) : loop_(HWY_DYNAMIC_DISPATCH(FindClipLoop)(ElementTypeOf<C>)) {
    // Without a bound infinities stay, too.
    if constexpr (std::is_floating_point_v<C>) {
      const C infinity = std::numeric_limits<C>::infinity();
      const ClipAttributes attributes(info.node());
      bounds_ = {attributes.low ? static_cast<C>(*attributes.low) : -infinity,
                 attributes.high ? static_cast<C>(*attributes.high) : infinity};
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.type() == ElementTypeOf<T>, "input 0 is tensor({}), expected tensor({})", ElementTypeName(x.type()),
            ElementTypeName(ElementTypeOf<T>));
    Elementwise body{loop_, 0.2};
    Bounds<C> bounds = bounds_;
    Read(context, 1, bounds.low);
    Read(context, 2, bounds.high);
    body.set_params(bounds);
    Tensor* y = context.output(0, ElementTypeOf<T>, x.shape());
    if (y == nullptr) return;
    const T* source = x.data<T>();
    T* target = y->mutable_data<T>();
    context.threads().ParallelFor(x.num_elements(), std::is_same_v<T, C> ? 0.2 : 0.5, [&](int64_t begin, int64_t end) {
      const void* input = source + begin;
      if constexpr (std::is_same_v<T, C>) {
        body.loop(&input, 1, target + begin, end - begin, body.params);
      } else {
        const ThroughFloat how = {ElementTypeOf<T>, 1, 1, true, {sizeof(T)}, sizeof(T)};
        RunThroughFloat(how, body, &input, 1, target + begin, end - begin);
      }
    });
  }

 private:
  static void Read(KernelContext& context, size_t i, C& bound) {
    const Tensor* tensor = context.input(i);
    if (tensor == nullptr) return;
    Require(tensor->type() == ElementTypeOf<T> && tensor->num_elements() == 1,
            "input {} is tensor({}) of shape {}, expected one element of tensor({})", i, ElementTypeName(tensor->type()),
            tensor->shape(), ElementTypeName(ElementTypeOf<T>));
    bound = static_cast<C>(*tensor->data<T>());
  }

  SpanLoop loop_;
  Bounds<C> bounds_;
};

}  // namespace

void RegisterClip(KernelRegistry& registry) {
  registry.Add(Op("Clip").Versions(1).Types(0, kNumbers).InPlace(0, 0).Factory(MakeTyped<Clip, NumberTypes>));
}

}  // namespace tessera::cpu
#endif
