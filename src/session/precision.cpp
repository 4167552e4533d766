#include "session/precision.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera {
namespace {

/// The matrix instructions that oneDNN rounds float32 factors for; the system must save their registers.
bool HasMatrixTiles(Precision precision) {
#if defined(__x86_64__)
  constexpr unsigned kXsave = 1u << 27, kTileState = 3u << 17, kTile = 1u << 24, kBFloat16 = 1u << 22, kFloat16 = 1u << 21;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kXsave) == 0) return false;
  unsigned saved, high;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((saved & kTileState) != kTileState) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kTile) == 0) return false;
  if (precision == Precision::kBFloat16) return (d & kBFloat16) != 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kFloat16) != 0;
#else
  return precision == Precision::kFloat32;
#endif
}

}  // namespace

Precision UsablePrecision(Precision requested, const Logger& log) {
  if (requested != Precision::kBFloat16 && requested != Precision::kFloat16) return requested;
  if (HasMatrixTiles(requested)) return requested;
  log(LogLevel::kWarning, "session.precision is {}, which needs {}; this processor does not have it: all runs at f32", NameOf(requested),
      requested == Precision::kBFloat16 ? "AMX-BF16" : "AMX-FP16");
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
