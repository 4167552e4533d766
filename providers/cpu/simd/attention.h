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

/// Scores of several queries with all keys. Rows reach to a multiple of GemmPanelWidth(): what is past `keys` may be anything.
template <class T>
struct ScoreRows {
  T* scores;
  int64_t stride;
  int64_t rows;
  int64_t keys;
  const T* bias;  // may be null
  int64_t bias_row;
};

/// Each row becomes exp(row + bias - its maximum), with the sums of these; a row of minus infinity becomes zeros.
template <class T>
void SoftmaxRows(const ScoreRows<T>& rows, T* maxima, T* sums);

/// Each row divided by its number.
template <class T>
void DivideRows(T* rows, int64_t stride, int64_t count, int64_t width, const T* by);

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
  void ScaleRow<T>(T * row, int64_t count, T factor); \
  template <>                                       \
  void SoftmaxRows<T>(const ScoreRows<T>& rows, T* maxima, T* sums); \
  template <>                                       \
  void DivideRows<T>(T * rows, int64_t stride, int64_t count, int64_t width, const T* by);
TESSERA_DECLARE(float)
TESSERA_DECLARE(double)
#undef TESSERA_DECLARE

}  // namespace tessera::cpu
