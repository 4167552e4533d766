#include "graph/infer_attention.h"

#include <initializer_list>
#include <optional>

#include "onnx/defs/shape_inference.h"

namespace tessera {
namespace {

using onnx::InferenceContext;
using onnx::TensorShapeProto;
using Size = TensorShapeProto::Dimension;  // without a value or a name: not known

/// What is known of Q, K, V or a past: [batch, heads, rows, width], or packed as [batch, rows, heads * width].
struct Heads {
  Size batch, heads, rows, width, columns;
  int rank = 0;  // 0: not known
};

Size SizeOf(int64_t value) {
  Size size;
  size.set_dim_value(value);
  return size;
}

bool IsTold(const Size& size) { return size.has_dim_value() || size.has_dim_param(); }

/// The first that is a number, else the first that has a name.
Size Best(std::initializer_list<Size> sizes) {
  for (const Size& size : sizes) {
    if (size.has_dim_value()) return size;
  }
  for (const Size& size : sizes) {
    if (size.has_dim_param()) return size;
  }
  return {};
}

Size Product(const Size& a, const Size& b) {
  int64_t product = 0;
  if (!a.has_dim_value() || !b.has_dim_value() || __builtin_mul_overflow(a.dim_value(), b.dim_value(), &product)) return {};
  return SizeOf(product);
}

Size Sum(const Size& a, const Size& b) {
  if (a.has_dim_value() && a.dim_value() == 0) return b;
  int64_t sum = 0;
  if (!a.has_dim_value() || !b.has_dim_value() || __builtin_add_overflow(a.dim_value(), b.dim_value(), &sum)) return {};
  return SizeOf(sum);
}

Size HeadCount(const InferenceContext& context, const char* attribute) {
  const onnx::AttributeProto* count = context.getAttribute(attribute);
  return count != nullptr && count->i() > 0 ? SizeOf(count->i()) : Size();
}

Heads ReadHeads(const InferenceContext& context, size_t input, const char* attribute) {
  Heads heads;
  if (!context.hasInput(input) || !onnx::hasInputShape(context, input)) return heads;
  const TensorShapeProto& shape = onnx::getInputShape(context, input);
  heads.rank = shape.dim_size();
  if (heads.rank == 4) {
    heads.batch = shape.dim(0);
    heads.heads = shape.dim(1);
    heads.rows = shape.dim(2);
    heads.width = shape.dim(3);
  } else if (heads.rank == 3) {
    heads.batch = shape.dim(0);
    heads.rows = shape.dim(1);
    heads.columns = shape.dim(2);
    heads.heads = HeadCount(context, attribute);
    const bool known = heads.columns.has_dim_value() && heads.heads.has_dim_value();
    if (known && heads.columns.dim_value() % heads.heads.dim_value() == 0)
      heads.width = SizeOf(heads.columns.dim_value() / heads.heads.dim_value());
  }
  return heads;
}

void SetShape(InferenceContext& context, size_t output, std::initializer_list<Size> sizes) {
  if (!context.hasOutput(output)) return;
  TensorShapeProto& shape = *context.getOutputType(output)->mutable_tensor_type()->mutable_shape();
  shape.Clear();
  for (const Size& size : sizes) *shape.add_dim() = size;
}

}  // namespace

void CorrectAttention(InferenceContext& context) {
  const Heads q = ReadHeads(context, 0, "q_num_heads"), k = ReadHeads(context, 1, "kv_num_heads"),
              v = ReadHeads(context, 2, "kv_num_heads");
  const bool has_past = context.hasInput(4) || context.hasInput(5);
  const Heads past_k = ReadHeads(context, 4, ""), past_v = ReadHeads(context, 5, "");
  const Size batch = Best({q.batch, k.batch, v.batch, past_k.batch, past_v.batch});
  const Size heads = Best({k.heads, v.heads, past_k.heads, past_v.heads});
  const Size rows = Best({k.rows, v.rows}), k_width = Best({k.width, past_k.width, q.width}),
             v_width = Best({v.width, past_v.width});
  const Size keys = has_past ? Sum(Best({past_k.rows, past_v.rows}), rows) : rows;
  if (q.rank == 4) {
    SetShape(context, 0, {batch, q.heads, q.rows, v_width});
  } else if (q.rank == 3) {
    const bool as_many = q.heads.has_dim_value() && heads.has_dim_value() && q.heads.dim_value() == heads.dim_value();
    const Size columns = Product(q.heads, v_width);
    SetShape(context, 0, {batch, q.rows, !IsTold(columns) && as_many ? v.columns : columns});
  } else if (context.hasOutput(0)) {
    context.getOutputType(0)->mutable_tensor_type()->clear_shape();
  }
  SetShape(context, 1, {batch, heads, keys, k_width});
  SetShape(context, 2, {batch, heads, keys, v_width});
  SetShape(context, 3, {batch, q.heads, q.rows, keys});
}

}  // namespace tessera
