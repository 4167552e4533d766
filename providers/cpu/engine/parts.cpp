#include "cpu/engine/parts.h"

#include <algorithm>

#include "base/rounding.h"
#include "cpu/engine/strided_copy.h"

namespace tessera::cpu {
namespace {

template <bool kJoin>
void CopyPart(const Part& part, std::byte* whole, int64_t whole_row, int64_t first, int64_t rows, bool strings) {
  if (part.data == nullptr || part.row_bytes == 0) return;
  std::byte* outside = whole + first * whole_row + part.offset;
  std::byte* inside = part.data + first * part.row_bytes;
  if constexpr (kJoin) {
    CopyRows(inside, part.row_bytes, outside, whole_row, rows, part.row_bytes, strings);
  } else {
    CopyRows(outside, whole_row, inside, part.row_bytes, rows, part.row_bytes, strings);
  }
}

/// Bytes [begin, end) of one row of the whole, element boundaries.
template <bool kJoin>
void CopyWithinRow(std::span<const Part> parts, std::byte* whole_row, int64_t row, int64_t begin, int64_t end,
                   ElementKind element) {
  const Part* part = &*std::upper_bound(parts.begin(), parts.end(), begin,
                                        [](int64_t at, const Part& p) { return at < p.offset + p.row_bytes; });
  for (; begin < end; ++part) {
    const int64_t stop = std::min(end, part->offset + part->row_bytes);
    if (part->data != nullptr && stop > begin) {
      std::byte* inside = part->data + row * part->row_bytes + (begin - part->offset);
      const int64_t count = (stop - begin) / element.bytes;
      if constexpr (kJoin) {
        CopyElements(whole_row + begin, inside, count, element);
      } else {
        CopyElements(inside, whole_row + begin, count, element);
      }
    }
    begin = stop;
  }
}

template <bool kJoin>
void CopyParts(ThreadPool& threads, std::span<Part> parts, int64_t rows, std::byte* whole, ElementKind element) {
  int64_t whole_row = 0;
  for (Part& part : parts) {
    part.offset = whole_row;
    whole_row += part.row_bytes;
  }
  if (whole_row == 0 || rows == 0) return;
  const double cost = CopyCost(element) / static_cast<double>(element.bytes);
  // Few long rows: threads share a row.
  if (rows < 4 * threads.num_threads() && whole_row > 4096) {
    const int64_t piece = std::max<int64_t>(1, 4096 / element.bytes) * element.bytes;
    const int64_t pieces = CeilDiv(whole_row, piece);
    threads.ParallelFor(rows * pieces, cost * static_cast<double>(piece), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / pieces, first = begin % pieces, count = std::min(end - begin, pieces - first);
        CopyWithinRow<kJoin>(parts, whole + row * whole_row, row, first * piece,
                             std::min((first + count) * piece, whole_row), element);
        begin += count;
      }
    });
    return;
  }
  // Blocks of rows that fit the cache, so that each line of the whole is completed while it is there.
  const int64_t block = std::max<int64_t>(1, 32 * 1024 / whole_row);
  threads.ParallelFor(rows, cost * static_cast<double>(whole_row), [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += block) {
      const int64_t count = std::min(block, end - first);
      for (const Part& part : parts) CopyPart<kJoin>(part, whole, whole_row, first, count, element.is_string);
    }
  });
}

}  // namespace

void JoinParts(ThreadPool& threads, std::span<Part> parts, int64_t rows, std::byte* whole, ElementKind element) {
  CopyParts<true>(threads, parts, rows, whole, element);
}

bool MayStayInPlace(const KernelInfo& info, size_t output) {
  return info.has_output(output) && !info.graph().value(info.node().outputs[output]).is_output;
}

std::optional<Tensor> PartInPlace(const Tensor& whole, int64_t offset, const Shape& shape) {
  constexpr size_t kSmall = 8;
  const size_t bytes = ByteSize(whole.type(), shape.num_elements());
  const bool aligned = static_cast<size_t>(offset) % kHostAlignment == 0;
  if (!aligned || bytes < whole.byte_size() / kSmall || whole.type() == ElementType::kString) return std::nullopt;
  return Tensor::Share(whole.type(), shape, static_cast<std::byte*>(const_cast<void*>(whole.raw())) + offset, whole.owner(),
                       whole.memory());
}

void SplitParts(ThreadPool& threads, std::span<Part> parts, int64_t rows, const std::byte* whole, ElementKind element) {
  CopyParts<false>(threads, parts, rows, const_cast<std::byte*>(whole), element);
}

}  // namespace tessera::cpu
