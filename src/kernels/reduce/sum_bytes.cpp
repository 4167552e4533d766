#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/sum_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/reduce/sum_bytes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Adds whole vectors from `i` on; `flip` makes signed bytes 128 more.
template <class D>
HWY_INLINE int64_t AddVectors(D d, const uint8_t* bytes, uint8_t flip, int64_t size, int64_t& i) {
  const hn::Repartition<uint64_t, D> d64;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (i + lanes > size) return 0;
  const auto flips = hn::Set(d, flip);
  auto even = hn::Zero(d64), odd = hn::Zero(d64);
  for (; i + 2 * lanes <= size; i += 2 * lanes) {
    even = hn::Add(even, hn::SumsOf8(hn::Xor(hn::LoadU(d, bytes + i), flips)));
    odd = hn::Add(odd, hn::SumsOf8(hn::Xor(hn::LoadU(d, bytes + i + lanes), flips)));
  }
  for (; i + lanes <= size; i += lanes) even = hn::Add(even, hn::SumsOf8(hn::Xor(hn::LoadU(d, bytes + i), flips)));
  return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(d64, hn::Add(even, odd))));
}

/// Of planes of few vectors: two at a time, so that their sums take one store.
HWY_INLINE void SumSmallPlanes(const uint8_t* bytes, uint8_t flip, int64_t planes, int64_t size, int64_t* sums) {
  const hn::FixedTag<uint8_t, 16> d;
  const hn::FixedTag<uint64_t, 2> d64;
  const int64_t whole = size / 16 * 16;
  const auto flips = hn::Set(d, flip);
  const auto rest = hn::VecFromMask(d, hn::FirstN(d, static_cast<size_t>(size - whole)));
  const auto excess = hn::Set(d64, flip == 0 ? 0 : static_cast<uint64_t>(128 * size));
  const uint8_t* const end = bytes + planes * size;
  const auto halves = [&](const uint8_t* plane) HWY_ATTR {
    auto sum = hn::Zero(d64);
    for (int64_t i = 0; i < whole; i += 16) sum = hn::Add(sum, hn::SumsOf8(hn::Xor(hn::LoadU(d, plane + i), flips)));
    if (whole == size) return sum;
    uint8_t last[16] = {};
    const uint8_t* from = plane + whole;
    if (end - from < 16) from = static_cast<const uint8_t*>(std::memcpy(last, from, static_cast<size_t>(size - whole)));
    return hn::Add(sum, hn::SumsOf8(hn::And(hn::Xor(hn::LoadU(d, from), flips), rest)));
  };
  for (int64_t p = 0; p < planes; p += 2, bytes += 2 * size) {
    const bool two = p + 1 < planes;
    const auto first = halves(bytes), second = two ? halves(bytes + size) : first;
    const auto both = hn::Add(hn::InterleaveLower(d64, first, second), hn::InterleaveUpper(d64, first, second));
    const auto sum = hn::BitCast(hn::FixedTag<int64_t, 2>(), hn::Sub(both, excess));
    if (two) hn::StoreU(sum, hn::FixedTag<int64_t, 2>(), sums + p);
    else sums[p] = hn::GetLane(sum);
  }
}

void SumPlanes(const uint8_t* bytes, bool is_signed, int64_t planes, int64_t size, int64_t* sums) {
  constexpr int64_t kSmall = 128;
  const hn::ScalableTag<uint8_t> d;
  const hn::CappedTag<uint8_t, 16> d16;
  const uint8_t flip = is_signed ? 0x80 : 0;
  if (size <= kSmall) return SumSmallPlanes(bytes, flip, planes, size, sums);
  for (int64_t plane = 0; plane < planes; ++plane, bytes += size) {
    int64_t i = 0;
    int64_t sum = AddVectors(d, bytes, flip, size, i);
    sum += AddVectors(d16, bytes, flip, size, i);
    for (; i < size; ++i) sum += bytes[i] ^ flip;
    sums[plane] = is_signed ? sum - 128 * size : sum;
  }
}

/// The quantized values of a vector of means.
template <class T>
void QuantizeMeansAs(const QuantizedMean& how, const int64_t* sums, int64_t count, T* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<T, decltype(d)> d8;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  constexpr int64_t kBlock = 64;
  HWY_ALIGN int32_t few[kBlock] = {};
  HWY_ALIGN T results[kBlock];
  const auto low = hn::Set(d, static_cast<float>(std::numeric_limits<T>::min())),
             high = hn::Set(d, static_cast<float>(std::numeric_limits<T>::max()));
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    for (int64_t i = 0; i < n; ++i) few[i] = static_cast<int32_t>(sums[first + i]);
    for (int64_t i = 0; i < n; i += kLanes) {
      const auto sum = hn::ConvertTo(d, hn::Load(di, few + i));
      const auto mean = hn::Sub(hn::Div(sum, hn::Set(d, static_cast<float>(how.elements))), hn::Set(d, how.zero));
      const auto scaled = hn::Div(hn::Mul(mean, hn::Set(d, how.scale)), hn::Set(d, how.result_scale));
      const auto rounded = hn::Add(hn::Round(scaled), hn::Set(d, how.result_zero));
      const auto clamped = hn::IfThenElse(hn::Ge(rounded, low), hn::Min(rounded, high), low);  // NaN becomes the least
      hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(di, clamped)), d8, results + i);
    }
    std::copy_n(results, n, to + first);
  }
}

void Means(const QuantizedMean& how, const int64_t* sums, int64_t count, uint8_t* to) {
  how.is_signed ? QuantizeMeansAs(how, sums, count, reinterpret_cast<int8_t*>(to)) : QuantizeMeansAs(how, sums, count, to);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(SumPlanes);
HWY_EXPORT(Means);

void SumBytes(const uint8_t* bytes, bool is_signed, int64_t planes, int64_t size, int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(SumPlanes)(bytes, is_signed, planes, size, sums);
}

void QuantizeMeans(const QuantizedMean& how, const int64_t* sums, int64_t count, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(Means)(how, sums, count, to);
}

}  // namespace tessera::cpu
#endif
