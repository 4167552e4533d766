#include "session/precision.h"

#include <fmt/format.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/cpu_features.h"
#include "session/provider_selection.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

#if defined(__x86_64__)

/// What the system saves of registers (XCR0).
unsigned SavedState() {
  constexpr unsigned kXsave = 1u << 27;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kXsave) == 0) return 0;
  unsigned saved, high;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  return saved;
}

/// GEMM by tiles (AMX) of bfloat16 or float16.
bool HasTileGemm(Precision precision) {
  constexpr unsigned kTileState = 3u << 17, kTile = 1u << 24, kTileBFloat16 = 1u << 22, kTileFloat16 = 1u << 21;
  unsigned a, b, c, d;
  if ((SavedState() & kTileState) != kTileState || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kTile) == 0)
    return false;
  if (precision == Precision::kBFloat16) return (d & kTileBFloat16) != 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kTileFloat16) != 0;
}

bool HasVectorGemm() {
  constexpr unsigned kVectorState = 7u << 5 | 3u << 1;
  return (SavedState() & kVectorState) == kVectorState && HasAvx512Bf16();
}

#else

bool HasTileGemm(Precision) { return false; }
bool HasVectorGemm() { return false; }

#endif

/// The instructions for matmuls of 16-bit operands that providers round float32 ones for; the system must save their
/// registers.
bool HasGemm(Precision precision) {
  return HasTileGemm(precision) || (precision == Precision::kBFloat16 && HasVectorGemm());
}

/// Where it is not used: what could.
std::string_view WhatMay(Precision precision) {
  if (precision == Precision::kInt8Dynamic) return "; matmuls with constant matrices on CPU may, where the optimizer runs";
  if (precision == Precision::kBFloat16Weights)
    return "; matmuls and recurrent operators with constant float32 weights on CPU may";
  if (precision == Precision::kFloat16) return "; convolutions and matmuls on DnnlExecutionProvider may";
  return "; convolutions and matmuls on DnnlExecutionProvider may, and on CPU attention of several queries, and matmuls "
         "and recurrent operators "
         "with constant weights";
}

}  // namespace

Precision UsablePrecision(Precision requested, std::string_view setting, const Logger& log) {
  if (requested != Precision::kBFloat16 && requested != Precision::kFloat16) return requested;
  if (!HasGemm(requested)) {
    log(LogLevel::kWarning, "{} is {}, which needs {}; this processor does not have it: all runs at f32", setting,
        NameOf(requested), requested == Precision::kBFloat16 ? "AVX512-BF16 or AMX-BF16" : "AMX-FP16");
    return Precision::kFloat32;
  }
  const auto known = AllProviders();
  if (std::any_of(known.begin(), known.end(),
                  [&](const ProviderFactory* provider) { return Offers(*provider, NameOf(requested)); })) {
    return requested;
  }
  log(LogLevel::kWarning,
      "{} is {}, at which no provider of this build computes (oneDNN does from version 3 on): all runs at f32", setting,
      NameOf(requested));
  return Precision::kFloat32;
}

bool Offers(const ProviderFactory& provider, std::string_view precision) {
  return std::any_of(provider.options.begin(), provider.options.end(), [&](const OptionSchema& option) {
    return option.name == kPrecisionOption &&
           std::find(option.allowed.begin(), option.allowed.end(), precision) != option.allowed.end();
  });
}

void CheckPrecisionUsed(Precision precision, const PlacementReport& placement, const Logger& log) {
  if (precision == Precision::kFloat32) return;
  const auto count = [&](Precision at) {
    return std::count_if(placement.nodes.begin(), placement.nodes.end(),
                         [&](const PlacementReport::NodeEntry& node) { return node.precision == NameOf(at); });
  };
  const auto used = count(precision), not_used = count(Precision::kFloat32);
  const auto weights = precision == Precision::kBFloat16 ? count(Precision::kBFloat16Weights) : 0;
  const bool unused = used + weights == 0 && not_used > 0;
  const bool slow = precision == Precision::kBFloat16 && !HasTileGemm(precision) && !HasFastAvx512Bf16();
  log(unused ? LogLevel::kWarning : LogLevel::kInfo,
      "session.precision is {}: {} nodes run at it, {}{} convolutions, matmuls, attention and recurrent operators at "
      "f32{}{}",
      NameOf(precision), used, weights > 0 ? fmt::format("{} at {}, ", weights, NameOf(Precision::kBFloat16Weights)) : "",
      not_used, slow ? "; without AMX this processor multiplies bfloat16 slower than float32" : "",
      unused ? fmt::format("{}; the placement says why not", WhatMay(precision)) : "");
}

}  // namespace tessera
