#include "session/precision.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/cpu_features.h"
#include "session/provider_selection.h"

namespace tessera {
namespace {

/// The instructions for products of 16-bit factors that providers round float32 ones for; the system must save their registers.
bool HasProducts(Precision precision) {
#if defined(__x86_64__)
  constexpr unsigned kXsave = 1u << 27, kVectorState = 7u << 5 | 3u << 1, kTileState = 3u << 17;
  constexpr unsigned kTile = 1u << 24, kTileBFloat16 = 1u << 22, kTileFloat16 = 1u << 21;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kXsave) == 0) return false;
  unsigned saved, high;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool tiles = (saved & kTileState) == kTileState && (d & kTile) != 0;
  if (precision == Precision::kBFloat16) {
    return (tiles && (d & kTileBFloat16) != 0) || ((saved & kVectorState) == kVectorState && HasAvx512Bf16());
  }
  return tiles && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kTileFloat16) != 0;
#else
  return precision == Precision::kFloat32;
#endif
}

/// Where it is not used: what could.
std::string_view WhatMay(Precision precision) {
  if (precision == Precision::kInt8Dynamic) return "; products with constant matrices on CPU may, where the optimizer runs";
  if (precision == Precision::kFloat16) return "; convolutions and products on DnnlExecutionProvider may";
  return "; convolutions and products on DnnlExecutionProvider may, and on CPU attention of several queries, and products and recurrent operators "
         "with constant weights";
}

}  // namespace

Precision UsablePrecision(Precision requested, std::string_view setting, const Logger& log) {
  if (requested != Precision::kBFloat16 && requested != Precision::kFloat16) return requested;
  if (!HasProducts(requested)) {
    log(LogLevel::kWarning, "{} is {}, which needs {}; this processor does not have it: all runs at f32", setting, NameOf(requested),
        requested == Precision::kBFloat16 ? "AVX512-BF16 or AMX-BF16" : "AMX-FP16");
    return Precision::kFloat32;
  }
  const auto known = AllProviders();
  if (std::any_of(known.begin(), known.end(), [&](const ProviderFactory* provider) { return Offers(*provider, NameOf(requested)); })) {
    return requested;
  }
  log(LogLevel::kWarning, "{} is {}, at which no provider of this build computes (oneDNN does from version 3 on): all runs at f32", setting,
      NameOf(requested));
  return Precision::kFloat32;
}

bool Offers(const ProviderFactory& provider, std::string_view precision) {
  return std::any_of(provider.options.begin(), provider.options.end(), [&](const OptionSchema& option) {
    return option.name == kPrecisionOption && std::find(option.allowed.begin(), option.allowed.end(), precision) != option.allowed.end();
  });
}

void CheckPrecisionUsed(Precision precision, const PlacementReport& placement, const Logger& log) {
  if (precision == Precision::kFloat32) return;
  const auto used = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                  [&](const PlacementReport::NodeEntry& node) { return node.precision == NameOf(precision); });
  const auto not_used = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                      [](const PlacementReport::NodeEntry& node) { return node.precision == "f32"; });
  const bool unused = used == 0 && not_used > 0;
  log(unused ? LogLevel::kWarning : LogLevel::kInfo,
      "session.precision is {}: {} nodes run at it, {} convolutions, products, attention and recurrent operators at f32{}", NameOf(precision),
      used, not_used, unused ? WhatMay(precision) : "");
}

}  // namespace tessera
