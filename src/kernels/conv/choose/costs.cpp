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
/// Squares of fewer lanes: of 8 measured on an EPYC with AVX2, of 4 by their elements.
constexpr DepthwiseCosts kDepthwise256 = {.square_ns = 7}, kDepthwise128 = {.square_ns = 2};

/// A row states what differs from the usual costs, which were measured on Zen 3 and Zen 4.
constexpr ConvCosts kCosts[] = {
    {.machine = "SSE4.2", .lanes = 4, .byte_dot_products = false, .depthwise = kDepthwise128},
    {.machine = "AVX2", .lanes = 8, .byte_dot_products = false, .depthwise = kDepthwise256},
    {.machine = "AVX2, VNNI", .lanes = 8, .byte_dot_products = true, .depthwise = kDepthwise256},
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
