#include "kernels/conv/choose/estimates.h"

#include <algorithm>

#include "kernels/conv/nchw8c/nchw8c.h"
#include "kernels/conv/winograd/fit.h"

namespace tessera::cpu {
namespace {

/// Of a channel and an output of a group.
double Pairs(const ConvProblem& problem) { return static_cast<double>(problem.group_channels() * problem.group_outputs()); }

double Images(const ConvProblem& problem) { return static_cast<double>(problem.images()); }

/// A GEMM of so many pixels (tiles) by so many weights, which are read from memory meanwhile.
double Nchw8cGemmNs(double pixels, double weights, const ConvCosts& costs) {
  const double products = std::max(pixels, costs.winograd.fewest_pixels) * weights * costs.product_ns;
  const double reads = weights * costs.weight_ns;
  return std::max(products, reads) + costs.apart * std::min(products, reads);
}

}  // namespace

double MultiplyNs(const ConvProblem& problem, const ConvCosts& costs) { return problem.multiply_adds() * costs.product_ns; }

double WinogradNs(const ConvProblem& problem, const ConvCosts& costs) {
  const WinogradCosts& winograd = costs.winograd;
  const WinogradPlanes axis = PlanesOf(WinogradAxisForm::kFour);
  // oneDNN multiplies the tiles of all images at once; in NCHW each image reads the weights.
  const bool line = problem.window.rank() == 1, nchwc = problem.layout == ConvLayout::kNchwc;
  const double times = line || nchwc ? 1 : Images(problem);
  double points = 1, tiles = Images(problem) / times;
  for (size_t i = 0; i < problem.window.rank(); ++i) {
    points *= static_cast<double>(axis.points);
    tiles *= static_cast<double>(TilesAlong(problem.window, i, WinogradAxisForm::kFour).tiles());
  }
  const double transformed = static_cast<double>(problem.channels + problem.outputs);
  const double tile_ns = line ? winograd.line_tile_ns : nchwc ? winograd.nchwc_tile_ns : winograd.tile_ns;
  const double begin_ns = line || nchwc ? 0 : winograd.image_ns;
  return times * (points * Pairs(problem) * (std::max(tiles, winograd.fewest_tiles) * costs.product_ns + costs.weight_ns) +
                  tiles * transformed * tile_ns + begin_ns);
}

int64_t SliceDepth(const ConvProblem& problem) {
  const int64_t slices = problem.window.kernel[0];
  return problem.group_channels() * (problem.transposed ? CeilDiv(slices, problem.window.strides[0]) : slices);
}

double Nchw8cDirectNs(const ConvProblem& problem, double share, const ConvCosts& costs) {
  const double weights = Pairs(problem) * static_cast<double>(problem.taps());
  return Images(problem) * Nchw8cGemmNs(share * problem.output_pixels() / Images(problem), weights, costs);
}

double Nchw8cWinogradNs(const ConvProblem& problem, const Window& window, WinogradForm form, const ConvCosts& costs) {
  const int64_t depth = SliceDepth(problem), outputs = problem.group_outputs();
  const double images = Images(problem) * static_cast<double>(window.output[0]);
  const double tiles = static_cast<double>(TilesAlong(window, 1, form.y).tiles()) *
                       static_cast<double>(TilesAlong(window, 2, form.x).tiles());
  const WinogradCosts& winograd = costs.winograd;
  const double gemms = static_cast<double>(form.points() * CeilDiv(outputs, 2 * kChannelBlock));
  const double transforms = winograd.nchw8c_plane_ns * static_cast<double>(depth * form.planes()) +
                            winograd.nchw8c_point_ns * static_cast<double>(outputs * form.points());
  return images *
         (Nchw8cGemmNs(tiles, static_cast<double>(form.num_weights()) * static_cast<double>(depth * outputs), costs) +
          tiles * transforms + gemms * winograd.nchw8c_gemm_ns + winograd.nchw8c_image_ns);
}

}  // namespace tessera::cpu
