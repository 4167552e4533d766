#include "kernels/conv/choose/layout.h"

#include <algorithm>
#include <initializer_list>

#include "base/rounding.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/choose/costs.h"
#include "kernels/conv/nchw/phase_planes.h"
#include "kernels/conv/nchw8c/nchw8c.h"

namespace tessera::cpu {
namespace {

bool AllAre(const Shape& sizes, int64_t wanted) {
  return std::ranges::all_of(sizes, [&](int64_t size) { return size == wanted; });
}

/// Images of so few pixels that rows of vectors, or tiles, of one image would hardly be filled: NCHW puts the pixels of
/// many into one GEMM.
bool HasFewPixels(const ConvProblem& problem, const Nchw8cLimits& limits) {
  if (problem.groups != 1 || problem.taps() == 1 || problem.outputs < kChannelBlock || problem.channels < kChannelBlock)
    return false;
  int64_t pixels = 1;
  for (const int64_t size : problem.window.output) {
    if (size == 0 || size > limits.few_pixels_of_many) return false;
    pixels *= size;
  }
  return pixels <= limits.few_pixels || (pixels <= limits.few_pixels_of_many && problem.batch >= limits.many_images);
}

/// Of 16 in whole blocks.
int64_t FewestToFill(const ConvProblem& problem, const Nchw8cLimits& limits) {
  const Shape& kernel = problem.window.kernel;
  if (AllAre(kernel, 1)) return limits.fill_pixel;
  if (problem.strided() || kernel.rank() < 2 || problem.transposed) return limits.fill_window;
  if (AllAre(kernel, 3)) return limits.fill_three;
  return AllAre(kernel, 5) || AllAre(kernel, 7) ? limits.fill_transformed : limits.fill_window;
}

/// Outputs of zero weights may fill the last block.
bool MayFillBlock(const ConvProblem& problem, const Nchw8cLimits& limits) {
  if (problem.groups != 1 || problem.channels % kChannelBlock != 0) return false;
  return 16 * problem.outputs >= FewestToFill(problem, limits) * RoundUp(problem.outputs, kChannelBlock) &&
         problem.depth() >= limits.fill_depth;
}

bool IsDepthwise(const ConvProblem& problem) { return problem.group_channels() == 1 && problem.outputs == problem.groups; }

}  // namespace

int64_t GroupsInBlock(int64_t channels, int64_t outputs, int64_t groups) {
  const int64_t most = ConvCostsHere().nchw8c.groups_in_block;
  for (int64_t count = 1; count <= most && groups % count == 0; count *= 2) {
    if (channels * count % kChannelBlock == 0 && outputs * count % kChannelBlock == 0) return count;
  }
  return 0;
}

bool MayAddChannels(int64_t channels) {
  const int64_t padded = RoundUp(channels, kChannelBlock);
  return (padded - channels) * ConvCostsHere().nchw8c.added_channels <= padded;
}

ConvLayout ChooseFloatLayout(const ConvProblem& problem) {
  const Nchw8cLimits& limits = ConvCostsHere().nchw8c;
  if (problem.transposed) {
    const bool fills = problem.outputs % kChannelBlock == 0 || MayFillBlock(problem, limits);
    return fills && TransposesInNchw8c(problem.window) ? ConvLayout::kNchw8c : ConvLayout::kNchw;
  }
  if (HasFewPixels(problem, limits)) return ConvLayout::kNchw;
  if (problem.outputs % kChannelBlock != 0) return MayFillBlock(problem, limits) ? ConvLayout::kNchw8c : ConvLayout::kNchw;
  if (problem.groups == 1 && problem.channels <= limits.plane_channels) return ConvLayout::kNchw8cFromPlanes;
  const bool fills = GroupsInBlock(problem.group_channels(), problem.group_outputs(), problem.groups) > 0;
  return IsDepthwise(problem) || fills ? ConvLayout::kNchw8c : ConvLayout::kNchw;
}

bool TransposesInNchw8c(const Window& window) {
  const size_t last = window.rank() - 1;
  for (const size_t i : {last - 1, last}) {
    const int64_t taps = window.kernel[i], stride = window.strides[i], pad = window.begin[i];
    const bool spreads = taps == stride && pad == 0 && (taps == 2 || taps == 4);
    const bool alternates =
        stride == 2 && ((taps == 3 && pad <= 1) || (taps == 4 && pad == 1) || (taps == 5 && (pad == 1 || pad == 2)));
    if ((!spreads && !alternates) || window.dilations[i] != 1) return false;
    if (taps != window.kernel[last] || stride != window.strides[last] || pad != window.begin[last]) return false;
  }
  return true;
}

namespace {

/// In NCHW by an implicit GEMM: faster by itself than direct convolution of one block or three, where vectors hold two.
bool PrefersPlanes(const ConvProblem& problem, ConvLayout layout, const ConvCosts& costs) {
  constexpr int64_t kMostBlocks = 3;
  const int64_t blocks = problem.outputs / kChannelBlock;
  if (costs.lanes < 2 * kChannelBlock || blocks % 2 == 0 || blocks > kMostBlocks || problem.transposed ||
      problem.groups > 1 || problem.taps() == 1 || !problem.known_image || !PhasePlanes::Fits(problem.window))
    return false;
  ConvProblem direct = problem;
  direct.layout = layout;
  direct.window = problem.window.WithRank(kSpatialAxes);
  return RankConvAlgorithms(direct, costs).front().algorithm == ConvAlgorithm::kDirect;
}

}  // namespace

double Nchw8cGain(const ConvProblem& problem, ConvLayout layout) {
  const ConvCosts& costs = ConvCostsHere();
  const double in = problem.input_pixels() * static_cast<double>(problem.channels),
               out = problem.output_pixels() * static_cast<double>(problem.outputs), elements = in + out;
  // Of an odd number of blocks the last are computed with half vectors where a vector holds two.
  const bool pairs = problem.outputs % (2 * kChannelBlock) == 0;
  const double moved = layout == ConvLayout::kNchw8cFromPlanes && pairs ? out : elements;
  const bool gathers = layout == ConvLayout::kNchw8c && problem.taps() > 1 && !problem.transposed;
  const double worth = gathers ? costs.nchw8c.worth_moving_window : costs.nchw8c.worth_moving;
  const bool pays =
      ConvertsInKernel(problem) || (problem.multiply_adds() >= worth * moved && !PrefersPlanes(problem, layout, costs));
  return pays ? (costs.elements_per_move + 1) * elements : elements;
}

bool ConvertsInKernel(const ConvProblem& problem) {
  const Nchw8cLimits& limits = ConvCostsHere().nchw8c;
  const Window& window = problem.window;
  if (problem.transposed || window.rank() != 2 || !IsDepthwise(problem)) return false;
  const int64_t taps = std::min(window.kernel[0], window.kernel[1]);
  if (taps > limits.nchw_window) return true;
  if (taps < 3 || !problem.dilated()) return false;
  return problem.strided() || (window.input[1] > 0 && window.input[1] <= limits.long_row);
}

bool ReadsPaddedCopy(const ConvProblem& problem) {
  if (problem.group_channels() % kChannelBlock != 0 || problem.dilated()) return false;
  const Window& window = problem.window;
  const size_t last = window.rank() - 1;
  if (!problem.strided() && last > 0 && window.kernel[last - 1] == 3 && window.kernel[last] == 3) return false;
  const auto any = [](const Shape& pads) { return std::ranges::any_of(pads, [](int64_t pad) { return pad > 0; }); };
  return any(window.begin) || any(window.end);
}

bool SuitsNhwc(const ConvProblem& problem, double large_pairs) {
  const ByteLimits& limits = ConvCostsHere().bytes;
  if (problem.groups > 1 && IsDepthwise(problem)) return problem.groups >= limits.nhwc_depthwise_channels;
  return problem.group_outputs() >= limits.nhwc_channels &&
         (problem.groups == 1 || problem.group_channels() >= limits.nhwc_channels) && large_pairs <= limits.large_pairs;
}

namespace {

/// Nanoseconds that the convolution takes more where bytes lie in planes.
double NchwLossNs(const ConvProblem& problem) {
  const ByteLimits& limits = ConvCostsHere().bytes;
  const Window& window = problem.window;
  if (window.input.num_elements() == 0 || window.output.num_elements() == 0) return 0;
  const double images = static_cast<double>(std::max<int64_t>(problem.batch, 1)),
               taps = static_cast<double>(problem.taps()), planes = images * static_cast<double>(problem.channels),
               in = problem.input_pixels() * planes / images, pixels = problem.output_pixels();
  if (problem.groups > 1 && IsDepthwise(problem)) {
    return planes * limits.plane_ns + in * (problem.strided() ? limits.strided_plane_ns : limits.plane_element_ns) -
           problem.multiply_adds() * limits.nhwc_product_ns - limits.begin_ns;
  }
  if (problem.taps() == 1 && !problem.strided()) return 0;
  const double rows = planes * taps * static_cast<double>(window.output[0]);  // of images with two axes
  if (problem.groups > 1) {
    // Of others than whole groups of four bytes NHWC makes padded copies.
    if (problem.group_channels() < limits.nhwc_group_channels || problem.group_channels() % 4 != 0) return 0;
    return images * static_cast<double>(problem.groups) * limits.group_ns + rows * limits.row_ns -
           planes * taps * static_cast<double>(window.output.num_elements()) * limits.nhwc_group_ns - 2 * limits.begin_ns;
  }
  if (FitsBatched(problem, limits.batched)) return 0;  // the windows of all images are one matrix
  return images * limits.image_ns + rows * limits.row_ns - pixels * taps * limits.nhwc_tap_ns - in * limits.nhwc_input_ns -
         limits.begin_ns;
}

}  // namespace

double NhwcGain(const ConvProblem& problem) {
  const double elements = problem.input_pixels() * static_cast<double>(problem.channels) +
                          problem.output_pixels() * static_cast<double>(problem.outputs);
  return elements + std::max(NchwLossNs(problem), 0.0) / ConvCostsHere().bytes.element_ns;
}

double ElementsPerMove() { return ConvCostsHere().elements_per_move; }

}  // namespace tessera::cpu
