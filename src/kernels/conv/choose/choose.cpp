#include "kernels/conv/choose/choose.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/rounding.h"
#include "graph/algorithm.h"
#include "kernels/conv/choose/costs.h"
#include "kernels/conv/choose/estimates.h"
#include "kernels/conv/choose/gathers.h"
#include "kernels/conv/depthwise/depthwise.h"
#include "kernels/conv/depthwise/depthwise_nhwc_int8.h"
#include "kernels/conv/depthwise/depthwise_small.h"
#include "kernels/conv/nchw/phase_planes.h"
#include "kernels/conv/nchw8c/nchw8c.h"
#include "kernels/conv/nchw8c/regions.h"
#include "kernels/conv/winograd/fit.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/gemm/rows_u8s8.h"

namespace tessera::cpu {
namespace {

constexpr std::pair<ConvAlgorithm, std::string_view> kNames[] = {
    {ConvAlgorithm::kGemm, "GEMM"},
    {ConvAlgorithm::kIm2col, "im2col"},
    {ConvAlgorithm::kGemmPackedWeights, "GEMM, packed weights"},
    {ConvAlgorithm::kIm2colPackedWeights, "im2col, packed weights"},
    {ConvAlgorithm::kBatchedIm2col, "im2col, all images"},
    {ConvAlgorithm::kImplicitGemm, "implicit GEMM"},
    {ConvAlgorithm::kKn2Row, "kn2row"},
    {ConvAlgorithm::kWinograd, "Winograd"},
    {ConvAlgorithm::kDirect, "direct"},
    {ConvAlgorithm::kDirectByRegions, "direct, by regions"},
    {ConvAlgorithm::kDepthwise, "depthwise"},
    {ConvAlgorithm::kDepthwisePlanes, "depthwise, planes"},
    {ConvAlgorithm::kDepthwiseSmallPlanes, "depthwise, small planes"},
    {ConvAlgorithm::kDepthwiseNchw8c, "depthwise, NCHW8c"},
    {ConvAlgorithm::kIm2colInt16, "im2col, int16"},
    {ConvAlgorithm::kCol2im, "col2im"},
    {ConvAlgorithm::kGather, "gather"},
};

/// Neither so few channels that the transforms cost more than the GEMMs save, nor so many that their weights fill memory;
/// `depth`: what an output pixel reads of a group along axes that are not transformed.
bool HasChannelsToTransform(const ConvProblem& problem, int64_t depth, const WinogradCosts& costs) {
  const int64_t outputs = problem.group_outputs();
  const int64_t fewest = problem.groups == 1 ? costs.fewest_channels : costs.fewest_group_channels;
  return outputs >= fewest && depth >= fewest && outputs <= costs.most_pairs / depth;
}

/// F(4x4, 3x3), with taps that may be apart in oneDNN's layout, or F(4, 3) along a line in NCHW, one step at a time.
bool FitsWinograd(const ConvProblem& problem) {
  const Window& window = problem.window;
  const bool nchwc = problem.layout == ConvLayout::kNchwc;
  if (problem.groups != 1 || problem.strided() || window.output.num_elements() == 0) return false;
  if (window.rank() == 1) return !nchwc && window.kernel[0] == 3;
  if (window.rank() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t dilation = window.dilations[i];
    if (window.kernel[i] != 3 || dilation > (nchwc ? window.output[i] : 1)) return false;
    if (window.begin[i] > 2 * dilation || window.end[i] > 2 * dilation) return false;
  }
  return true;
}

void AddWinograd(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  if (!problem.constant_weights || !FitsWinograd(problem) ||
      !HasChannelsToTransform(problem, problem.channels, costs.winograd))
    return;
  const bool many =
      problem.window.rank() > 1 && static_cast<double>(problem.channels) * static_cast<double>(problem.outputs) >
                                       static_cast<double>(costs.winograd.many_pairs);
  const double margin = many ? costs.winograd.many_pairs_margin : costs.winograd.margin;
  ranked.Add(ConvAlgorithm::kWinograd, WinogradNs(problem, costs) / margin);
}

bool IsPointwise(const ConvProblem& problem) {
  const auto none = [](const Shape& pads) { return std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; }); };
  const Window& window = problem.window;
  return problem.taps() == 1 && window.input.num_elements() > 0 && none(window.begin) && none(window.end);
}

