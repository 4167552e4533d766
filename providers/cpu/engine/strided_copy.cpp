#include "cpu/engine/strided_copy.h"

#include <algorithm>

#include "base/rounding.h"
#include "kernels/transpose/transpose.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kUnitBytes = 32 * 1024;  // what one step of ParallelFor moves at most, roughly

template <size_t Bytes>
void CopyFixedRows(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, src += src_stride, dst += dst_stride) std::memcpy(dst, src, Bytes);
}

/// Rows of Word < bytes <= 2 * Word bytes, as two words that overlap.
template <class Word>
void CopyShortRows(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                   int64_t bytes) {
  const int64_t last = bytes - static_cast<int64_t>(sizeof(Word));
  for (int64_t r = 0; r < rows; ++r, src += src_stride, dst += dst_stride) {
    Word first_word, last_word;
    std::memcpy(&first_word, src, sizeof(Word));
    std::memcpy(&last_word, src + last, sizeof(Word));
    std::memcpy(dst, &first_word, sizeof(Word));
    std::memcpy(dst + last, &last_word, sizeof(Word));
  }
}

struct Bits256 {
  Bits128 low, high;
};

void CopyStringRow(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<std::string*>(dst + i * dst_stride) = *reinterpret_cast<const std::string*>(src + i * src_stride);
  }
}

template <size_t Bytes>
void CopyStrided(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int k = 0; k < 4; ++k) std::memcpy(dst + k * dst_stride, src + k * src_stride, Bytes);
    src += 4 * src_stride;
    dst += 4 * dst_stride;
  }
  for (; i < count; ++i, src += src_stride, dst += dst_stride) std::memcpy(dst, src, Bytes);
}

using StridedRow = void (*)(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t count);

StridedRow StridedRowOf(ElementKind element) {
  if (element.is_string) return CopyStringRow;
  switch (element.bytes) {
    case 1: return CopyStrided<1>;
    case 2: return CopyStrided<2>;
    case 4: return CopyStrided<4>;
    case 8: return CopyStrided<8>;
    default: return CopyStrided<16>;
  }
}

void CopySpan(std::byte* dst, const std::byte* src, int64_t bytes, ElementKind element) {
  CopyElements(dst, src, bytes / element.bytes, element);
}

}  // namespace

void CopyRows(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t bytes,
              bool strings) {
  if (strings) {
    const int64_t count = bytes / static_cast<int64_t>(sizeof(std::string));
    for (int64_t r = 0; r < rows; ++r, src += src_stride, dst += dst_stride) {
      std::copy_n(reinterpret_cast<const std::string*>(src), count, reinterpret_cast<std::string*>(dst));
    }
    return;
  }
  // Where a call of memcpy would cost as much as the bytes.
  if (src_stride == 0 && dst_stride == bytes && bytes >= kRepeatedBytes && bytes <= 4096)
    return RepeatRow(src, dst, rows, bytes);
  switch (bytes) {
    case 1: return CopyFixedRows<1>(src, src_stride, dst, dst_stride, rows);
    case 2: return CopyFixedRows<2>(src, src_stride, dst, dst_stride, rows);
    case 4: return CopyFixedRows<4>(src, src_stride, dst, dst_stride, rows);
    case 8: return CopyFixedRows<8>(src, src_stride, dst, dst_stride, rows);
    case 16: return CopyFixedRows<16>(src, src_stride, dst, dst_stride, rows);
    default: break;
  }
  if (bytes < 4) return CopyShortRows<uint16_t>(src, src_stride, dst, dst_stride, rows, bytes);
  if (bytes < 8) return CopyShortRows<uint32_t>(src, src_stride, dst, dst_stride, rows, bytes);
  if (bytes < 16) return CopyShortRows<uint64_t>(src, src_stride, dst, dst_stride, rows, bytes);
  if (bytes <= 32) return CopyShortRows<Bits128>(src, src_stride, dst, dst_stride, rows, bytes);
  if (bytes <= 64) return CopyShortRows<Bits256>(src, src_stride, dst, dst_stride, rows, bytes);
  for (int64_t r = 0; r < rows; ++r, src += src_stride, dst += dst_stride)
    std::memcpy(dst, src, static_cast<size_t>(bytes));
}

void StridedCopy::Add(int64_t size, int64_t src_stride, int64_t dst_stride) {
  if (size == 0) empty_ = true;
  if (size == 1 || empty_) return;
  const Dim dim{size, src_stride * element_.bytes, dst_stride * element_.bytes};
  if (rank_ > 0) {
    Dim& outer = dims_[rank_ - 1];
    if (outer.src == dim.src * size && outer.dst == dim.dst * size) {
      outer = {outer.size * size, dim.src, dim.dst};
      return;
    }
  }
  if (rank_ == kMaxRank) {
    // Only a later empty dimension could make sense of this many elements.
    Fail(ErrorCode::kInvalidArgument, "more than {} dimensions larger than 1", kMaxRank);
  }
  dims_[rank_++] = dim;
}

