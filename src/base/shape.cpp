#include "tessera/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "base/rank.h"
#include "base/shortened.h"

namespace tessera {

namespace {

/// Dimensions that texts tell: of more, their number.
constexpr size_t kMostTold = 16;

/// Room for so many dimensions and more: where their number is a power of two, a further one asks for new memory.
std::unique_ptr<int64_t[]> RoomFor(size_t rank) { return std::make_unique<int64_t[]>(std::bit_ceil(rank)); }

/// `dimension(i)` gives the text of one.
template <class DimensionText>
std::string DimensionsText(size_t rank, DimensionText dimension) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(rank, kMostTold); ++i) text += (i > 0 ? "," : "") + dimension(i);
  if (rank > kMostTold) text += fmt::format(",... ({} dimensions)", rank);
  return text + "]";
}

}  // namespace

void Shape::Resize(size_t rank) {
  if (rank > kInlineRank && rank > rank_) heap_ = RoomFor(rank);
  if (rank <= kInlineRank) heap_.reset();
  rank_ = rank;
}

void Shape::Assign(std::span<const int64_t> dims) {
  if (dims.size() > kInlineRank) {
    auto heap = RoomFor(dims.size());  // `dims` may point into this shape
    std::copy(dims.begin(), dims.end(), heap.get());
    heap_ = std::move(heap);
  } else {
    // The old dimensions live until the new ones, which may be some of them, are here.
    const std::unique_ptr<int64_t[]> before = std::move(heap_);
    if (!dims.empty()) std::memmove(inline_, dims.data(), dims.size_bytes());
  }
  rank_ = dims.size();
}

void Shape::Append(int64_t dim) {
  if (rank_ < kInlineRank) {
    inline_[rank_++] = dim;
    return;
  }
  if (std::has_single_bit(rank_)) {
    auto heap = RoomFor(rank_ + 1);
    std::copy(begin(), end(), heap.get());
    heap_ = std::move(heap);
  }
  heap_[rank_++] = dim;
}

int64_t Shape::num_elements() const {
  Require(rank_ <= kMostRank, "{} dimensions, a tensor has at most {}", rank_, kMostRank);
  int64_t product = 1;
  bool zero = false;
  for (int64_t dim : dims()) {
    if (dim < 0) Fail(ErrorCode::kInvalidArgument, "shape {} has a negative dimension", ToString());
    zero = zero || dim == 0;
    if (__builtin_mul_overflow(product, dim == 0 ? 1 : dim, &product) || product > kMostElements) {
      Fail(ErrorCode::kInvalidArgument, "shape {} asks for more than {} elements, dimensions of 0 aside", ToString(),
           kMostElements);
    }
  }
  return zero ? 0 : product;
}

int64_t Shape::SizeOfRange(size_t begin, size_t end) const {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product = CheckedMul(product, (*this)[i]);
  return product;
}

std::string Shape::ToString() const {
  return DimensionsText(rank_, [this](size_t i) { return std::to_string((*this)[i]); });
}

std::optional<Shape> ToShape(const SymbolicShape& shape) {
  Shape result(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].known()) return std::nullopt;
    result[i] = shape[i].value;
  }
  return result;
}

std::string ToString(const SymbolicShape& shape) {
  return DimensionsText(shape.size(), [&shape](size_t i) {
    if (shape[i].known()) return std::to_string(shape[i].value);
    return shape[i].symbol.empty() ? std::string("?") : Shortened(shape[i].symbol);
  });
}

}  // namespace tessera
