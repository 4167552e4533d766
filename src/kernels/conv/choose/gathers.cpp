#include "kernels/conv/choose/gathers.h"

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "kernels/conv/nchw/implicit_gemm.h"
#include "kernels/conv/nchw/phase_planes.h"

namespace tessera::cpu {
namespace {

double Number(int64_t number) { return static_cast<double>(number); }

/// Sizes of a convolution, and of its images as ConvInput (conv_input.h) lays them out: rows by phases of the last stride.
struct Sizes {
  explicit Sizes(const ConvProblem& problem)
      : images(Number(problem.images())),
        groups(Number(problem.groups)),
        depth(Number(problem.depth())),
        taps(Number(problem.taps())),
        outputs(Number(problem.group_outputs())),
        pixels(Number(problem.window.output.num_elements())) {
    const Window& window = problem.window;
    const size_t last = window.rank() - 1;
    const int64_t stride = window.strides[last], extent = window.extent(last);
    row_pixels = Number(window.output[last]);
    laid_rows = images * Number(problem.channels) * Number(std::min(stride, extent));
    for (size_t i = 0; i < last; ++i) laid_rows *= Number((window.output[i] - 1) * window.strides[i] + window.extent(i));
    laid_elements = laid_rows * Number(window.output[last] + (extent - 1) / stride);
    inputs = images * Number(problem.channels) * Number(window.input.num_elements());
  }

