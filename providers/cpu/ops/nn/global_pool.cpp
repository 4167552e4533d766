// GlobalAveragePool (1, 22) and GlobalMaxPool (1, 22): one number per channel.

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/tiny_planes.h"

namespace tessera::cpu {
namespace {

/// Planes of so few pixels go side by side in the lanes of vectors.
constexpr int64_t kFewPixels = 32;

void PoolFewPixels(PoolKind kind, int64_t size, const float* in, int64_t planes, float* out, ThreadPool& threads) {
  int32_t pixels[kFewPixels];
  std::iota(pixels, pixels + size, 0);
  const int32_t end = static_cast<int32_t>(size);
  const auto divisor = static_cast<float>(size);
  const TinyPlanes tiny{.kind = kind,
                        .finish = kind == PoolKind::kSum ? PoolFinish::kDivide : PoolFinish::kNone,
                        .size = size,
                        .taps = {pixels, static_cast<size_t>(size)},
                        .ends = {&end, 1},
                        .counts = &divisor};
  threads.ParallelFor(planes, 1 + 0.3 * static_cast<double>(size), [&](int64_t begin, int64_t last) {
    PoolTinyPlanes(tiny, last - begin, in + begin * size, out + begin);
  });
}

template <class T, PoolKind kKind>
void PoolGlobally(KernelContext& context) {
  using C = ComputeType<T>;
  const Tensor& input = context.required_input(0);
  const size_t rank = input.shape().rank();
  Require(rank >= 2, "global pooling needs batch and channels, the input is {}", input.shape());
  Shape shape(rank, 1);
  shape[0] = input.shape()[0];
  shape[1] = input.shape()[1];
  Tensor* output = context.output(0, shape);
  if (output == nullptr) return;
  const int64_t size = input.shape().SizeOfRange(2, rank);
  const C* in = ComputeView<T>(context, &input);
  ComputeResult<T> result(context, *output);
  C* out = result.data();
  const C divisor = kKind == PoolKind::kSum ? static_cast<C>(size) : C{1};
  if (size == 1) {  // images of one pixel, each of which is its own mean
    context.threads().ParallelFor(shape.num_elements(), 0.3,
                                  [&](int64_t begin, int64_t end) { std::copy(in + begin, in + end, out + begin); });
    return result.Finish();
  }
  if constexpr (std::is_same_v<C, float>) {
    if (size > 0 && size <= kFewPixels && shape.num_elements() >= kFewestTinyPlanes) {
      PoolFewPixels(kKind, size, in, shape.num_elements(), out, context.threads());
      return result.Finish();
    }
  }
  context.threads().ParallelFor(shape.num_elements(), 10 + 0.15 * static_cast<double>(size),
                                [&](int64_t begin, int64_t end) {
                                  for (int64_t i = begin; i < end; ++i)
                                    out[i] = ReducePoolRow<C>(kKind, in + i * size, size) / divisor;
                                });
  result.Finish();
}

template <class T>
class GlobalAveragePool final : public Kernel {
 public:
  explicit GlobalAveragePool(const KernelInfo&) {}
  void Compute(KernelContext& context) override { PoolGlobally<T, PoolKind::kSum>(context); }
};

template <class T>
class GlobalMaxPool final : public Kernel {
 public:
  explicit GlobalMaxPool(const KernelInfo&) {}
  void Compute(KernelContext& context) override { PoolGlobally<T, PoolKind::kMax>(context); }
};

}  // namespace

void RegisterGlobalAveragePool(KernelRegistry& registry) {
  registry.Add(Op("GlobalAveragePool").Types(0, kFloats).Factory(MakeTyped<GlobalAveragePool, FloatTypes>));
}
void RegisterGlobalMaxPool(KernelRegistry& registry) {
  registry.Add(Op("GlobalMaxPool").Types(0, kFloats).Factory(MakeTyped<GlobalMaxPool, FloatTypes>));
}

}  // namespace tessera::cpu
