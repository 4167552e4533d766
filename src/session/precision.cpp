#include "session/precision.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera {
namespace {

/// The instructions for products of 16-bit factors that oneDNN rounds float32 ones for; the system must save their registers.
bool HasProducts(Precision precision) {
#if defined(__x86_64__)
  constexpr unsigned kXsave = 1u << 27, kVectorState = 7u << 5 | 3u << 1, kTileState = 3u << 17;
  constexpr unsigned kTile = 1u << 24, kTileBFloat16 = 1u << 22, kTileFloat16 = 1u << 21, kVectorBFloat16 = 1u << 5;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kXsave) == 0) return false;
  unsigned saved, high;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool tiles = (saved & kTileState) == kTileState && (d & kTile) != 0;
  if (precision == Precision::kBFloat16 && tiles && (d & kTileBFloat16) != 0) return true;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return false;
  if (precision == Precision::kFloat16) return tiles && (a & kTileFloat16) != 0;
  return (saved & kVectorState) == kVectorState && (a & kVectorBFloat16) != 0;
#else
  return precision == Precision::kFloat32;
#endif
}

}  // namespace

Precision UsablePrecision(Precision requested, const Logger& log) {
  if (requested != Precision::kBFloat16 && requested != Precision::kFloat16) return requested;
  if (HasProducts(requested)) return requested;
  log(LogLevel::kWarning, "session.precision is {}, which needs {}; this processor does not have it: all runs at f32", NameOf(requested),
      requested == Precision::kBFloat16 ? "AVX512-BF16 or AMX-BF16" : "AMX-FP16");
  return Precision::kFloat32;
}

void CheckPrecisionUsed(Precision precision, const PlacementReport& placement, const Logger& log) {
  if (precision == Precision::kFloat32) return;
  const auto used = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                  [&](const PlacementReport::NodeEntry& node) { return node.precision == NameOf(precision); });
  const auto not_used = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                      [](const PlacementReport::NodeEntry& node) { return node.precision == "f32"; });
  const bool unused = used == 0 && not_used > 0;
  const std::string_view who = precision == Precision::kInt8Dynamic
                                   ? "; products with constant matrices on CPU may, where the optimizer runs"
                                   : "; those on DnnlExecutionProvider may";
  log(unused ? LogLevel::kWarning : LogLevel::kInfo,
      "session.precision is {}: {} nodes run at it, {} convolutions and products at f32{}", NameOf(precision), used, not_used,
      unused ? who : "");
}

}  // namespace tessera
