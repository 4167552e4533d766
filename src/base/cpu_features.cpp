#include "base/cpu_features.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <string_view>

namespace tessera {

#if defined(__x86_64__) || defined(__i386__)

namespace {

/// Of the leaf of extended features: the registers that it fills.
struct Features {
  unsigned a = 0, b = 0, c = 0, d = 0;

  explicit Features(unsigned subleaf) {
    if (__get_cpuid_count(7, subleaf, &a, &b, &c, &d) == 0) a = b = c = d = 0;
  }
};

#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
/// The system keeps tiles for processes that ask (arch_prctl(2), Linux 5.16).
bool AskForTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool AskForTiles() { return false; }
#endif

}  // namespace

bool HasAmxInt8() {
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  static const bool has = (Features(0).d & (kTile | kInt8)) == (kTile | kInt8) && AskForTiles();
  return has;
}

bool HasAvx512Vnni() { return (Features(0).c & (1u << 11)) != 0; }
bool HasAvx512Vbmi() { return (Features(0).c & (1u << 1)) != 0; }
// `a` of the first: how many more there are.
bool HasAvxVnni() { return Features(0).a >= 1 && (Features(1).a & (1u << 4)) != 0; }
bool HasAvx512Bf16() { return Features(0).a >= 1 && (Features(1).a & (1u << 5)) != 0; }

bool HasFastAvx512Bf16() {
  unsigned most = 0, vendor[3] = {};
  if (!HasAvx512Bf16() || __get_cpuid(0, &most, &vendor[0], &vendor[2], &vendor[1]) == 0) return false;
  return std::string_view(reinterpret_cast<const char*>(vendor), sizeof(vendor)) != "GenuineIntel";
}

std::string InstructionSets() {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  std::string text = wide ? "AVX-512" : __builtin_cpu_supports("avx2") != 0 ? "AVX2" : "SSE2";
  if (wide && HasAvx512Vnni()) text += ", VNNI";
  if (wide && HasAvx512Vbmi()) text += ", VBMI";
  if (wide && HasAvx512Bf16()) text += ", BF16";
  if (HasAvxVnni()) text += ", AVX-VNNI";
  if (wide && HasAmxInt8()) text += ", AMX";
  return text;
}

#else

std::string InstructionSets() { return "portable"; }
bool HasAvx512Vnni() { return false; }
bool HasAvxVnni() { return false; }
bool HasAvx512Vbmi() { return false; }
bool HasAvx512Bf16() { return false; }
bool HasFastAvx512Bf16() { return false; }
bool HasAmxInt8() { return false; }

#endif

}  // namespace tessera
