// Panels of pixels for GEMMs of unsigned with signed bytes.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/pack_pixels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/gemm/gemm_u8s8.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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

constexpr int kStep = kWidth < 16 ? kWidth : 16;
constexpr int kPanelParts = kWidth / kStep;
using D8 = hn::FixedTag<uint8_t, 16>;
using V8 = hn::Vec<D8>;

/// Reads kStep adjacent pixels of a row, from one run or several: those of a later run replace what an earlier one has in
/// their places.
template <bool kSingle>
class RunReader {
 public:
  RunReader(const PixelRun* runs, size_t count) : count_(count) {
    const D8 d8;
    HWY_ALIGN uint8_t places[kWidth < 16 ? 16 : kWidth];
    for (int i = 0; i < kWidth; ++i) places[i] = static_cast<uint8_t>(i);
    for (size_t r = 0; r < count; ++r) {
      shifts_[r] = runs[r].from - runs[r].to;
      const V8 first = hn::Set(d8, static_cast<uint8_t>(runs[r].to));
      for (int part = 0; r > 0 && part < kPanelParts; ++part) {  // places up to 63: Max() compares them as bytes
        const auto later = hn::Eq(hn::Max(hn::Load(d8, places + part * kStep), first), hn::Load(d8, places + part * kStep));
        hn::Store(hn::VecFromMask(d8, later), d8, later_ + (r * kPanelParts + static_cast<size_t>(part)) * 16);
      }
    }
  }

  HWY_INLINE V8 Read(const uint8_t* row, int part) const {
    const D8 d8;
    row += part * kStep;
    V8 pixels = LoadBytes<kStep>(row + shifts_[0]);
    if constexpr (kSingle) return pixels;
    for (size_t r = 1; r < count_; ++r) {
      const V8 later = hn::Load(d8, later_ + (r * kPanelParts + static_cast<size_t>(part)) * 16);
      pixels = hn::IfThenElse(hn::MaskFromVec(later), LoadBytes<kStep>(row + shifts_[r]), pixels);
    }
    return pixels;
  }

 private:
  static constexpr size_t kMost = kSingle ? 1 : kWidth;  // runs of a pixel each
  size_t count_;
  int64_t shifts_[kMost];
  HWY_ALIGN uint8_t later_[kMost * kPanelParts * 16];
};

/// Four rows of bytes become groups of four; two become pairs of 16 bits, as if there were rows of zeros between them.
template <bool kWide, class Reader>
HWY_INLINE void PackRecord(const Reader& reader, const uint8_t* const rows[4], V8 flip, uint8_t* out) {
  const D8 d8;
  const hn::FixedTag<uint16_t, 8> d16;
  for (int part = 0; part < kPanelParts; ++part, out += 4 * kStep) {
    const auto read = [&](int i) HWY_ATTR { return hn::Xor(reader.Read(rows[i], part), flip); };
    const V8 zeros = hn::Zero(d8), v0 = read(0), v1 = kWide ? zeros : read(1), v2 = read(kWide ? 1 : 2),
             v3 = kWide ? zeros : read(3);
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

/// `row_of(k)`: where row k begins. Behind the last row weights are 0: it stands there once more.
template <bool kWide, class Reader, class RowOf>
HWY_INLINE void PackRows(const PixelSource& source, const Reader& reader, const RowOf& row_of, uint8_t* out) {
  constexpr int kTogether = kWide ? 2 : 4;
  const V8 flip = hn::Set(D8(), source.flip);
  const uint8_t* rows[4];
  int64_t k = 0;
  for (; k + kTogether <= source.rows; k += kTogether, out += kRecord) {
    for (int i = 0; i < kTogether; ++i) rows[i] = row_of(k + i, i);
    PackRecord<kWide>(reader, rows, flip, out);
  }
  if (k == source.rows) return;
  for (int i = 0; i < kTogether; ++i) rows[i] = row_of(std::min(k + i, source.rows - 1), i);
  PackRecord<kWide>(reader, rows, flip, out);
}

template <class Reader, class RowOf>
HWY_INLINE void PackRows(const PixelSource& source, const Reader& reader, const RowOf& row_of, uint8_t* out) {
  source.wide ? PackRows<true>(source, reader, row_of, out) : PackRows<false>(source, reader, row_of, out);
}

/// Without reading a byte beside the runs.
void PackByBytes(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out) {
  HWY_ALIGN uint8_t copies[4][kWidth < 16 ? 16 : kWidth] = {};
  constexpr PixelRun kWhole{0, 0, kWidth};
  const auto copy = [&](int64_t k, int i) {
    const uint8_t* row = source.base + source.offsets[k];
    for (size_t r = 0; r < count; ++r)
      std::memcpy(copies[i] + runs[r].to, row + runs[r].from, static_cast<size_t>(runs[r].length));
    return static_cast<const uint8_t*>(copies[i]);
  };
  PackRows(source, RunReader<true>(&kWhole, 1), copy, out);
}

void Pack(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out) {
  // Runs follow each other in the row, too, so that what is read of a later one ahead of its pixels is of the row.
  const PixelRun& last = runs[count - 1];
  if (source.base + source.last_offset + last.from - last.to + kWidth > source.end)
    return PackByBytes(source, runs, count, out);
  const auto row_of = [&](int64_t k, int) { return source.base + source.offsets[k]; };
  if (count == 1) return PackRows(source, RunReader<true>(runs, count), row_of, out);
  PackRows(source, RunReader<false>(runs, count), row_of, out);
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
