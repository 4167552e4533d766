#pragma once

// What Loop and Scan share: rows of tensors along one axis, and the checks on what a body gives back.

#include <span>
#include <string>
#include <vector>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/string_memory.h"
#include "base/value_type.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

inline void RequireFits(const Value& value, const TypeInfo& type, const char* what, size_t i) {
  if (!Fits(value, type)) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, "{} {} is {}, the graph states {}", what, i, value.type().ToString(),
         type.ToString());
  }
}

/// Elements [from, from + count) of `source` become elements [to, to + count) of `target`; both in host memory.
inline void CopyElements(const Tensor& source, int64_t from, Tensor& target, int64_t to, int64_t count) {
  if (source.is(ElementType::kString)) {
    return CopyStrings({source.data<std::string>() + from, static_cast<size_t>(count)}, target, to, HostAllocator());
  }
  const int64_t bits = BitWidth(source.type());
  const auto* in = static_cast<const uint8_t*>(source.raw());
  auto* out = static_cast<uint8_t*>(target.mutable_raw());
  if (bits >= 8 || (from * bits % 8 == 0 && to * bits % 8 == 0 && count * bits % 8 == 0)) {
    if (count > 0) CopyCancellably(out + to * bits / 8, in + from * bits / 8, count * bits / 8);
    return;
  }
  const uint32_t mask = (1u << bits) - 1;
  PacedCancellationPoint look(3);
  for (int64_t i = 0; i < count; ++i) {
    look.Pass();
    const int64_t read = (from + i) * bits, write = (to + i) * bits;
    const uint32_t element = (in[read / 8] >> (read % 8)) & mask;
    out[write / 8] = static_cast<uint8_t>((out[write / 8] & ~(mask << (write % 8))) | (element << (write % 8)));
  }
}

/// Elements [from, from + count) of `source` under `shape`: a view where bytes allow one, else a copy.
inline Tensor Row(const Tensor& source, int64_t from, int64_t count, const Shape& shape) {
  const int64_t bits = BitWidth(source.type());
  if (bits < 8 && from * bits % 8 != 0) {
    Tensor copy(source.type(), shape);  // of packed elements, freed with the iteration
    CopyElements(source, from, copy, 0, count);
    return copy;
  }
  auto* data = static_cast<std::byte*>(const_cast<void*>(source.raw()));
  return Tensor::View(source.type(), shape, data == nullptr ? nullptr : data + from * bits / 8, source.memory());
}

/// `tensor` with `axis` moved to the front (or, with `back`, the front axis moved to `axis`), in new memory.
inline void MoveAxis(const Tensor& source, size_t axis, bool back, Tensor& target) {
  const Shape& shape = back ? target.shape() : source.shape();
  if (shape.num_elements() == 0) return;
  const int64_t outer = shape.SizeOfRange(0, axis), rows = shape[axis], inner = shape.SizeOfRange(axis + 1, shape.rank());
  PacedCancellationPoint look(1);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t block = 0; block < outer; ++block) {
      look.Pass(inner + 10);
      const int64_t strided = (block * rows + row) * inner, packed = (row * outer + block) * inner;
      CopyElements(source, back ? packed : strided, target, back ? strided : packed, inner);
    }
  }
}

/// A body output's shape after no iteration at all: `rows` at `axis`, and 0 where the graph does not know a dimension. Of a
/// body that says nothing of them, the node's own output may tell.
inline Shape ShapeWithoutRows(const TypeInfo& row, const TypeInfo& output, int64_t rows, size_t axis) {
  Shape shape;
  const bool whole = !row.shape.has_value() && output.shape.has_value() && axis < output.shape->size();
  if (whole || row.shape.has_value()) {
    for (const Dimension& dimension : whole ? *output.shape : *row.shape)
      shape.Append(dimension.known() ? dimension.value : 0);
  }
  if (whole) {
    shape[axis] = rows;
    return shape;
  }
  axis = std::min(axis, shape.rank());
  Shape result;
  for (size_t i = 0; i < axis; ++i) result.Append(shape[i]);
  result.Append(rows);
  for (size_t i = axis; i < shape.rank(); ++i) result.Append(shape[i]);
  return result;
}

inline ElementType StatedType(const TypeInfo& output, const TypeInfo& body_output) {
  const ElementType type = output.element != ElementType::kUndefined ? output.element : body_output.element;
  Require(type != ElementType::kUndefined, "the element type of an output without iterations is not known");
  return type;
}

}  // namespace tessera::cpu