/// A loop nest: dims[0 .. rank) plus the element moved innermost.
struct StridedCopy::Loops {
  Dim dims[kMaxRank];
  int rank = 0;
  ElementKind element;

  int64_t OuterCount(int inner_rank) const {
    int64_t count = 1;
    for (int i = 0; i < rank - inner_rank; ++i) count *= dims[i].size;
    return count;
  }
};

namespace {

/// Walks the first `rank` dims; offsets follow the indices.
template <class Dim>
class Odometer {
 public:
  Odometer(const Dim* dims, int rank, int64_t position) : dims_(dims), rank_(rank) {
    for (int i = rank - 1; i >= 0; --i) {
      index_[i] = position % dims[i].size;
      position /= dims[i].size;
      src_ += index_[i] * dims[i].src;
      dst_ += index_[i] * dims[i].dst;
    }
  }
  int64_t src() const { return src_; }
  int64_t dst() const { return dst_; }
  void Next() {
    for (int i = rank_ - 1; i >= 0; --i) {
      src_ += dims_[i].src;
      dst_ += dims_[i].dst;
      if (++index_[i] < dims_[i].size) return;
      src_ -= dims_[i].src * dims_[i].size;
      dst_ -= dims_[i].dst * dims_[i].size;
      index_[i] = 0;
    }
  }

 private:
  const Dim* dims_;
  int rank_;
  int64_t src_ = 0;
  int64_t dst_ = 0;
  int64_t index_[64];
};

}  // namespace

void StridedCopy::Run(ThreadPool& threads, const void* source, void* destination) const {
  if (empty_) return;
  const auto* src = static_cast<const std::byte*>(source);
  auto* dst = static_cast<std::byte*>(destination);
  Loops loops;
  loops.rank = rank_;
  loops.element = element_;
  std::copy_n(dims_, rank_, loops.dims);
  int64_t& bytes = loops.element.bytes;
  // A short contiguous run is one larger element.
  if (rank_ > 1 && !element_.is_string) {
    const Dim& last = loops.dims[rank_ - 1];
    if (last.src == bytes && last.dst == bytes && last.size <= 16) {
      const int64_t merged = last.size * bytes;
      if (merged == 2 || merged == 4 || merged == 8 || merged == 16) {
        bytes = merged;
        --loops.rank;
      }
    }
  }
  if (loops.rank == 0) return CopyElements(dst, src, 1, loops.element);
  const Dim& last = loops.dims[loops.rank - 1];
  if (last.src == bytes && last.dst == bytes) return RunRows(threads, loops, src, dst);
  if (last.dst == bytes && !element_.is_string) {
    for (int i = loops.rank - 2; i >= 0; --i) {
      if (loops.dims[i].src == bytes) return RunTranspose(threads, loops, i, src, dst);
    }
  }
  RunStrided(threads, loops, src, dst);
}

void StridedCopy::RunRows(ThreadPool& threads, Loops loops, const std::byte* src, std::byte* dst) const {
  const ElementKind element = loops.element;
  const Dim row = loops.dims[loops.rank - 1];
  if (loops.rank == 1) return CopyParallel(threads, dst, src, row.size, element);
  const Dim rows = loops.dims[loops.rank - 2];
  const int outer_rank = loops.rank - 2;
  const int64_t row_bytes = row.size * element.bytes;
  const int64_t row_step = std::clamp<int64_t>(kUnitBytes / row_bytes, 1, rows.size);
  const int64_t piece = row_bytes > 4 * kUnitBytes ? kUnitBytes / element.bytes * element.bytes : row_bytes;
  const int64_t row_units = CeilDiv(rows.size, row_step), pieces = CeilDiv(row_bytes, piece);
  const int64_t units_inside = row_units * pieces;
  const int64_t total = loops.OuterCount(2) * units_inside;
  const double cost = CopyCost(element) * static_cast<double>(row_step * piece / element.bytes) + 5;
  threads.ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
    Odometer<Dim> outer(loops.dims, outer_rank, begin / units_inside);
    int64_t unit = begin % units_inside;
    for (int64_t i = begin, run = 0; i < end; i += run) {
      run = pieces == 1 ? std::min(end - i, units_inside - unit) : 1;  // whole rows that follow each other
      const int64_t first_row = unit / pieces * row_step;
      const int64_t offset = unit % pieces * piece;
      CopyRows(src + outer.src() + first_row * rows.src + offset, rows.src,
               dst + outer.dst() + first_row * rows.dst + offset, rows.dst, std::min(run * row_step, rows.size - first_row),
               std::min(piece, row_bytes - offset), element.is_string);
      if ((unit += run) == units_inside) {
        unit = 0;
        outer.Next();
      }
    }
  });
}

