#include "kernels/conv/choose/costs.h"

#include <algorithm>
#include <iterator>

#include "base/cpu_features.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {
namespace {

/// Sapphire Rapids: 72 multiply-adds a nanosecond in large convolutions, and lines transformed as fast as they are loaded.
constexpr double kProduct512Ns = 1.0 / 72;
constexpr WinogradCosts kWinograd512 = {.line_tile_ns = 1.2};
/// Fitted on Zen 3 to what Winograd and direct convolutions in NCHW8c take of 137 windows: picks by it lose 1 % to the
/// better of both.
constexpr WinogradCosts kWinograd256 = {.nchw8c_point_ns = 0.2, .nchw8c_gemm_ns = 9, .nchw8c_image_ns = 900};
/// Squares of fewer lanes: of 8 measured on an EPYC with AVX2, of 4 by their elements.
constexpr DepthwiseCosts kDepthwise256 = {.square_ns = 7}, kDepthwise128 = {.square_ns = 2};

/// Fitted on Zen 3 with AVX2 to 355 convolutions by im2col, within 19 %, and to 60 to 380 of each other kind, within 22 to
/// 33 %.
constexpr GatherCosts kGathers256 = {.product_ns = 0.145,
                                     .im2col_ns = 1440,
                                     .im2col_item_ns = 23,
                                     .panel_row_ns = 0.88,
                                     .panel_run_ns = 0.91,
                                     .laid_row_ns = 1.14,
                                     .laid_element_ns = 0.237,
                                     .im2col_output_ns = 0.27,
                                     .packed_ns = 920,
                                     .packed_image_ns = 39,
                                     .column_row_ns = 0.67,
                                     .column_element_ns = 0.44,
                                     .column_laid_row_ns = 2.76,
                                     .batched_ns = 223,
                                     .transposed_input_ns = 0.19,
                                     .pixel_tap_ns = 3.5,
                                     .transposed_output_ns = 0.49,
                                     .gemm_ns = 1320,
                                     .gemm_item_ns = 61,
                                     .gemm_panel_row_ns = 2.24,
                                     .gemm_output_ns = 0.22,
                                     .picked_ns = 0.52,
                                     .packed_gemm_ns = 482,
                                     .packed_output_ns = 0.48};
constexpr ImplicitGemmCosts kImplicitGemm256 = {.begin_ns = 1200,
                                                .offset_ns = 0.136,
                                                .plane_ns = 3.25,
                                                .row_ns = 1.9,
                                                .step_ns = 0.375,
                                                .tile_ns = 17.3,
                                                .output_row_ns = 1.44};

/// A row states what differs from the defaults of costs.h.
constexpr ConvCosts kCosts[] = {
    {.machine = "SSE4.2", .lanes = 4, .byte_dot_products = false, .depthwise = kDepthwise128},
    {.machine = "AVX2",
     .lanes = 8,
     .byte_dot_products = false,
     .winograd = kWinograd256,
     .gathers = kGathers256,
     .implicit_gemm = kImplicitGemm256,
     .depthwise = kDepthwise256},
    {.machine = "AVX2, VNNI",
     .lanes = 8,
     .byte_dot_products = true,
     .winograd = kWinograd256,
     .gathers = kGathers256,
     .implicit_gemm = kImplicitGemm256,
     .depthwise = kDepthwise256},
    {.machine = "AVX-512", .lanes = 16, .byte_dot_products = false, .product_ns = kProduct512Ns, .winograd = kWinograd512},
    {.machine = "AVX-512, VNNI",
     .lanes = 16,
     .byte_dot_products = true,
     .product_ns = kProduct512Ns,
     .winograd = kWinograd512},
};

}  // namespace

const ConvCosts& ConvCostsHere() {
  static const bool dot_products = HasByteDotProducts();
  const int64_t lanes = GemmPanelWidth<float>() / 2;
  const auto* found = std::ranges::find_if(
      kCosts, [&](const ConvCosts& row) { return row.lanes == lanes && row.byte_dot_products == dot_products; });
  return found == std::end(kCosts) ? kCosts[0] : *found;
}

}  // namespace tessera::cpu