bool FitsKn2Row(const ConvProblem& problem, const DirectLimits& limits) {
  const Window& window = problem.window;
  if (!problem.constant_weights || problem.groups != 1 || problem.taps() == 1 || problem.strided() ||
      problem.outputs > limits.kn2row_outputs || problem.channels < limits.kn2row_channels)
    return false;
  for (size_t i = 0; i < window.rank(); ++i) {
    if (window.begin[i] >= window.extent(i) || window.input[i] == 0) return false;
  }
  const double pixels = static_cast<double>(window.input.num_elements());
  const double elements = pixels * static_cast<double>(problem.outputs * problem.taps());
  return elements <= std::max(limits.kn2row_elements, pixels * static_cast<double>(problem.channels));
}

/// Taps that are far apart may make a laid out image of padding.
bool LaysOutLittle(const ConvProblem& problem, const GatherCosts& costs) {
  const PhasePlanes planes(problem.window.WithRank(PhasePlanes::kAxes));
  const double channels = static_cast<double>(problem.channels),
               image = channels * problem.input_pixels() / static_cast<double>(problem.images());
  return channels * static_cast<double>(planes.planes()) * static_cast<double>(planes.plane()) <=
         std::max(costs.laid_elements, costs.laid_times * image);
}

/// Where its estimate puts it beside the best of the others, whose estimates say how they compare with each other.
void AddImplicitGemm(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  if (problem.types != ConvTypes::kFloat || !problem.constant_weights || !problem.known_image ||
      !PhasePlanes::Fits(problem.window) || !LaysOutLittle(problem, costs.gathers))
    return;
  const ConvCandidate& best = ranked.front();
  ranked.Add(ConvAlgorithm::kImplicitGemm, best.ns * ImplicitGemmNs(problem, costs) / WholeNs(problem, best, costs));
}

DepthwiseShape DepthwiseShapeOf(const ConvProblem& problem) {
  const Window& window = problem.window;
  return {problem.channels, problem.group_outputs(), window.input[0], window.input[1],  window.output[0],
          window.output[1], window.begin[0],         window.begin[1], window.kernel[0], window.strides[0]};
}

bool FitsDepthwisePlanes(const ConvProblem& problem) {
  const Window& window = problem.window;
  return window.rank() == 2 && window.kernel[0] == window.kernel[1] && window.strides[0] == window.strides[1] &&
         !problem.dilated() && SuitsDepthwise(DepthwiseShapeOf(problem));
}

bool FitsDepthwiseNchw8c(const ConvProblem& problem, const DepthwiseCosts& costs) {
  const Window& window = problem.window;
  if (!SuitsChannelBlocks() || window.rank() != 2 || problem.group_outputs() != 1 || problem.channels % kChannelBlock != 0)
    return false;
  if (std::min(window.kernel[0], window.kernel[1]) < costs.nchw8c_kernel && window.output[1] > costs.nchw8c_short_row)
    return false;
  if (problem.batch * problem.channels / kChannelBlock < problem.threads) return false;
  const int64_t row = (window.output[1] - 1) * window.strides[1] + window.extent(1);  // that windows read, with padding
  if (window.begin[1] >= row) return false;
  const int64_t pixels = window.input[0] * row + window.output.num_elements();
  return pixels <= costs.nchw8c_bytes / (kChannelBlock * int64_t{sizeof(float)});
}

/// Of an image's, those that lie inside it.
double ProductsInside(const Window& window) {
  double products = 1;
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    int64_t inside = 0;
    for (int64_t k = 0; k < window.kernel[axis]; ++k) {
      const int64_t first = k * window.dilations[axis] - window.begin[axis], stride = window.strides[axis];
      const int64_t begin = first >= 0 ? 0 : CeilDiv(-first, stride);
      const int64_t end = first >= window.input[axis] ? 0 : (window.input[axis] - 1 - first) / stride + 1;
      inside += std::max<int64_t>(0, std::min(end, window.output[axis]) - begin);
    }
    products *= static_cast<double>(inside);
  }
  return products;
}