void StridedCopy::RunTranspose(ThreadPool& threads, Loops loops, int inner, const std::byte* src, std::byte* dst) const {
  const int64_t bytes = loops.element.bytes;
  const Dim rows = loops.dims[loops.rank - 1];  // contiguous in the destination
  const Dim cols = loops.dims[inner];           // contiguous in the source
  std::copy(loops.dims + inner + 1, loops.dims + loops.rank - 1, loops.dims + inner);
  const int outer_rank = loops.rank - 2;
  loops.rank = outer_rank;
  int64_t row_step = std::min(rows.size, 256 / bytes), col_step = std::min(cols.size, 64 * 4 / std::min<int64_t>(bytes, 4));
  if (rows.size <= 16) col_step = std::min(cols.size, kUnitBytes / (rows.size * bytes));
  if (cols.size <= 16) row_step = std::min(rows.size, kUnitBytes / (cols.size * bytes));
  const int64_t row_units = CeilDiv(rows.size, row_step), col_units = CeilDiv(cols.size, col_step);
  const int64_t units_inside = row_units * col_units;
  const int64_t total = loops.OuterCount(0) * units_inside;
  const double cost = 0.15 * static_cast<double>(row_step * col_step * bytes) + 10;
  const TransposeTile tile = TransposeTileOf(bytes);
  threads.ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
    Odometer<Dim> outer(loops.dims, outer_rank, begin / units_inside);
    int64_t unit = begin % units_inside;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = unit % row_units * row_step, col = unit / row_units * col_step;
      tile(src + outer.src() + row * rows.src + col * bytes, rows.src, dst + outer.dst() + row * bytes + col * cols.dst,
           cols.dst, std::min(row_step, rows.size - row), std::min(col_step, cols.size - col));
      if (++unit == units_inside) {
        unit = 0;
        outer.Next();
      }
    }
  });
}

void StridedCopy::RunStrided(ThreadPool& threads, Loops loops, const std::byte* src, std::byte* dst) const {
  const ElementKind element = loops.element;
  const Dim row = loops.dims[loops.rank - 1];
  const int outer_rank = loops.rank - 1;
  const int64_t step = std::min<int64_t>(row.size, std::max<int64_t>(1, kUnitBytes / element.bytes));
  const int64_t pieces = CeilDiv(row.size, step);
  const int64_t total = loops.OuterCount(1) * pieces;
  StridedRow copy = StridedRowOf(element);
  if (!element.is_string && row.dst == element.bytes) {
    if (const StridedLoad load = StridedLoadOf(element.bytes, row.src); load != nullptr) copy = load;
  }
  const double cost = (element.is_string ? 25.0 : 0.6) * static_cast<double>(step) + 3;
  threads.ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
    Odometer<Dim> outer(loops.dims, outer_rank, begin / pieces);
    int64_t unit = begin % pieces;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = unit * step;
      copy(src + outer.src() + first * row.src, row.src, dst + outer.dst() + first * row.dst, row.dst,
           std::min(step, row.size - first));
      if (++unit == pieces) {
        unit = 0;
        outer.Next();
      }
    }
  });
}

void CopyParallel(ThreadPool& threads, void* dst, const void* src, int64_t count, ElementKind element) {
  // Pieces of whole cache lines, so that threads do not share one.
  const int64_t step = std::max<int64_t>(1, 4096 / element.bytes);
  threads.ParallelFor(CeilDiv(count, step), CopyCost(element) * static_cast<double>(step), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * step, last = std::min(end * step, count);
    CopySpan(static_cast<std::byte*>(dst) + first * element.bytes,
             static_cast<const std::byte*>(src) + first * element.bytes, (last - first) * element.bytes, element);
  });
}

void CopyUnlessInPlace(ThreadPool& threads, const Tensor& from, Tensor& to) {
  if (to.raw() != from.raw()) CopyParallel(threads, to.mutable_raw(), from.raw(), from.num_elements(), KindOf(from.type()));
}

void FillParallel(ThreadPool& threads, void* dst, const void* value, int64_t count, ElementKind element) {
  const auto* bytes = static_cast<const std::byte*>(value);
  if (!element.is_string && std::all_of(bytes, bytes + element.bytes, [bytes](std::byte b) { return b == bytes[0]; })) {
    count *= element.bytes;  // zeros and the like: memset
    element.bytes = 1;
  }
  const int64_t step = std::max<int64_t>(1, 4096 / element.bytes);
  threads.ParallelFor(CeilDiv(count, step), CopyCost(element) * 0.5 * static_cast<double>(step),
                      [&](int64_t begin, int64_t end) {
                        const int64_t first = begin * step, last = std::min(end * step, count);
                        FillElements(static_cast<std::byte*>(dst) + first * element.bytes, value, last - first, element);
                      });
}

}  // namespace tessera::cpu
