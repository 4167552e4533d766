// Attention (23, 24, 25), and of ai.tessera (1), which rewrites make: it has more attributes.
//   broadcast  batch, queries and mask broadcast as in the MatMul, Add and MatMul that it stands for
//   nan_rows   a row of which the mask leaves nothing is NaN, as of Softmax
//   columns    first column and end of queries, keys and values in the rows of inputs that hold more than these

#include <array>
#include <cstring>
#include <limits>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/attention/scaled_dot_product.h"
#include "cpu/ops/ops.h"
#include "cpu/rounding.h"
#include "graph/private_names.h"

namespace tessera::cpu {
namespace {

struct AttentionAttributes {
  explicit AttentionAttributes(const KernelInfo& info)
      : q_heads(info.attribute<int64_t>("q_num_heads", 0)),
        kv_heads(info.attribute<int64_t>("kv_num_heads", 0)),
        causal(info.attribute<int64_t>("is_causal", 0) != 0),
        has_scale(info.has_attribute("scale")),
        scale(info.attribute<float>("scale", 0.0f)),
        softcap(info.attribute<float>("softcap", 0.0f)),
        capture(info.attribute<int64_t>("qk_matmul_output_mode", 0)),
        left(info.attribute<int64_t>("left_window_size", -1)),
        right(info.attribute<int64_t>("right_window_size", -1)),
        broadcasts(info.attribute<int64_t>("broadcast", 0) != 0),
        nan_rows(info.attribute<int64_t>("nan_rows", 0) != 0),
        columns(info.attribute<std::vector<int64_t>>("columns", {})) {
    Require(columns.empty() || columns.size() == 6, "attribute 'columns' has {} numbers, not 6", columns.size());
    Require(q_heads >= 0 && kv_heads >= 0, "q_num_heads is {} and kv_num_heads is {}", q_heads, kv_heads);
    Require(capture >= 0 && capture <= 3, "qk_matmul_output_mode is {}; 0 to 3 are known", capture);
    Require(left >= -1 && right >= -1, "a window size is below -1: left {}, right {}", left, right);
  }

  int64_t q_heads, kv_heads;
  bool causal;
  bool has_scale;
  float scale;
  float softcap;
  int64_t capture;
  int64_t left, right;
  // of ai.tessera alone
  bool broadcasts;
  bool nan_rows;
  std::vector<int64_t> columns;
};

/// Sizes of Q, K or V: [batch, heads, rows, width], or [batch, rows, heads * width].
struct HeadSizes {
  int64_t batch, heads, rows, width;
  bool packed;
  int64_t first = 0;    // column of a packed row of
  int64_t columns = 0;  // that many

  template <class C>
  Heads<C> ViewOf(C* data) const {
    return packed ? Heads<C>{data + first, CheckedMul(rows, columns), width, columns}
                  : Heads<C>{data, CheckedMul(CheckedMul(heads, rows), width), CheckedMul(rows, width), width};
  }
};

/// `columns`: first and end of those to be taken, or null for all.
HeadSizes ReadSizes(const Shape& shape, int64_t heads, const int64_t* columns, std::string_view name) {
  if (shape.rank() == 4) return {shape[0], shape[1], shape[2], shape[3], false};
  Require(shape.rank() == 3, "{} is {}; 3 or 4 dimensions are expected", name, shape);
  const int64_t first = columns == nullptr ? 0 : columns[0], end = columns == nullptr ? shape[2] : columns[1];
  Require(0 <= first && first <= end && end <= shape[2], "{} is {}, without columns {} to {}", name, shape, first, end);
  Require(heads > 0 && (end - first) % heads == 0, "{} is {}, which does not divide into {} heads", name, shape, heads);
  return {shape[0], heads, shape[1], (end - first) / heads, true, first, shape[2]};
}

/// past and current rows one after the other, as [batch, heads, rows, width].
void Concatenate(ThreadPool& threads, const Tensor* past, int64_t past_rows, const Tensor& current, const HeadSizes& sizes,
                 uint8_t* out) {
  const auto element = static_cast<int64_t>(BitWidth(current.type()) / 8);
  const int64_t row = sizes.width * element;
  const auto view = sizes.ViewOf(static_cast<const uint8_t*>(current.raw()));
  threads.ParallelFor(
      sizes.batch * sizes.heads, static_cast<double>((past_rows + sizes.rows) * row) * 0.1,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          uint8_t* to = out + i * (past_rows + sizes.rows) * row;
          if (past_rows > 0) {
            CopyCancellably(to, static_cast<const uint8_t*>(past->raw()) + i * past_rows * row, past_rows * row);
            to += past_rows * row;
          }
          const uint8_t* from = view.data + i / sizes.heads * view.batch * element + i % sizes.heads * view.head * element;
          PacedCancellationPoint look(kMovedByteNs);
          for (int64_t r = 0; r < sizes.rows; ++r, look.Pass(row + 64))
            std::memcpy(to + r * row, from + r * view.row * element, static_cast<size_t>(row));
        }
      });
}