/// Nothing where planes or windows are too large, or the image is not known.
std::optional<double> SmallPlanesNs(const ConvProblem& problem, const DepthwiseCosts& costs) {
  const int64_t input = problem.window.input.num_elements(), output = problem.window.output.num_elements(),
                taps = problem.taps(), lanes = SmallPlanesTogether(), batch = problem.images();
  if (lanes == 0 || input == 0 || input > kMostSmallPixels || output == 0 || output > kMostSmallPixels ||
      taps > kMostSmallTaps)
    return std::nullopt;
  const auto multiple = static_cast<double>(problem.group_outputs());
  const auto squares = [&](int64_t pixels) { return pixels == 1 ? 0.0 : static_cast<double>(CeilDiv(pixels, lanes)); };
  // Weights stay for all images where groups do not reach from one to the next.
  const double weights =
      multiple * squares(taps) / (multiple == 1 && problem.channels % lanes == 0 ? static_cast<double>(batch) : 1);
  const double of_group =
      costs.group_ns + costs.square_ns * (squares(input) + multiple * squares(output) + weights) +
      multiple * (costs.pixel_ns * static_cast<double>(output) + costs.meeting_ns * ProductsInside(problem.window));
  return costs.table_ns * static_cast<double>(output * taps) +
         static_cast<double>(CeilDiv(batch * problem.channels, lanes)) * of_group;
}

double DepthwiseNs(const ConvProblem& problem, const DepthwiseCost& cost) {
  const double planes = static_cast<double>(problem.images() * problem.channels);
  const double elements = static_cast<double>(problem.channels) * problem.input_pixels() +
                          static_cast<double>(problem.outputs) * problem.output_pixels();
  return planes * cost.plane_ns + problem.multiply_adds() * cost.product_ns + elements * cost.element_ns;
}

void RankDepthwise(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  const DepthwiseCosts& depthwise = costs.depthwise;
  if (problem.types == ConvTypes::kFloat) {
    if (const auto ns = SmallPlanesNs(problem, depthwise)) ranked.Add(ConvAlgorithm::kDepthwiseSmallPlanes, *ns);
    if (FitsDepthwisePlanes(problem)) ranked.Add(ConvAlgorithm::kDepthwisePlanes, DepthwiseNs(problem, depthwise.planes));
    if (FitsDepthwiseNchw8c(problem, depthwise))
      ranked.Add(ConvAlgorithm::kDepthwiseNchw8c, DepthwiseNs(problem, depthwise.nchw8c));
  }
  ranked.Add(ConvAlgorithm::kDepthwise, DepthwiseNs(problem, depthwise.rows));
}

/// Planes so small that a GEMM of each would hardly begin.
bool HasSmallPlanes(const ConvProblem& problem, const DepthwiseCosts& costs) {
  const int64_t pixels = problem.window.output.num_elements();
  return pixels > 0 && pixels <= costs.small_plane;
}

/// Columns of a GEMM in whole vectors, over how many there are.
double Padded(int64_t columns, const DirectLimits& limits) {
  return columns == 0 ? 1 : static_cast<double>(RoundUp(columns, limits.columns)) / static_cast<double>(columns);
}

void RankNchw(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  if (problem.depthwise() && (problem.taps() > 1 || HasSmallPlanes(problem, costs.depthwise)))
    return RankDepthwise(problem, costs, ranked);
  const double ns = MultiplyNs(problem, costs);
  const bool is_float = problem.types == ConvTypes::kFloat, pointwise = IsPointwise(problem);
  // One image's pixels are a matrix as they lie.
  const bool batched = is_float && FitsBatched(problem, costs.batched) && !(pointwise && problem.batch == 1);
  // Windows are gathered anyway; rows of a pixel each are worth it where outputs fill vectors.
  if (batched) ranked.Add(ConvAlgorithm::kBatchedIm2col, pointwise ? ns * Padded(problem.outputs, costs.direct) : ns);
  if (is_float && FitsKn2Row(problem, costs.direct)) ranked.Add(ConvAlgorithm::kKn2Row, ns);
  const double rows = static_cast<double>(problem.group_outputs());
  if (FitsBatched(problem, {costs.direct.packed_pixels, costs.direct.packed_outputs, 0, 0, 0}))
    ranked.Add(pointwise ? ConvAlgorithm::kGemmPackedWeights : ConvAlgorithm::kIm2colPackedWeights,
               ns * (costs.direct.packed + costs.direct.packed_output / rows));
  const double few = std::max(rows, costs.direct.fewest_rows) / std::max(rows, 1.0);
  const double pixels = problem.known_image ? Padded(problem.window.output.num_elements(), costs.direct) : 1;
  ranked.Add(pointwise ? ConvAlgorithm::kGemm : ConvAlgorithm::kIm2col, ns * few * pixels);
  if (is_float && !batched) AddWinograd(problem, costs, ranked);
  AddImplicitGemm(problem, costs, ranked);
}

