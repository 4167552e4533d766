// Panels of pixels for GEMMs of unsigned with signed bytes.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/pack_pixels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "kernels/gemm/gemm_u8s8.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;

constexpr int kLanes = static_cast<int>(HWY_LANES(int32_t));
constexpr int kWidth = 2 * kLanes;
constexpr int64_t kRecord = 4 * kWidth;  // bytes of a group of a panel

/// 16 bytes, or 8 and zeros.
template <int kBytes>
HWY_INLINE auto LoadBytes(const uint8_t* from) {
  const hn::FixedTag<uint8_t, 16> d8;
  if constexpr (kBytes == 16) return hn::LoadU(d8, from);
  else return hn::ZeroExtendVector(d8, hn::LoadU(hn::FixedTag<uint8_t, kBytes>(), from));
}

/// Four rows of kWidth bytes, interleaved.
HWY_INLINE void Interleave(const uint8_t* const rows[4], uint8_t flip, uint8_t* out) {
  constexpr int kStep = kWidth < 16 ? kWidth : 16;
  const hn::FixedTag<uint8_t, 16> d8;
  const hn::FixedTag<uint16_t, 8> d16;
  const auto change = hn::Set(d8, flip);
  for (int j = 0; j < kWidth; j += kStep, out += 4 * kStep) {
    const auto v0 = hn::Xor(LoadBytes<kStep>(rows[0] + j), change), v1 = hn::Xor(LoadBytes<kStep>(rows[1] + j), change);
    const auto v2 = hn::Xor(LoadBytes<kStep>(rows[2] + j), change), v3 = hn::Xor(LoadBytes<kStep>(rows[3] + j), change);
    const auto low01 = hn::BitCast(d16, hn::InterleaveLower(d8, v0, v1)),
               low23 = hn::BitCast(d16, hn::InterleaveLower(d8, v2, v3));
    hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, low01, low23)), d8, out);
    hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, low01, low23)), d8, out + 16);
    if constexpr (kStep == 16) {
      const auto high01 = hn::BitCast(d16, hn::InterleaveUpper(d8, v0, v1)),
                 high23 = hn::BitCast(d16, hn::InterleaveUpper(d8, v2, v3));
      hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, high01, high23)), d8, out + 32);
      hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, high01, high23)), d8, out + 48);
    }
  }
}

/// Two rows of kWidth bytes as pairs of 16 bits.
HWY_INLINE void InterleaveWide(const uint8_t* const rows[2], uint8_t flip, uint8_t* out) {
  const hn::Rebind<uint8_t, D32> half;
  const hn::Rebind<uint32_t, D32> d32;
  const auto change = hn::Set(half, flip);
  for (int j = 0; j < kWidth; j += kLanes) {
    const auto low = hn::PromoteTo(d32, hn::Xor(hn::LoadU(half, rows[0] + j), change));
    const auto high = hn::PromoteTo(d32, hn::Xor(hn::LoadU(half, rows[1] + j), change));
    hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), d32, reinterpret_cast<uint32_t*>(out) + j);
  }
}

void Pack(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out) {
  constexpr int kSlack = 16;
  HWY_ALIGN uint8_t copies[4][kWidth + kSlack] = {};
  const uint8_t* rows[4];
  const int together = source.wide ? 2 : 4;
  for (int64_t k = 0; k < source.rows; k += together, out += kRecord) {
    for (int i = 0; i < together; ++i) {
      rows[i] = copies[i];
      if (k + i >= source.rows) continue;  // weights are 0 there
      const uint8_t* row = source.base + source.offsets[k + i];
      if (count == 1 && row + runs[0].from + kWidth <= source.end) {
        rows[i] = row + runs[0].from;
        continue;
      }
      for (size_t r = 0; r < count; ++r) {
        const uint8_t* from = row + runs[r].from;
        uint8_t* to = copies[i] + runs[r].to;
        if (from + runs[r].length + 8 > source.end) {
          std::memcpy(to, from, static_cast<size_t>(runs[r].length));
          continue;
        }
        for (int64_t j = 0; j < runs[r].length; j += 8) std::memcpy(to + j, from + j, 8);
      }
    }
    source.wide ? InterleaveWide(rows, source.flip, out) : Interleave(rows, source.flip, out);
  }
}

int64_t Width() { return kWidth; }

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Pack);
HWY_EXPORT(Width);

int64_t PanelWidth() { return HWY_DYNAMIC_DISPATCH(Width)(); }

int64_t PanelBytes(int64_t rows, bool wide) { return (wide ? (rows + 1) / 2 : (rows + 3) / 4) * 4 * PanelWidth(); }

void PackPixels(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Pack)(source, runs, count, out);
}

}  // namespace tessera::cpu
#endif
