#include "cpu/ops/nn/small_planes.h"

#include <algorithm>

#include "base/rounding.h"
#include "cpu/ops/nn/image_rows.h"
#include "kernels/conv/depthwise/depthwise_small.h"

namespace tessera::cpu {

void ConvolveSmallPlanes(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t multiplier,
                         const DepthwiseTensors& tensors) {
  const int64_t input = window.input.num_elements(), output = window.output.num_elements(),
                taps = window.kernel.num_elements();
  const std::span<const int64_t> pixels = MeetingPixels(context, window);
  const auto begins = context.scratch<int32_t>(static_cast<size_t>(output + 1));
  const auto meetings = context.scratch<SmallPlanes::Meeting>(pixels.size());
  int32_t count = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    const auto tap = static_cast<int32_t>(i) % static_cast<int32_t>(taps);
    if (tap == 0) begins[i / static_cast<size_t>(taps)] = count;
    if (pixels[i] >= 0) meetings[static_cast<size_t>(count++)] = {static_cast<int32_t>(pixels[i]), tap};
  }
  begins[static_cast<size_t>(output)] = count;
  const SmallPlanes shape{batch, channels, multiplier, input, output, taps, begins.data(), meetings.data()};
  const double moved = static_cast<double>(input + multiplier * (output + taps)),
               multiplied = static_cast<double>(multiplier * count);
  context.threads().ParallelFor(CeilDiv(batch * channels, SmallPlanesTogether()), 40 + 4 * moved + multiplied,
                                [&](int64_t begin, int64_t end) { ConvolveSmallPlanes(shape, tensors, begin, end); });
}

}  // namespace tessera::cpu