template <class C>
const C* ReadMask(KernelContext& context, const Tensor& mask) {
  const int64_t count = mask.num_elements();
  if (mask.is(ElementTypeOf<C>)) return mask.data<C>();
  C* out = context.scratch<C>(static_cast<size_t>(count)).data();
  if (mask.is(ElementType::kBool)) {
    const auto* allowed = static_cast<const uint8_t*>(mask.raw());
    InCancellablePieces(0, count, 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = allowed[i] != 0 ? C{0} : -std::numeric_limits<C>::infinity();
    });
  } else {
    VisitType(NumberTypes{}, mask.type(), [&]<class T>() {
      InCancellablePieces(0, count, 0.5, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = static_cast<C>(mask.data<T>()[i]);
      });
    });
  }
  return out;
}

/// Dimensions of the mask along batch, heads, queries and keys: 1 where it has none.
std::array<int64_t, 4> MaskDims(const Tensor& mask) {
  const Shape& shape = mask.shape();
  Require(shape.rank() >= 1 && shape.rank() <= 4, "attn_mask {} does not have 1 to 4 dimensions", shape);
  std::array<int64_t, 4> dims = {1, 1, 1, 1};
  for (size_t i = 0; i < shape.rank(); ++i) dims[4 - shape.rank() + i] = shape[i];
  return dims;
}

template <class C>
AttentionBias<C> FitMask(KernelContext& context, const Tensor* mask, const AttentionSizes& sizes, bool pads) {
  AttentionBias<C> bias;
  if (mask == nullptr) return bias;
  const std::array<int64_t, 4> dims = MaskDims(*mask);
  const std::array<int64_t, 4> wanted = {sizes.batch, sizes.query_heads, sizes.queries, sizes.keys};
  const auto fits = [&](size_t axis) { return dims[axis] == 1 || dims[axis] == wanted[axis]; };
  Require(fits(0) && fits(1) && fits(2) && (fits(3) || (pads && dims[3] < wanted[3])),
          "attn_mask {} does not broadcast to [{},{},{},{}]", mask->shape(), wanted[0], wanted[1], wanted[2], wanted[3]);
  bias.data = ReadMask<C>(context, *mask);
  bias.keys = dims[3];
  if (!pads && dims[3] == 1 && sizes.keys > 1) {  // one number a row
    const int64_t rows = mask->num_elements();
    C* spread = context.scratch<C>(static_cast<size_t>(CheckedMul(rows, sizes.keys))).data();
    for (int64_t i = 0; i < rows; ++i) std::fill_n(spread + i * sizes.keys, sizes.keys, bias.data[i]);
    bias.data = spread;
    bias.keys = sizes.keys;
  }
  int64_t stride = bias.keys;
  int64_t* strides[3] = {&bias.batch, &bias.head, &bias.row};
  for (size_t axis = 3; axis-- > 0;) {
    *strides[axis] = dims[axis] == 1 ? 0 : stride;
    stride *= dims[axis];
  }
  return bias;
}

