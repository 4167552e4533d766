#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/export.h"

namespace tessera {

/// The dimensions of a tensor. A small value: up to kInlineRank dimensions live inside it, so that copying one in the run
/// loop allocates nothing. Dimensions are non-negative; rank 0 is a scalar.
class TESSERA_API Shape {
 public:
  static constexpr size_t kInlineRank = 8;
  /// More than the address space holds. Empty tensors keep to it with their other dimensions, so that no kernel's strides
  /// and offsets overflow over elements that are not there.
  static constexpr int64_t kMostElements = int64_t{1} << 48;

  Shape() noexcept {}
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) { Assign(dims); }
  explicit Shape(size_t rank, int64_t fill = 0) {
    Resize(rank);
    std::fill_n(data(), rank, fill);
  }
  Shape(const Shape& other) { Assign(other.dims()); }
  Shape(Shape&& other) noexcept { *this = std::move(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) Assign(other.dims());
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept {
    if (this == &other) return *this;
    rank_ = other.rank_;
    std::copy_n(other.inline_, kInlineRank, inline_);
    heap_ = std::move(other.heap_);
    if (heap_) other.rank_ = 0;  // its dimensions are gone
    return *this;
  }

  size_t rank() const noexcept { return rank_; }
  const int64_t* data() const noexcept { return heap_ ? heap_.get() : inline_; }
  int64_t* data() noexcept { return heap_ ? heap_.get() : inline_; }
  std::span<const int64_t> dims() const noexcept { return {data(), rank_}; }
  int64_t operator[](size_t i) const noexcept { return data()[i]; }
  int64_t& operator[](size_t i) noexcept { return data()[i]; }
  const int64_t* begin() const noexcept { return data(); }
  const int64_t* end() const noexcept { return data() + rank_; }
  int64_t* begin() noexcept { return data(); }
  int64_t* end() noexcept { return data() + rank_; }
  int64_t back() const noexcept { return data()[rank_ - 1]; }

  void Append(int64_t dim);
  void Assign(std::span<const int64_t> dims);

  /// Product of all dimensions; 1 for a scalar. Throws Error for negative dimensions and for more than kMostElements.
  int64_t num_elements() const;

  /// Product of the dimensions in [begin, end).
  int64_t SizeOfRange(size_t begin, size_t end) const;

  bool operator==(const Shape& other) const noexcept {
    return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
  }

  /// "[2,3,224,224]"
  std::string ToString() const;

 private:
  void Resize(size_t rank);

  size_t rank_ = 0;
  int64_t inline_[kInlineRank] = {};
  std::unique_ptr<int64_t[]> heap_;  // set only for rank > kInlineRank
};

/// One dimension that may be known (value >= 0), named ("batch") or unknown (value -1, no name).
struct Dimension {
  int64_t value = -1;
  std::string symbol;

  bool known() const noexcept { return value >= 0; }
  bool operator==(const Dimension&) const = default;
};

/// Shape as far as the graph tells it before inputs are seen.
using SymbolicShape = std::vector<Dimension>;

/// The concrete shape, when every dimension is known.
TESSERA_API std::optional<Shape> ToShape(const SymbolicShape& shape);

/// "[batch,3,?,224]"
TESSERA_API std::string ToString(const SymbolicShape& shape);

}  // namespace tessera
