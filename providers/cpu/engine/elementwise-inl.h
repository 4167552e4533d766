// Span loops from functors, compiled once per instruction set: include it after hwy/highway.h in a file that
// foreach_target.h includes again. The functors are either plain expressions that the compiler vectorizes or are written
// on Highway's vectors. One that holds something is read from the loop's params.

#if defined(TESSERA_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ELEMENTWISE_INL_H_
#undef TESSERA_ELEMENTWISE_INL_H_
#else
#define TESSERA_ELEMENTWISE_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/engine/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class F>
HWY_INLINE F ReadFunctor(const void* params) {
  F f;
  if constexpr (!std::is_empty_v<F>) std::memcpy(static_cast<void*>(&f), params, sizeof(F));
  return f;
}

/// F: `R operator()(T x) const`. The pragma allows exact aliasing of input and output.
template <class T, class R, class F>
void UnaryLoop(const void* const* inputs, unsigned, void* output, int64_t count, const void* params) {
  const T* x = static_cast<const T*>(inputs[0]);
  R* y = static_cast<R*>(output);
  const F f = ReadFunctor<F>(params);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
}

/// F: `R operator()(T a, T b) const`.
template <class T, class R, class F>
void BinaryLoop(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const T* a = static_cast<const T*>(inputs[0]);
  const T* b = static_cast<const T*>(inputs[1]);
  R* y = static_cast<R*>(output);
  const F f = ReadFunctor<F>(params);
  if (count == 1) {
    y[0] = f(a[0], b[0]);
    return;
  }
  switch (advancing & 3) {
    case 1: {
      const T scalar = *b;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], scalar);
      break;
    }
    case 2: {
      const T scalar = *a;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) y[i] = f(scalar, b[i]);
      break;
    }
    default:
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  }
}

/// F on vectors: `V operator()(D d, V x) const`. The tail goes through a buffer, so F sees only full vectors (zeros fill
/// it).
template <class T, class F>
void VectorUnaryLoop(const void* const* inputs, unsigned, void* output, int64_t count, const void* params) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* x = static_cast<const T*>(inputs[0]);
  T* y = static_cast<T*>(output);
  const F f = ReadFunctor<F>(params);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto first = f(d, hn::LoadU(d, x + i));
    const auto second = f(d, hn::LoadU(d, x + i + lanes));
    hn::StoreU(first, d, y + i);
    hn::StoreU(second, d, y + i + lanes);
  }
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i < count) {
    HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(T)] = {};
    const size_t bytes = static_cast<size_t>(count - i) * sizeof(T);
    std::memcpy(tail, x + i, bytes);
    hn::Store(f(d, hn::Load(d, tail)), d, tail);
    std::memcpy(y + i, tail, bytes);
  }
}

/// F on vectors: `V operator()(D d, V a, V b) const`.
template <class T, class F>
void VectorBinaryLoop(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* a = static_cast<const T*>(inputs[0]);
  const T* b = static_cast<const T*>(inputs[1]);
  T* y = static_cast<T*>(output);
  const F f = ReadFunctor<F>(params);
  const bool a_advances = (advancing & 1) != 0;
  const bool b_advances = (advancing & 2) != 0;
  const auto a_scalar = hn::Set(d, *a);
  const auto b_scalar = hn::Set(d, *b);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto left = a_advances ? hn::LoadU(d, a + i) : a_scalar;
    const auto right = b_advances ? hn::LoadU(d, b + i) : b_scalar;
    hn::StoreU(f(d, left, right), d, y + i);
  }
  if (i < count) {
    HWY_ALIGN T tails[2][HWY_MAX_BYTES / sizeof(T)] = {};
    const size_t bytes = static_cast<size_t>(count - i) * sizeof(T);
    if (a_advances) std::memcpy(tails[0], a + i, bytes);
    if (b_advances) std::memcpy(tails[1], b + i, bytes);
    const auto left = a_advances ? hn::Load(d, tails[0]) : a_scalar;
    const auto right = b_advances ? hn::Load(d, tails[1]) : b_scalar;
    hn::Store(f(d, left, right), d, tails[0]);
    std::memcpy(y + i, tails[0], bytes);
  }
}

/// The loop that `find.template operator()<T>()` gives for the number type that `type` names; null for other types.
template <class Find>
SpanLoop LoopOfNumber(ElementType type, const Find& find) {
  switch (type) {
    case ElementType::kFloat: return find.template operator()<float>();
    case ElementType::kDouble: return find.template operator()<double>();
    case ElementType::kInt8: return find.template operator()<int8_t>();
    case ElementType::kInt16: return find.template operator()<int16_t>();
    case ElementType::kInt32: return find.template operator()<int32_t>();
    case ElementType::kInt64: return find.template operator()<int64_t>();
    case ElementType::kUInt8: return find.template operator()<uint8_t>();
    case ElementType::kUInt16: return find.template operator()<uint16_t>();
    case ElementType::kUInt32: return find.template operator()<uint32_t>();
    case ElementType::kUInt64: return find.template operator()<uint64_t>();
    default: return nullptr;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#endif  // toggle