template <class C>
class Attention final : public Kernel {
 public:
  explicit Attention(const KernelInfo& info)
      : attributes_(info), rounds_(RoundsOperands(info.provider(), info.graph(), info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& q = context.required_input(0);
    const Tensor& k = context.required_input(1);
    const Tensor& v = context.required_input(2);
    const Tensor* past_key = context.input(4);
    const Tensor* past_value = context.input(5);
    const int64_t* columns = attributes_.columns.empty() ? nullptr : attributes_.columns.data();
    Require(columns == nullptr || (past_key == nullptr && !context.has_output(1) && !context.has_output(2)),
            "tessera_columns cannot be combined with a past or a present");
    HeadSizes q_sizes = ReadSizes(q.shape(), attributes_.q_heads, columns, "Q");
    HeadSizes k_sizes = ReadSizes(k.shape(), attributes_.kv_heads, columns == nullptr ? nullptr : columns + 2, "K");
    HeadSizes v_sizes = ReadSizes(v.shape(), attributes_.kv_heads, columns == nullptr ? nullptr : columns + 4, "V");
    const int64_t past = PastRows(past_key, past_value, k_sizes, v_sizes);
    AttentionProblem<C> problem;
    problem.q = q_sizes.ViewOf(RealView<C>(context, q));
    problem.k = WithPast(context, 1, past_key, past, k, k_sizes);
    problem.v = WithPast(context, 2, past_value, past, v, v_sizes);
    if (attributes_.broadcasts) Broadcast(context.input(3), q_sizes, k_sizes, v_sizes, problem);
    problem.sizes = Combine(q_sizes, k_sizes, v_sizes, past);
    problem.scale =
        static_cast<C>(attributes_.has_scale ? static_cast<double>(attributes_.scale)
                                             : 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(q_sizes.width, 1))));
    problem.softcap = static_cast<C>(attributes_.softcap);
    problem.rounds = rounds_;
    problem.nan_rows = attributes_.nan_rows;
    problem.bias = FitMask<C>(context, context.input(3), problem.sizes, !attributes_.broadcasts);
    problem.range = {past, Lengths(context, problem.sizes, past_key), attributes_.causal, attributes_.left,
                     attributes_.right};
    HeadSizes y_sizes = q_sizes;
    y_sizes.width = v_sizes.width;
    y_sizes.first = 0;
    y_sizes.columns = CheckedMul(y_sizes.heads, y_sizes.width);
    Tensor* y = context.output(0, y_sizes.packed ? Shape{y_sizes.batch, y_sizes.rows, y_sizes.columns}
                                                 : Shape{y_sizes.batch, y_sizes.heads, y_sizes.rows, y_sizes.width});
    Tensor* captured = nullptr;
    if (context.has_output(3)) {
      const AttentionSizes& s = problem.sizes;
      captured = context.output(3, Shape{s.batch, s.query_heads, s.queries, s.keys});
    }
    if (y == nullptr) return;
    RealResult<C> result(context, *y);
    problem.y = y_sizes.ViewOf(result.data());
    if (captured == nullptr) {
      ScaledDotProduct<C>(context, problem);
    } else {
      RealResult<C> capture(context, *captured);
      problem.capture = static_cast<CaptureStage>(attributes_.capture);
      problem.captured = capture.data();
      ScaledDotProduct<C>(context, problem);
      capture.Finish();
    }
    result.Finish();
  }

 private:
  static int64_t PastRows(const Tensor* key, const Tensor* value, const HeadSizes& k, const HeadSizes& v) {
    Require((key == nullptr) == (value == nullptr), "past_key and past_value must be given together");
    if (key == nullptr) return 0;
    const auto fits = [](const Tensor& past, const HeadSizes& sizes) {
      const Shape& s = past.shape();
      return s.rank() == 4 && s[0] == sizes.batch && s[1] == sizes.heads && s[3] == sizes.width;
    };
    Require(fits(*key, k) && fits(*value, v) && key->shape()[2] == value->shape()[2],
            "past_key {} and past_value {} do not fit K and V", key->shape(), value->shape());
    return key->shape()[2];
  }

  /// Gives what has one batch, or one query, as many as the others have.
  static void Broadcast(const Tensor* mask, HeadSizes& q, HeadSizes& k, HeadSizes& v, AttentionProblem<C>& problem) {
    const std::array<int64_t, 4> dims = mask == nullptr ? std::array<int64_t, 4>{1, 1, 1, 1} : MaskDims(*mask);
    int64_t batch = dims[0];
    for (const HeadSizes* sizes : {&q, &k, &v}) batch = batch == 1 ? sizes->batch : batch;
    const auto spread = [batch](HeadSizes& sizes, Heads<const C>& view) {
      if (sizes.batch != 1 || batch == 1) return;
      sizes.batch = batch;
      view.batch = 0;
    };
    spread(q, problem.q);
    spread(k, problem.k);
    spread(v, problem.v);
    if (q.rows == 1 && dims[2] != 1) {
      q.rows = dims[2];
      problem.q.row = 0;
    }
  }

  static AttentionSizes Combine(const HeadSizes& q, const HeadSizes& k, const HeadSizes& v, int64_t past) {
    Require(q.batch == k.batch && q.batch == v.batch, "the batch is {} in Q, {} in K and {} in V", q.batch, k.batch,
            v.batch);
    Require(q.width == k.width, "the head size is {} in Q and {} in K", q.width, k.width);
    Require(k.heads == v.heads && k.rows == v.rows, "K has {} heads of {} rows, V {} of {}", k.heads, k.rows, v.heads,
            v.rows);
    Require(k.heads > 0 && q.heads % k.heads == 0, "{} query heads are no multiple of {} key heads", q.heads, k.heads);
    return {q.batch, q.heads, k.heads, q.rows, CheckedAdd(past, k.rows), q.width, v.width};
  }

  /// Keys or values with the past before them, which may also be output `i`.
  Heads<const C> WithPast(KernelContext& context, size_t i, const Tensor* past, int64_t past_rows, const Tensor& current,
                          const HeadSizes& sizes) const {
    const bool wanted = context.has_output(i);
    if (past_rows == 0 && !wanted) return sizes.ViewOf(RealView<C>(context, current));
    HeadSizes total = sizes;
    total.rows += past_rows;
    total.packed = false;
    const Shape shape{total.batch, total.heads, total.rows, total.width};
    Tensor local;
    Tensor* present = wanted ? context.output(i, shape) : nullptr;
    if (present == nullptr) {
      const size_t bytes = ByteSize(current.type(), shape.num_elements());
      local = Tensor::View(current.type(), shape, context.scratch<uint8_t>(bytes).data());
      present = &local;
    }
    Concatenate(context.threads(), past, past_rows, current, sizes, static_cast<uint8_t*>(present->mutable_raw()));
    return total.ViewOf(RealView<C>(context, *present));
  }

  static const int64_t* Lengths(KernelContext& context, const AttentionSizes& sizes, const Tensor* past_key) {
    const Tensor* lengths = context.input(6);
    if (lengths == nullptr) return nullptr;
    Require(past_key == nullptr, "nonpad_kv_seqlen cannot be combined with past_key");
    Require(lengths->num_elements() == sizes.batch, "nonpad_kv_seqlen has {} values, the batch has {}",
            lengths->num_elements(), sizes.batch);
    for (int64_t length : lengths->values<int64_t>()) {
      Require(length >= 0 && length <= sizes.keys, "nonpad_kv_seqlen holds {}, there are {} keys", length, sizes.keys);
    }
    return lengths->data<int64_t>();
  }

  AttentionAttributes attributes_;
  bool rounds_;
};

}  // namespace

void RegisterAttention(KernelRegistry& registry) {
  const KernelFactory make = [](const KernelInfo& info) {
    const bool wide = info.input_type(0) == ElementType::kDouble || info.input_type(2) == ElementType::kDouble;
    return wide ? std::unique_ptr<Kernel>(std::make_unique<Attention<double>>(info))
                : std::unique_ptr<Kernel>(std::make_unique<Attention<float>>(info));
  };
  for (const std::string_view domain : {std::string_view(), kTesseraDomain})
    registry.Add(Op("Attention", domain).Types(0, kFloats).Types(1, kFloats).Types(2, kFloats).Factory(make));
}

}  // namespace tessera::cpu
