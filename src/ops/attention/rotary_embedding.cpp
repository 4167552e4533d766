#include "ops/attention/rotary_embedding.h"

#include "base/check.h"
#include "base/checked.h"
#include "tessera/provider/attributes.h"

namespace tessera {

RotaryEmbeddingAttributes::RotaryEmbeddingAttributes(const Node& node)
    : microsoft(!node.domain.empty()),
      interleaved(AttributeOr<int64_t>(node, "interleaved", 0) != 0),
      rotary_dim(AttributeOr<int64_t>(node, "rotary_embedding_dim", 0)),
      heads(AttributeOr<int64_t>(node, "num_heads", 0)),
      scale(microsoft ? AttributeOr<float>(node, "scale", 1.0f) : 1.0f) {
  Require(rotary_dim >= 0 && rotary_dim % 2 == 0 && heads >= 0,
          "rotary_embedding_dim is {}, an even number is expected, and num_heads {}", rotary_dim, heads);
  Require(!microsoft || rotary_dim == 0 || heads > 0, "rotary_embedding_dim needs num_heads");
}

int64_t RotaryEmbeddingAttributes::Width(const Shape& x, bool packed, int64_t hidden, int64_t half) const {
  if (!packed) return x[3];
  if (microsoft && rotary_dim == 0) return 2 * half;
  Require(heads > 0 && hidden % heads == 0, "the input is {}, which does not divide into {} heads", x, heads);
  return hidden / heads;
}

RotarySizes RotaryEmbeddingAttributes::Infer(const Shape& x, const Shape& cosine, const Shape& sine,
                                             const Tensor* positions) const {
  const bool packed = x.rank() == 3;
  Require(packed || x.rank() == 4, "the input is {}; 3 or 4 dimensions are expected", x);
  Require(cosine == sine && cosine.rank() == (positions == nullptr ? 3 : 2), "cos_cache is {} and sin_cache {}", cosine,
          sine);
  const int64_t hidden = packed ? x[2] : CheckedMul(x[1], x[3]), half = cosine.back(),
                width = Width(x, packed, hidden, half);
  const bool fits = rotary_dim != 0 ? 2 * half == rotary_dim : microsoft || 2 * half == width;
  const bool divides = width > 0 ? hidden % width == 0 : !microsoft;
  Require(divides && half <= width / 2 && fits, "caches {} rotate {} elements of an input {}", cosine, 2 * half, x);
  const int64_t num_heads = !packed ? x[1] : width > 0 ? hidden / width : heads;
  RotarySizes s{x[0], num_heads, x[packed ? 1 : 2], width, half, cosine[0], packed, false};
  if (positions == nullptr) {
    Require(!microsoft && cosine[0] == s.batch && cosine[1] == s.steps,
            "the caches are {}; [{},{},{}] is expected without position_ids", cosine, s.batch, s.steps, half);
    return s;
  }
  s.one = microsoft && positions->num_elements() == 1 && positions->shape().rank() != 2;
  Require(positions->is(ElementType::kInt64) && (s.one || positions->shape() == Shape({s.batch, s.steps})),
          "position_ids is {}, [{},{}] is expected", positions->shape(), s.batch, s.steps);
  if (x.num_elements() == 0) return s;
  const int64_t after = s.one ? s.steps - 1 : 0;  // steps that follow the position
  for (const int64_t position : positions->values<int64_t>())
    Require(position >= 0 && position < s.positions - after, "position {} is outside the caches' {} rows", position,
            s.positions);
  return s;
}

}  // namespace tessera
