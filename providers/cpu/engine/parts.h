#pragma once

// Concatenation and splitting: rows of a whole that are made of rows of parts.

#include <optional>
#include <span>

#include "cpu/engine/element.h"
#include "tessera/provider/kernel.h"
#include "tessera/provider/thread_pool.h"
#include "tessera/value.h"

namespace tessera::cpu {

/// A part has as many rows as the whole; each of its rows has `row_bytes`.
struct Part {
  std::byte* data;  // never written by JoinParts
  int64_t row_bytes;
  int64_t offset = 0;  // of its row in the whole's row; set by the functions
};

/// whole[row] = parts[0][row], parts[1][row], ...
void JoinParts(ThreadPool& threads, std::span<Part> parts, int64_t rows, std::byte* whole, ElementKind element);
/// The inverse; parts with null data are left out.
void SplitParts(ThreadPool& threads, std::span<Part> parts, int64_t rows, const std::byte* whole, ElementKind element);

/// False for results of the graph: the whole, which they would be views of, had no place in the memory plan.
bool MayStayInPlace(const KernelInfo& info, size_t output);
/// The part of `whole` that starts at byte `offset` where it lies, if it may stay there: kernels read vectors from its
/// first element on, and a small part is not worth that the whole is kept for it.
std::optional<Tensor> PartInPlace(const Tensor& whole, int64_t offset, const Shape& shape);

}  // namespace tessera::cpu
