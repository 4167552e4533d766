#pragma once

// Rows of attention scores: softcap, bias, and softmax over one block of keys at a time.

#include <cstdint>

#include "tessera/numeric.h"

namespace tessera::cpu {

/// row = softcap * tanh(row / softcap); T is float or double.
template <class T>
void SoftcapRow(T* row, int64_t count, T softcap);

/// row += bias.
template <class T>
void AddRow(T* row, const T* bias, int64_t count);

/// One query's way to a softmax over all keys, a block of them at a time.
template <class T>
struct ScoreRow {
  const T* bias = nullptr;  // null: none
  int64_t begin = 0;        // keys that the query sees
  int64_t end = 0;
  T max = 0;      // of the blocks so far
  T sum = 0;      // of exponentials of differences to it
  T rescale = 1;  // what the last block made of exponentials before it
};

/// Scores for keys [k0, k0 + keys), in rows `stride` apart, each of whole vectors (ScoreLanes). Adds the bias to those that
/// are seen and replaces them by exponentials of their differences to the greatest of them and `max`, or by 0 where there
/// is none but minus infinity; others up to the stride by 0. NaN stays NaN.
template <class T>
void SoftmaxRows(ScoreRow<T>* rows, int64_t count, T* scores, int64_t stride, int64_t k0, int64_t keys);

/// Scores of a row that are processed together: rows are of whole vectors.
template <class T>
int64_t ScoreLanes();

/// The greatest magnitude in rows of `count` numbers, `stride` apart; infinity or NaN where there is one.
template <class T>
T LargestMagnitude(const T* numbers, int64_t rows, int64_t stride, int64_t count);

template <class T>
void ScaleRow(T* row, int64_t count, T factor);

#define TESSERA_DECLARE(T)                                                                                     \
  template <>                                                                                                  \
  void SoftcapRow<T>(T * row, int64_t count, T cap);                                                           \
  template <>                                                                                                  \
  void AddRow<T>(T * row, const T* bias, int64_t count);                                                       \
  template <>                                                                                                  \
  void SoftmaxRows<T>(ScoreRow<T> * rows, int64_t count, T* scores, int64_t stride, int64_t k0, int64_t keys); \
  template <>                                                                                                  \
  T LargestMagnitude<T>(const T* numbers, int64_t rows, int64_t stride, int64_t count);                        \
  template <>                                                                                                  \
  int64_t ScoreLanes<T>();                                                                                     \
  template <>                                                                                                  \
  void ScaleRow<T>(T * row, int64_t count, T factor);
TESSERA_DECLARE(float)
TESSERA_DECLARE(double)
#undef TESSERA_DECLARE

}  // namespace tessera::cpu
