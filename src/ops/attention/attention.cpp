#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/checked.h"
#include "tessera/provider/attributes.h"

namespace tessera {

AttentionAttributes::AttentionAttributes(const Node& node)
    : q_heads(AttributeOr<int64_t>(node, "q_num_heads", 0)),
      kv_heads(AttributeOr<int64_t>(node, "kv_num_heads", 0)),
      causal(AttributeOr<int64_t>(node, "is_causal", 0) != 0),
      softcap(AttributeOr<float>(node, "softcap", 0.0f)),
      capture(AttributeOr<int64_t>(node, "qk_matmul_output_mode", 0)),
      left(AttributeOr<int64_t>(node, "left_window_size", -1)),
      right(AttributeOr<int64_t>(node, "right_window_size", -1)),
      broadcasts(AttributeOr<int64_t>(node, "broadcast", 0) != 0),
      nan_rows(AttributeOr<int64_t>(node, "nan_rows", 0) != 0),
      columns(AttributeOr<std::vector<int64_t>>(node, "columns", {})) {
  if (const float* given = FindTyped<float>(node, "scale")) scale = *given;
  Require(columns.empty() || columns.size() == 6, "attribute 'columns' has {} numbers, not 6", columns.size());
  Require(q_heads >= 0 && kv_heads >= 0, "q_num_heads is {} and kv_num_heads is {}", q_heads, kv_heads);
  Require(capture >= 0 && capture <= 3, "qk_matmul_output_mode is {}; 0 to 3 are known", capture);
  Require(left >= -1 && right >= -1, "a window size is below -1: left {}, right {}", left, right);
}

double AttentionAttributes::Scale(int64_t width) const {
  return scale ? static_cast<double>(*scale) : 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1)));
}

int64_t HeadSizes::head_stride() const { return packed ? width : CheckedMul(rows, width); }

int64_t HeadSizes::batch_stride() const {
  return packed ? CheckedMul(rows, columns) : CheckedMul(CheckedMul(heads, rows), width);
}

HeadSizes ReadHeads(const Shape& shape, int64_t heads, const int64_t* columns, std::string_view name) {
  if (shape.rank() == 4) return {shape[0], shape[1], shape[2], shape[3], false};
  Require(shape.rank() == 3, "{} is {}; 3 or 4 dimensions are expected", name, shape);
  const int64_t first = columns == nullptr ? 0 : columns[0], end = columns == nullptr ? shape[2] : columns[1];
  Require(0 <= first && first <= end && end <= shape[2], "{} is {}, without columns {} to {}", name, shape, first, end);
  Require(heads > 0 && (end - first) % heads == 0, "{} is {}, which does not divide into {} heads", name, shape, heads);
  return {shape[0], heads, shape[1], (end - first) / heads, true, first, shape[2]};
}

AttentionSizes CombineHeads(const HeadSizes& q, const HeadSizes& k, const HeadSizes& v, int64_t past) {
  Require(q.batch == k.batch && q.batch == v.batch, "the batch is {} in Q, {} in K and {} in V", q.batch, k.batch, v.batch);
  Require(q.width == k.width, "the head size is {} in Q and {} in K", q.width, k.width);
  Require(k.heads == v.heads && k.rows == v.rows, "K has {} heads of {} rows, V {} of {}", k.heads, k.rows, v.heads,
          v.rows);
  Require(k.heads > 0 && q.heads % k.heads == 0, "{} query heads are no multiple of {} key heads", q.heads, k.heads);
  return {q.batch, q.heads, k.heads, q.rows, CheckedAdd(past, k.rows), q.width, v.width};
}

HeadSizes ResultHeads(const HeadSizes& q, const HeadSizes& v) {
  return {q.batch, q.heads, q.rows, v.width, q.packed, 0, CheckedMul(q.heads, v.width)};
}

Shape ShapeOf(const HeadSizes& heads) {
  return heads.packed ? Shape{heads.batch, heads.rows, heads.columns}
                      : Shape{heads.batch, heads.heads, heads.rows, heads.width};
}

int64_t PastRows(const Tensor* past_key, const Tensor* past_value, const HeadSizes& k, const HeadSizes& v) {
  Require((past_key == nullptr) == (past_value == nullptr), "past_key and past_value must be given together");
  if (past_key == nullptr) return 0;
  const auto fits = [](const Shape& s, const HeadSizes& sizes) {
    return s.rank() == 4 && s[0] == sizes.batch && s[1] == sizes.heads && s[3] == sizes.width;
  };
  const Shape &key = past_key->shape(), &value = past_value->shape();
  Require(fits(key, k) && fits(value, v) && key[2] == value[2], "past_key {} and past_value {} do not fit K and V", key,
          value);
  return key[2];
}

MaskDims ReadMask(const Shape& shape) {
  Require(shape.rank() >= 1 && shape.rank() <= 4, "attn_mask {} does not have 1 to 4 dimensions", shape);
  MaskDims dims = {1, 1, 1, 1};
  std::ranges::copy(shape.dims(), dims.end() - static_cast<ptrdiff_t>(shape.rank()));
  return dims;
}

void CheckMask(const MaskDims& dims, const AttentionSizes& sizes, bool broadcasts) {
  const MaskDims wanted = {sizes.batch, sizes.query_heads, sizes.queries, sizes.keys};
  for (size_t i = 0; i < 4; ++i) {
    const bool hides = i == 3 && !broadcasts && dims[i] < wanted[i];
    Require(dims[i] == 1 || dims[i] == wanted[i] || hides, "attn_mask {} does not broadcast to {}", Shape(dims),
            Shape(wanted));
  }
}

void BroadcastHeads(const MaskDims& mask, HeadSizes& q, HeadSizes& k, HeadSizes& v) {
  int64_t batch = mask[0];
  for (const HeadSizes* sizes : {&q, &k, &v}) batch = batch == 1 ? sizes->batch : batch;
  for (HeadSizes* sizes : {&q, &k, &v}) {
    if (sizes->batch != 1 || batch == 1) continue;
    sizes->batch = batch;
    sizes->repeats_batch = true;
  }
  if (q.rows != 1 || mask[2] == 1) return;
  q.rows = mask[2];
  q.repeats_row = true;
}

std::span<const int64_t> KeyLengths(const Tensor* lengths, const AttentionSizes& sizes, bool has_past) {
  if (lengths == nullptr) return {};
  Require(!has_past, "nonpad_kv_seqlen cannot be combined with past_key");
  Require(lengths->is(ElementType::kInt64) && lengths->num_elements() == sizes.batch,
          "nonpad_kv_seqlen has {} values, the batch has {}", lengths->num_elements(), sizes.batch);
  for (int64_t length : lengths->values<int64_t>())
    Require(length >= 0 && length <= sizes.keys, "nonpad_kv_seqlen holds {}, there are {} keys", length, sizes.keys);
  return lengths->values<int64_t>();
}

}  // namespace tessera
