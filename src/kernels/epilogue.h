#pragma once

// What GEMMs and convolutions of floats do to a result before they store it.

#include <cstdint>

#include "kernels/elementwise/activation.h"

namespace tessera::cpu {

/// activation(result + bias + residual). A GEMM's output channels are the columns of C, or its rows.
template <class T>
struct Epilogue {
  const T* bias = nullptr;      // by output channel
  const T* residual = nullptr;  // laid out as the result
  const T* slopes = nullptr;    // kPRelu: by output channel
  Activation<T> activation;
  bool channels_are_rows = false;  // of a GEMM's C

  explicit operator bool() const { return bias != nullptr || residual != nullptr || activation; }

  const T* row_bias() const { return channels_are_rows ? bias : nullptr; }
  const T* col_bias() const { return channels_are_rows ? nullptr : bias; }

  /// Of what begins at an output channel, `at` elements from the first in memory.
  Epilogue From(int64_t channel, int64_t at) const {
    Epilogue part = *this;
    if (bias != nullptr) part.bias += channel;
    if (residual != nullptr) part.residual += at;
    if (slopes != nullptr) part.slopes += channel;
    return part;
  }
};

}  // namespace tessera::cpu