void AddForms(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  const int64_t depth = SliceDepth(problem), pairs = depth * problem.group_outputs();
  const WinogradCosts& winograd = costs.winograd;
  if (!problem.transposed && !HasChannelsToTransform(problem, depth, winograd)) return;
  const bool many = pairs > winograd.many_pairs / problem.groups;
  const Window window = Upright(problem.window);
  const int64_t taps = window.kernel[1] * window.kernel[2];
  for (const WinogradForm form : kWinogradForms) {
    if (form.transposed() != problem.transposed || !FitsForm(window, form)) continue;
    if (!problem.transposed && pairs > winograd.most_weights / form.num_weights()) continue;
    const bool line = form.y == WinogradAxisForm::kOne || form.x == WinogradAxisForm::kOne;
    // Of transposed convolutions all forms are such, and those with more weights must save something.
    const double margin = problem.transposed ? (form.num_weights() > taps ? winograd.margin : 1)
                          : many && !line    ? winograd.many_pairs_margin
                                             : winograd.margin;
    ranked.Add(ConvAlgorithm::kWinograd, Nchw8cWinogradNs(problem, window, form, costs) / margin, form);
  }
}

/// Of the multiplications with all of the window's taps, those that a direct convolution by regions does, but for the first
/// axis, along which Winograd's transform leaves out what reads padding, too. Nothing where regions do not pay.
std::optional<double> ShareByRegions(const ConvProblem& problem) {
  if (problem.layout != ConvLayout::kNchw8c || problem.taps() == 1) return std::nullopt;
  const Nchw8cRegions regions(problem.window);
  return regions.Pay() ? std::optional(regions.Share(1)) : std::nullopt;
}

void RankNchw8c(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  if (problem.depthwise() && problem.outputs == problem.groups) {
    ranked.Add(ConvAlgorithm::kDepthwise, DepthwiseNs(problem, costs.depthwise.planes));
    return;
  }
  if (!problem.transposed) {
    const std::optional<double> share = ShareByRegions(problem);
    ranked.Add(share ? ConvAlgorithm::kDirectByRegions : ConvAlgorithm::kDirect,
               Nchw8cDirectNs(problem, share.value_or(1), costs));
  }
  if (problem.layout != ConvLayout::kNchw8cFromPlanes) AddForms(problem, costs, ranked);
}

/// What windows of bytes take to be gathered, as panels of each image's pixels and as rows of all images'.
std::pair<double, double> GatherBytesNs(const ConvProblem& problem, const ByteLimits& costs) {
  const auto images = static_cast<double>(problem.images());
  const auto channels = static_cast<double>(problem.channels), taps = static_cast<double>(problem.taps());
  const double elements = channels * problem.input_pixels(), pixels = problem.output_pixels(),
               bytes = pixels * taps * channels;
  const double panels = elements * costs.panel_element_ns + images * channels * taps * costs.panel_row_ns +
                        bytes * (costs.panel_byte_ns + (problem.strided() ? costs.strided_byte_ns : 0));
  const double rows = elements * costs.pixel_element_ns + bytes * costs.pixel_byte_ns +
                      pixels * taps * (costs.pixel_tap_ns + costs.pixel_entry_ns / images);
  return {panels, rows};
}

void RankBytes(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  double ns = MultiplyNs(problem, costs);
  const bool packs = problem.constant_weights && problem.depth() <= INT32_MAX && PaddedRowsWidth() > 0;
  const bool tiny = problem.images() >= costs.bytes.few_images && FitsBatched(problem, costs.bytes.batched_few);
  if (packs && (tiny || FitsBatched(problem, costs.bytes.batched))) {
    ranked.Add(ConvAlgorithm::kBatchedIm2col, ns);
  } else if (packs && FitsBatched(problem, costs.bytes.batched_rows)) {
    const auto [panels, rows] = GatherBytesNs(problem, costs.bytes);
    ranked.Add(ConvAlgorithm::kBatchedIm2col, ns + rows);
    ns += panels;
  }
  if (problem.depthwise()) {
    if (problem.constant_weights) ranked.Add(ConvAlgorithm::kDepthwise, ns);
  } else {
    const int64_t few = costs.byte_dot_products ? costs.bytes.fewest_outputs - 1 : costs.bytes.direct_outputs;
    if (problem.constant_weights && problem.group_outputs() <= few) ranked.Add(ConvAlgorithm::kDirect, ns);
    if (packs && problem.group_outputs() >= costs.bytes.fewest_outputs &&
        PanelBytes(problem.depth(), true) <= costs.bytes.panel_bytes)
      ranked.Add(ConvAlgorithm::kIm2col, ns);
  }
  ranked.Add(ConvAlgorithm::kIm2colInt16, 2 * ns);
}

