// MaxPoolNhwc (ai.tessera 1): MaxPool of bytes in NHWC, [N, H, W, C].

#include <array>
#include <cstring>

#include "base/check.h"
#include "cpu/ops/ops.h"
#include "graph/private_names.h"
#include "kernels/pool/max_bytes.h"
#include "ops/nn/window.h"

namespace tessera::cpu {
namespace {

/// A window along one axis.
struct Taps {
  int64_t first, step, count;  // of its indices
  int64_t size;                // those outside count for nothing
};

/// The maximum over the taps of n bytes each, `bytes` apart.
void JoinTaps(const Taps& taps, const uint8_t* from, int64_t bytes, bool is_signed, int64_t n, uint8_t* to) {
  constexpr size_t kMostRows = 64;  // at a time
  std::array<const uint8_t*, kMostRows> rows;
  size_t count = 0;
  int64_t index = taps.first;
  for (int64_t i = 0; i < taps.count; ++i, index += taps.step) {
    if (index < 0 || index >= taps.size) continue;
    if (count == kMostRows) {
      MaxOfRows(rows.data(), count, is_signed, n, to);
      rows[0] = to;
      count = 1;
    }
    rows[count++] = from + index * bytes;
  }
  if (count > 0) MaxOfRows(rows.data(), count, is_signed, n, to);
  else std::memset(to, is_signed ? 0x80 : 0, static_cast<size_t>(n));
}

class MaxPoolNhwc final : public Kernel {
 public:
  explicit MaxPoolNhwc(const KernelInfo& info) : attributes_(info.node()) {
    Require(attributes_.has_kernel(), "attribute 'kernel_shape' is required");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() == 4, "the input must be [N, H, W, C], it is {}", shape);
    const Window window = attributes_.Fit(shape.dims().subspan(1, 2), attributes_.kernel().dims());
    const int64_t rows = window.output[0], columns = window.output[1];
    Tensor* y = context.output(0, x.type(), {shape[0], rows, columns, shape[3]});
    if (y == nullptr || y->num_elements() == 0) return;
    const bool is_signed = x.is(ElementType::kInt8);
    const int64_t height = shape[1], channels = shape[3], row_bytes = shape[2] * channels;
    const auto* from = static_cast<const uint8_t*>(x.raw());
    auto* to = static_cast<uint8_t*>(y->mutable_raw());
    const Taps down{-window.begin[0], window.dilations[0], window.kernel[0], height};
    const Taps across{-window.begin[1], window.dilations[1], window.kernel[1], shape[2]};
    const int64_t down_stride = window.strides[0], across_stride = window.strides[1];
    const double cost = 0.02 * static_cast<double>(row_bytes * down.count + columns * channels * across.count);
    context.threads().ParallelFor(shape[0] * rows, cost, [&](int64_t begin, int64_t end) {
      // The rows of a window as one, then along that.
      uint8_t* row_maxima = context.scratch<uint8_t>(static_cast<size_t>(row_bytes)).data();
      for (int64_t i = begin; i < end; ++i) {
        Taps taps = down;
        taps.first += i % rows * down_stride;
        JoinTaps(taps, from + i / rows * height * row_bytes, row_bytes, is_signed, row_bytes, row_maxima);
        taps = across;
        uint8_t* out = to + i * columns * channels;
        for (int64_t column = 0; column < columns; ++column, taps.first += across_stride, out += channels) {
          JoinTaps(taps, row_maxima, channels, is_signed, channels, out);
        }
      }
    });
  }

 private:
  WindowAttributes attributes_;
};

}  // namespace

void RegisterMaxPoolNhwc(KernelRegistry& registry) {
  constexpr TypeSet kBytes = {ElementType::kUInt8, ElementType::kInt8};
  registry.Add(Op("MaxPoolNhwc", kTesseraDomain).Types(0, kBytes).OutputTypes(0, kBytes).Make<MaxPoolNhwc>());
}

}  // namespace tessera::cpu