  double images, groups, depth, taps, outputs, pixels, row_pixels, laid_rows, laid_elements, inputs;
};

/// Vectors of products of so many rows by panels of two vectors.
double PanelProducts(double rows, double depth, double columns, int64_t lanes) {
  return rows * depth * 2 * std::ceil(columns / Number(2 * lanes));
}

double Im2colNs(const Sizes& s, const GatherCosts& costs, int64_t lanes) {
  const double panels = std::ceil(s.pixels / Number(2 * lanes)), items = s.images * s.groups;
  const double runs = panels + s.pixels / s.row_pixels;
  return costs.im2col_ns + items * costs.im2col_item_ns +
         items * s.depth * (panels * costs.panel_row_ns + runs * costs.panel_run_ns) + s.laid_rows * costs.laid_row_ns +
         s.laid_elements * costs.laid_element_ns +
         items * PanelProducts(std::max(s.outputs, costs.fewest_outputs), s.depth, s.pixels, lanes) * costs.product_ns +
         items * s.outputs * s.pixels * costs.im2col_output_ns;
}

double PackedWeightsNs(const Sizes& s, const GatherCosts& costs, int64_t lanes) {
  const double gathered = s.images * s.depth;
  return costs.packed_ns + s.images * costs.packed_image_ns + gathered * s.pixels / s.row_pixels * costs.column_row_ns +
         gathered * s.pixels * costs.column_element_ns + s.laid_rows * costs.column_laid_row_ns +
         s.images * PanelProducts(s.pixels + costs.fewest_rows, s.depth, s.outputs, lanes) * costs.product_ns +
         s.images * s.pixels * s.outputs * costs.transposed_output_ns;
}

double BatchedNs(const Sizes& s, const GatherCosts& costs, int64_t lanes) {
  const double rows = s.images * s.pixels;
  return costs.batched_ns + s.inputs * costs.transposed_input_ns + rows * s.taps * costs.pixel_tap_ns +
         PanelProducts(rows + costs.fewest_rows, s.depth, s.outputs, lanes) * costs.product_ns +
         rows * s.outputs * costs.transposed_output_ns;
}

double PickedNs(const ConvProblem& problem, const Sizes& s, const GatherCosts& costs) {
  if (!problem.strided()) return 0;
  return s.images * s.groups * s.depth * s.pixels * (problem.window.rank() > 1 ? costs.picked_ns : costs.picked_line_ns);
}

double GemmNs(const Sizes& s, const GatherCosts& costs, int64_t lanes) {
  const double items = s.images * s.groups, panels = std::ceil(s.pixels / Number(2 * lanes));
  return costs.gemm_ns + items * costs.gemm_item_ns + items * s.depth * panels * costs.gemm_panel_row_ns +
         items * PanelProducts(std::max(s.outputs, costs.fewest_outputs), s.depth, s.pixels, lanes) * costs.product_ns +
         items * s.outputs * s.pixels * costs.gemm_output_ns;
}

double PackedGemmNs(const Sizes& s, const GatherCosts& costs, int64_t lanes) {
  return costs.packed_gemm_ns +
         s.images * PanelProducts(s.pixels + costs.fewest_rows, s.depth, s.outputs, lanes) * costs.product_ns +
         s.images * s.pixels * s.outputs * costs.packed_output_ns;
}

/// Of its estimate.
double WinogradShare(const ConvProblem& problem, const GatherCosts& costs) {
  if (problem.window.rank() > 1) return costs.winograd + costs.winograd_output / Number(problem.outputs);
  const bool is_long = problem.window.output[0] > costs.long_line && problem.outputs >= costs.long_line_outputs;
  return is_long ? costs.winograd_line : costs.winograd_short_line;
}

}  // namespace

double ImplicitGemmNs(const ConvProblem& problem, const ConvCosts& costs) {
  const ImplicitGemmCosts& implicit = costs.implicit_gemm;
  const PhasePlanes planes(problem.window.WithRank(PhasePlanes::kAxes));
  const int64_t batch = problem.images(), together = planes.Together(problem.channels, batch), lanes = costs.lanes,
                outputs = problem.group_outputs(), rows = ImplicitGemmRows(outputs), blocks = CeilDiv(outputs, rows),
                panel = ImplicitGemmPanel(rows);
  double vectors = 0, panels = 0;
  const auto add = [&](int64_t images, int64_t times) {
    const int64_t run = (images - 1) * planes.plane() + planes.run();
    vectors += Number(times) * Number(CeilDiv(run, lanes));
    panels += Number(times) * Number(CeilDiv(run, panel));
  };
  add(together, batch / together);
  if (batch % together != 0) add(batch % together, 1);
  const double steps = Number(blocks) * Number(problem.depth()) * Number(problem.groups);
  const double products = steps * vectors * Number(rows), loads = steps * (2 * vectors + panels * Number(rows));
  const double laid = planes.in_place() ? 0 : Number(batch) * Number(problem.channels) * Number(planes.planes());
  const double columns = Number(planes.rows()) * Number(CeilDiv(planes.row(), lanes));
  const int64_t pixels = problem.window.output.num_elements(),
                row_pixels = planes.run() == pixels ? pixels : problem.window.output[problem.window.rank() - 1];
  const double out_rows =
      Number(batch) * Number(problem.outputs) * Number(pixels / row_pixels) * Number(CeilDiv(row_pixels, lanes));
  return implicit.begin_ns + Number(problem.depth()) * implicit.offset_ns +
         laid * (implicit.plane_ns + columns * implicit.row_ns) + std::max(products, loads) / 2 * implicit.step_ns +
         panels * Number(blocks) * Number(problem.groups) * implicit.tile_ns + out_rows * implicit.output_row_ns;
}

double WholeNs(const ConvProblem& problem, const ConvCandidate& candidate, const ConvCosts& costs) {
  const GatherCosts& gathers = costs.gathers;
  const Sizes sizes(problem);
  switch (candidate.algorithm) {
    case ConvAlgorithm::kIm2col: return Im2colNs(sizes, gathers, costs.lanes);
    case ConvAlgorithm::kIm2colPackedWeights: return PackedWeightsNs(sizes, gathers, costs.lanes);
    case ConvAlgorithm::kBatchedIm2col: return BatchedNs(sizes, gathers, costs.lanes);
    case ConvAlgorithm::kGemm: return GemmNs(sizes, gathers, costs.lanes) + PickedNs(problem, sizes, gathers);
    case ConvAlgorithm::kGemmPackedWeights:
      return PackedGemmNs(sizes, gathers, costs.lanes) + PickedNs(problem, sizes, gathers);
    case ConvAlgorithm::kWinograd: return WinogradShare(problem, gathers) * candidate.ns;
    default: return gathers.other * candidate.ns;
  }
}

}  // namespace tessera::cpu
