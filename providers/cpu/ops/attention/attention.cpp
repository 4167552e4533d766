// Attention (23, 24, 25), and of ai.tessera (1).

#include <cstring>
#include <limits>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/attention/scaled_dot_product.h"
#include "cpu/ops/ops.h"
#include "cpu/rounding.h"
#include "graph/private_names.h"
#include "ops/attention/attention.h"

namespace tessera::cpu {
namespace {

template <class C>
Heads<C> ViewOf(const HeadSizes& sizes, C* data) {
  return {data + sizes.first, sizes.batch_stride(), sizes.head_stride(), sizes.row_stride()};
}

/// past and current rows one after the other, as [batch, heads, rows, width].
void Concatenate(ThreadPool& threads, const Tensor* past, int64_t past_rows, const Tensor& current, const HeadSizes& sizes,
                 uint8_t* out) {
  const auto element = static_cast<int64_t>(BitWidth(current.type()) / 8);
  const int64_t row = sizes.width * element;
  const auto view = ViewOf(sizes, static_cast<const uint8_t*>(current.raw()));
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

template <class C>
AttentionBias<C> FitMask(KernelContext& context, const Tensor* mask, const AttentionSizes& sizes, bool broadcasts) {
  AttentionBias<C> bias;
  if (mask == nullptr) return bias;
  const MaskDims dims = ReadMask(mask->shape());
  CheckMask(dims, sizes, broadcasts);
  bias.data = ReadMask<C>(context, *mask);
  bias.keys = dims[3];
  if (broadcasts && dims[3] == 1 && sizes.keys > 1) {  // one number a row
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
      : attributes_(info.node()), rounds_(RoundsOperands(info.provider(), info.graph(), info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& q = context.required_input(0);
    const Tensor& k = context.required_input(1);
    const Tensor& v = context.required_input(2);
    const Tensor* past_key = context.input(4);
    const Tensor* past_value = context.input(5);
    const int64_t* columns = attributes_.columns.empty() ? nullptr : attributes_.columns.data();
    Require(columns == nullptr || (past_key == nullptr && !context.has_output(1) && !context.has_output(2)),
            "columns cannot be combined with a past or a present");
    HeadSizes q_sizes = ReadHeads(q.shape(), attributes_.q_heads, columns, "Q");
    HeadSizes k_sizes = ReadHeads(k.shape(), attributes_.kv_heads, columns == nullptr ? nullptr : columns + 2, "K");
    HeadSizes v_sizes = ReadHeads(v.shape(), attributes_.kv_heads, columns == nullptr ? nullptr : columns + 4, "V");
    const int64_t past = PastRows(past_key, past_value, k_sizes, v_sizes);
    AttentionProblem<C> problem;
    problem.q = ViewOf(q_sizes, RealView<C>(context, q));
    problem.k = WithPast(context, 1, past_key, past, k, k_sizes);
    problem.v = WithPast(context, 2, past_value, past, v, v_sizes);
    if (attributes_.broadcasts) Broadcast(context.input(3), q_sizes, k_sizes, v_sizes, problem);
    problem.sizes = CombineHeads(q_sizes, k_sizes, v_sizes, past);
    problem.scale = static_cast<C>(attributes_.Scale(q_sizes.width));
    problem.softcap = static_cast<C>(attributes_.softcap);
    problem.rounds = rounds_;
    problem.nan_rows = attributes_.nan_rows;
    problem.bias = FitMask<C>(context, context.input(3), problem.sizes, attributes_.broadcasts);
    const Tensor* lengths = context.input(6);
    problem.range = {past, lengths == nullptr ? nullptr : KeyLengths(lengths, problem.sizes, past_key != nullptr).data(),
                     attributes_.causal, attributes_.left, attributes_.right};
    const HeadSizes y_sizes = ResultHeads(q_sizes, v_sizes);
    Tensor* y = context.output(0, ShapeOf(y_sizes));
    Tensor* captured = nullptr;
    if (context.has_output(3)) {
      const AttentionSizes& s = problem.sizes;
      captured = context.output(3, Shape{s.batch, s.query_heads, s.queries, s.keys});
    }
    if (y == nullptr) return;
    RealResult<C> result(context, *y);
    problem.y = ViewOf(y_sizes, result.data());
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
  static void Broadcast(const Tensor* mask, HeadSizes& q, HeadSizes& k, HeadSizes& v, AttentionProblem<C>& problem) {
    BroadcastHeads(mask == nullptr ? MaskDims{1, 1, 1, 1} : ReadMask(mask->shape()), q, k, v);
    if (q.repeats_batch) problem.q.batch = 0;
    if (k.repeats_batch) problem.k.batch = 0;
    if (v.repeats_batch) problem.v.batch = 0;
    if (q.repeats_row) problem.q.row = 0;
  }

  /// Keys or values with the past before them, which may also be output `i`.
  Heads<const C> WithPast(KernelContext& context, size_t i, const Tensor* past, int64_t past_rows, const Tensor& current,
                          const HeadSizes& sizes) const {
    const bool wanted = context.has_output(i);
    if (past_rows == 0 && !wanted) return ViewOf(sizes, RealView<C>(context, current));
    const HeadSizes total{sizes.batch, sizes.heads, CheckedAdd(past_rows, sizes.rows), sizes.width, false};
    const Shape shape = ShapeOf(total);
    Tensor local;
    Tensor* present = wanted ? context.output(i, shape) : nullptr;
    if (present == nullptr) {
      const size_t bytes = ByteSize(current.type(), shape.num_elements());
      local = Tensor::View(current.type(), shape, context.scratch<uint8_t>(bytes).data());
      present = &local;
    }
    Concatenate(context.threads(), past, past_rows, current, sizes, static_cast<uint8_t*>(present->mutable_raw()));
    return ViewOf(total, RealView<C>(context, *present));
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
