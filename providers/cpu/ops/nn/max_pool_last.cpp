// MaxPoolLast (ai.tessera 1): MaxPool of bytes whose channels lie side by side, [N, H, W, C].

#include <algorithm>
#include <cstring>

#include "ops/nn/window.h"
#include "ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
void JoinMax(const uint8_t* from, int64_t count, uint8_t* to) {
  const T* in = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = std::max(out[i], in[i]);
}

class MaxPoolLast final : public Kernel {
 public:
  explicit MaxPoolLast(const KernelInfo& info) : attributes_(info) { Require(attributes_.has_kernel(), "attribute 'kernel_shape' is required"); }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() == 4, "the input must be [N, H, W, C], it is {}", shape);
    const Window window = attributes_.Fit(shape.dims().subspan(1, 2), attributes_.kernel().dims());
    Tensor* y = context.output(0, {shape[0], window.output[0], window.output[1], shape[3]});
    if (y == nullptr || y->num_elements() == 0) return;
    const auto join = x.is(ElementType::kInt8) ? JoinMax<int8_t> : JoinMax<uint8_t>;
    const uint8_t lowest = x.is(ElementType::kInt8) ? 0x80 : 0;
    const int64_t row = window.output[1] * shape[3];
    const double cost = static_cast<double>(row * window.kernel.num_elements()) * 0.05;
    context.threads().ParallelFor(shape[0] * window.output[0], cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto* image = static_cast<const uint8_t*>(x.raw()) + i / window.output[0] * shape[1] * shape[2] * shape[3];
        auto* out = static_cast<uint8_t*>(y->mutable_raw()) + i * row;
        std::memset(out, lowest, static_cast<size_t>(row));
        for (int64_t column = 0; column < window.output[1]; ++column) {
          ForEachTap(window, i % window.output[0], column, [&](int64_t pixel) { join(image + pixel * shape[3], shape[3], out + column * shape[3]); });
        }
      }
    });
  }

 private:
  /// visit(pixel of the input) for the taps inside it.
  template <class Visit>
  static void ForEachTap(const Window& w, int64_t y, int64_t x, Visit&& visit) {
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
      const int64_t row = y * w.strides[0] - w.begin[0] + i * w.dilations[0];
      if (row < 0 || row >= w.input[0]) continue;
      for (int64_t j = 0; j < w.kernel[1]; ++j) {
        const int64_t column = x * w.strides[1] - w.begin[1] + j * w.dilations[1];
        if (column >= 0 && column < w.input[1]) visit(row * w.input[1] + column);
      }
    }
  }

  WindowAttributes attributes_;
};

}  // namespace

void RegisterMaxPoolLast(KernelRegistry& registry) {
  constexpr TypeSet kBytes = {ElementType::kUInt8, ElementType::kInt8};
  registry.Add(Op("MaxPoolLast", "ai.tessera").Types(0, kBytes).Make<MaxPoolLast>());
}

}  // namespace tessera::cpu
