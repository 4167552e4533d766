#pragma once

// Tensors of any float type seen as rows of the type that is computed in.

#include <cstdint>

#include "base/cancellable_memory.h"
#include "cpu/engine/convert_row.h"
#include "tessera/value.h"

namespace tessera::cpu {

/// double for double, else float.
inline bool ComputesInDouble(ElementType type) { return type == ElementType::kDouble; }

/// Reads float, double, Float16 and BFloat16 tensors as C.
template <class C>
class RowReader {
 public:
  explicit RowReader(const Tensor& tensor) : RowReader(tensor.type(), tensor.raw()) {}
  RowReader(ElementType type, const void* data);

  /// True where Read returns the tensor's own memory.
  bool direct() const noexcept { return load_ == nullptr; }
  /// `count` elements from `first` on: in place, or converted into `buffer`.
  const C* Read(int64_t first, int64_t count, C* buffer) const {
    if (load_ == nullptr) return static_cast<const C*>(data_) + first;
    load_(data_, first, count, buffer);
    return buffer;
  }
  /// Copies to `out` in any case.
  void Copy(int64_t first, int64_t count, C* out) const {
    const C* row = Read(first, count, out);
    if (row != out) CopyCancellably(out, row, count);
  }

 private:
  const void* data_;
  void (*load_)(const void* data, int64_t first, int64_t count, C* out);
};

/// Writes them.
template <class C>
class RowWriter {
 public:
  explicit RowWriter(Tensor& tensor) : RowWriter(tensor.type(), tensor.mutable_raw()) {}
  RowWriter(ElementType type, void* data);

  bool direct() const noexcept { return store_ == nullptr; }
  /// Where to compute the elements from `first` on: in place, or `buffer`, which Flush converts.
  C* At(int64_t first, C* buffer) const { return store_ == nullptr ? static_cast<C*>(data_) + first : buffer; }
  void Flush(int64_t first, int64_t count, const C* buffer) const {
    if (store_ != nullptr) store_(buffer, count, data_, first);
  }
  void Write(int64_t first, C value) const {
    C* at = At(first, &value);
    *at = value;
    Flush(first, 1, &value);
  }

 private:
  void* data_;
  void (*store_)(const C* in, int64_t count, void* data, int64_t first);
};

}  // namespace tessera::cpu
