#pragma once

// The pixels that a window of one tap reads of images without padding, where it moves by more than one.

#include <algorithm>
#include <type_traits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/strided_copy.h"
#include "kernels/conv/nchw/phase_rows.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Of floats, many rows at a time; of at most three axes.
class PixelsReader {
 public:
  explicit PixelsReader(const Window& window)
      : in_(window.WithRank(3).input),
        out_(window.WithRank(3).output),
        strides_(window.WithRank(3).strides),
        plane_(in_.num_elements()),
        pixels_(out_.num_elements()) {}

  void Read(ThreadPool& threads, int64_t channels, const float* input, float* pixels) const {
    const double channel_ns = 5 + 0.3 * static_cast<double>(pixels_);
    threads.ParallelFor(channels, channel_ns, [&](int64_t first, int64_t last) {
      InCancellablePieces(first, last, channel_ns, [&](int64_t begin, int64_t end) {
        // What rows write behind them is the next channels'; the last ones' must not be.
        const int64_t one_by_one = std::max(begin, end - CeilDiv(kPhaseRowsSlack, pixels_));
        ReadRows(one_by_one - begin, input + begin * plane_, pixels + begin * pixels_);
        for (int64_t c = one_by_one; c < end; ++c) ReadOne(input + c * plane_, pixels + c * pixels_);
      });
    });
  }

 private:
  void ReadRows(int64_t channels, const float* input, float* pixels) const {
    const PhaseRows rows{.in_step = strides_[1] * in_[2],
                         .in_width = in_[2],
                         .from = 0,
                         .stride = strides_[2],
                         .phases = 1,
                         .width = out_[2],
                         .out_step = out_[2],
                         .out_phase = 0};
    const PhaseImages images{input, pixels, channels, plane_, pixels_, 1, 0, 0};
    CopyPhaseRuns(rows, images, [&](PhaseRuns& runs) {
      for (int64_t z = 0; z < out_[0]; ++z) runs.Add(z * strides_[0] * in_[1] * in_[2], out_[1], z * out_[1] * out_[2]);
    });
  }

  void ReadOne(const float* input, float* pixels) const {
    for (int64_t z = 0; z < out_[0]; ++z) {
      for (int64_t y = 0; y < out_[1]; ++y) {
        const float* row = input + (z * strides_[0] * in_[1] + y * strides_[1]) * in_[2];
        for (int64_t x = 0; x < out_[2]; ++x) *pixels++ = row[x * strides_[2]];
      }
    }
  }

  const Shape in_, out_, strides_;
  const int64_t plane_, pixels_;
};

/// The pixels of so many channels.
template <class C>
const C* PixelsRead(KernelContext& context, const Window& window, int64_t channels, const C* input) {
  int64_t from = window.input.num_elements(), to = window.output.num_elements();
  C* pixels = context.scratch<C>(static_cast<size_t>(CheckedMul(channels, to))).data();
  if constexpr (std::is_same_v<C, float>) {
    if (window.rank() <= 3) {
      PixelsReader(window).Read(context.threads(), channels, input, pixels);
      return pixels;
    }
  }
  StridedCopy copy(ElementKind{.bytes = sizeof(C)});
  copy.Add(channels, from, to);
  for (size_t i = 0; i < window.rank(); ++i) {
    from /= window.input[i];
    to /= window.output[i];
    copy.Add(window.output[i], from * window.strides[i], to);
  }
  copy.Run(context.threads(), input, pixels);
  return pixels;
}

}  // namespace tessera::cpu
