#pragma once

// Rows of attention scores: softcap, bias, and softmax taken a block of keys at a time.

#include <cstdint>

namespace tessera::cpu {

/// row = softcap * tanh(row / softcap); T is float or double.
template <class T>
void SoftcapRow(T* row, int64_t count, T softcap);

/// row += bias.
template <class T>
void AddRow(T* row, const T* bias, int64_t count);

template <class T>
T MaxOfRow(const T* row, int64_t count);

/// row = exp(row - max); returns the sum. `max` is finite and no smaller than any element.
template <class T>
T ExpRow(T* row, int64_t count, T max);

template <class T>
void ScaleRow(T* row, int64_t count, T factor);

#define TESSERA_DECLARE(T)                          \
  template <>                                       \
  void SoftcapRow<T>(T * row, int64_t count, T cap); \
  template <>                                       \
  void AddRow<T>(T * row, const T* bias, int64_t count); \
  template <>                                       \
  T MaxOfRow<T>(const T* row, int64_t count);       \
  template <>                                       \
  T ExpRow<T>(T * row, int64_t count, T max);       \
  template <>                                       \
  void ScaleRow<T>(T * row, int64_t count, T factor);
TESSERA_DECLARE(float)
TESSERA_DECLARE(double)
#undef TESSERA_DECLARE

}  // namespace tessera::cpu