void RankNhwc(const ConvProblem& problem, const ConvCosts& costs, ConvCandidates& ranked) {
  const bool blocks = problem.depthwise() && problem.outputs == problem.groups && problem.groups >= DepthwiseNhwcWidth();
  ranked.Add(blocks ? ConvAlgorithm::kDepthwise : ConvAlgorithm::kIm2col, MultiplyNs(problem, costs));
}

}  // namespace

bool FitsBatched(const ConvProblem& problem, const BatchedIm2colLimits& limits) {
  const int64_t pixels = problem.window.output.num_elements();
  const int64_t most = problem.outputs < limits.usual_outputs ? limits.most_pixels_of_few : limits.most_pixels;
  return problem.constant_weights && problem.known_image && problem.groups == 1 &&
         problem.outputs >= limits.fewest_outputs && problem.channels >= limits.fewest_channels && pixels <= most;
}

std::string_view NameOf(ConvAlgorithm algorithm) {
  return std::ranges::find(kNames, algorithm, &std::pair<ConvAlgorithm, std::string_view>::first)->second;
}

ConvPreference ConvPreference::Parse(std::string_view hint) {
  if (hint == kDirectAlgorithm) return {kDirect};
  if (hint == kWinogradAlgorithm) return {kAlgorithm, ConvAlgorithm::kWinograd};
  const auto* found = std::ranges::find(kNames, hint, &std::pair<ConvAlgorithm, std::string_view>::second);
  return found == std::end(kNames) ? ConvPreference{} : ConvPreference{kAlgorithm, found->first};
}

const ConvCandidate* ConvCandidates::Find(ConvAlgorithm algorithm) const {
  const auto* found = std::ranges::find(*this, algorithm, &ConvCandidate::algorithm);
  return found == end() ? nullptr : found;
}

void ConvCandidates::Add(ConvAlgorithm algorithm, double ns, WinogradForm form) {
  size_t at = count_++;
  for (; at > 0 && held_[at - 1].ns > ns; --at) held_[at] = held_[at - 1];
  held_[at] = {algorithm, ns, form};
}

ConvCandidates ConvCandidates::Preferring(ConvPreference preference) const {
  ConvCandidates ordered;
  for (const bool wanted : {true, false}) {
    for (const ConvCandidate& candidate : *this) {
      if (preference.Wants(candidate.algorithm) == wanted) ordered.held_[ordered.count_++] = candidate;
    }
  }
  return ordered;
}

ConvCandidates RankConvAlgorithms(const ConvProblem& problem, const ConvCosts& costs) {
  ConvCandidates ranked;
  const bool bytes = problem.types == ConvTypes::kBytes || problem.types == ConvTypes::kBytesToInt32;
  switch (problem.layout) {
    case ConvLayout::kNchw: bytes ? RankBytes(problem, costs, ranked) : RankNchw(problem, costs, ranked); break;
    case ConvLayout::kNchw8c:
    case ConvLayout::kNchw8cFromPlanes:
    case ConvLayout::kNchw8cFromNchw: RankNchw8c(problem, costs, ranked); break;
    case ConvLayout::kNchwc:
      ranked.Add(ConvAlgorithm::kDirect, MultiplyNs(problem, costs));
      AddWinograd(problem, costs, ranked);
      break;
    case ConvLayout::kNhwc: RankNhwc(problem, costs, ranked); break;
  }
  return ranked;
}

ConvCandidates RankConvAlgorithms(const ConvProblem& problem) { return RankConvAlgorithms(problem, ConvCostsHere()); }

bool MayTransform(const ConvProblem& problem) {
  const Shape& kernel = problem.window.kernel;
  return kernel.rank() == 2 && !problem.transposed && !problem.strided() && HasWinogradForm(kernel[0], kernel[1], 1) &&
         HasChannelsToTransform(problem, problem.group_channels(), ConvCostsHere().winograd);
}

}  // namespace tessera::cpu
