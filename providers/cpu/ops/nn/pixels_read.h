#pragma once

// The pixels that a window of one tap reads of images without padding, where it moves by more than one.

#include <algorithm>
#include <type_traits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "cpu/engine/strided_copy.h"
#include "kernels/conv/nchw/phase_rows.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Elements from channel to channel of the pixels read: they may be written behind each.
inline int64_t PixelsReadStep(const Window& window) { return CheckedAdd(window.output.num_elements(), kPhaseRowsSlack); }

/// Of floats, rows of any length at a time; of at most three axes.
inline void ReadPixels(KernelContext& context, const Window& any_rank, int64_t channels, const float* input,
                       float* pixels) {
  const Window window = any_rank.WithRank(3);
  const Shape &in = window.input, &out = window.output;
  const int64_t plane = in.num_elements(), step = PixelsReadStep(window);
  const PhaseRows rows{.in_step = window.strides[1] * in[2],
                       .in_width = in[2],
                       .from = 0,
                       .stride = window.strides[2],
                       .phases = 1,
                       .width = out[2],
                       .out_step = out[2],
                       .out_phase = 0};
  const double channel_ns = 5 + 0.3 * static_cast<double>(out.num_elements());
  context.threads().ParallelFor(channels, channel_ns, [&](int64_t first, int64_t last) {
    InCancellablePieces(first, last, channel_ns, [&](int64_t begin, int64_t end) {
      const PhaseImages images{input + begin * plane, pixels + begin * step, end - begin, plane, step, 1, 0, 0};
      CopyPhaseRuns(rows, images, [&](PhaseRuns& runs) {
        for (int64_t z = 0; z < out[0]; ++z) runs.Add(z * window.strides[0] * in[1] * in[2], out[1], z * out[1] * out[2]);
      });
    });
  });
}

/// The pixels of `channels`, PixelsReadStep() apart.
template <class C>
const C* PixelsRead(KernelContext& context, const Window& window, int64_t channels, const C* input) {
  const int64_t step = PixelsReadStep(window);
  C* pixels = context.scratch<C>(static_cast<size_t>(CheckedMul(channels, step))).data();
  if constexpr (std::is_same_v<C, float>) {
    if (window.rank() <= 3) return ReadPixels(context, window, channels, input, pixels), pixels;
  }
  StridedCopy copy(ElementKind{.bytes = sizeof(C)});
  int64_t from = window.input.num_elements(), to = window.output.num_elements();
  copy.Add(channels, from, step);
  for (size_t i = 0; i < window.rank(); ++i) {
    from /= window.input[i];
    to /= window.output[i];
    copy.Add(window.output[i], from * window.strides[i], to);
  }
  copy.Run(context.threads(), input, pixels);
  return pixels;
}

}  // namespace tessera::cpu
