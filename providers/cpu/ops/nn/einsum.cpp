// Einsum (12, 28): operands are contracted from left to right, each step one batched GEMM.

#include <array>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/math/einsum_equation.h"

namespace tessera::cpu {
namespace {

constexpr int kLabels = 64;  // letters, then the axes of the ellipsis from the right
constexpr int kFirstEllipsisAxis = 52;

/// A set of labels in an order.
struct Labels {
  std::array<int8_t, kLabels> at;
  int count = 0;
  void Add(int8_t label) { at[static_cast<size_t>(count++)] = label; }
  const int8_t* begin() const { return at.data(); }
  const int8_t* end() const { return at.data() + count; }
};

constexpr uint64_t Bit(int8_t label) { return uint64_t{1} << label; }

using Sizes = std::array<int64_t, kLabels>;

int64_t SizeOf(const Labels& labels, const Sizes& sizes) {
  int64_t product = 1;
  for (int8_t label : labels) product = CheckedMul(product, sizes[static_cast<size_t>(label)]);
  return product;
}

/// An operand: the stride of each label's axis. Repeated labels step along the diagonal, broadcast ones not at all.
template <class C>
struct View {
  const C* data = nullptr;
  uint64_t labels = 0;
  std::array<int64_t, kLabels> strides{};
};

/// Calls `visit(offset_a, offset_b)` for every index over `labels`, row-major.
template <class Visit>
void Walk(const Labels& labels, const Sizes& sizes, const std::array<int64_t, kLabels>& a,
          const std::array<int64_t, kLabels>& b, Visit&& visit) {
  std::array<int64_t, kLabels> index{};
  int64_t at_a = 0;
  int64_t at_b = 0;
  PacedCancellationPoint look(3);
  while (true) {
    look.Pass();
    visit(at_a, at_b);
    int axis = labels.count - 1;
    for (; axis >= 0; --axis) {
      const auto label = static_cast<size_t>(labels.at[static_cast<size_t>(axis)]);
      at_a += a[label];
      at_b += b[label];
      if (++index[static_cast<size_t>(axis)] < sizes[label]) break;
      index[static_cast<size_t>(axis)] = 0;
      at_a -= a[label] * sizes[label];
      at_b -= b[label] * sizes[label];
    }
    if (axis < 0) return;
  }
}

template <class C>
class Contraction {
 public:
  Contraction(KernelContext& context, const Sizes& sizes, const Labels& output)
      : context_(context), sizes_(sizes), output_(output) {}

  /// Sums over labels that nothing else needs.
  View<C> Reduce(const View<C>& view, uint64_t needed) const {
    const uint64_t summed = view.labels & ~needed;
    if (summed == 0) return view;
    const Labels kept = Order(view.labels & needed);
    const Labels lost = Order(summed);
    C* out = context_.scratch<C>(static_cast<size_t>(SizeOf(kept, sizes_))).data();
    View<C> result = Contiguous(out, kept);
    Walk(kept, sizes_, view.strides, result.strides, [&](int64_t from, int64_t to) {
      C sum{};
      Walk(lost, sizes_, view.strides, view.strides,
           [&](int64_t offset, int64_t) { sum = static_cast<C>(sum + view.data[from + offset]); });
      out[to] = sum;
    });
    return result;
  }

  /// Copies the labels of the output, in order, to `out`.
  void Store(const View<C>& view, C* out) const { Move(view, output_, out); }

  /// The product of two views, summed over labels outside `needed`; straight into `out` where its order allows (then the
  /// result's data is `out`).
  View<C> Contract(const View<C>& a, const View<C>& b, uint64_t needed, C* out) const {
    const uint64_t both = a.labels & b.labels;
    const bool alike = a.labels == b.labels;
    if ((both & ~needed) == 0 && (both != 0 || alike)) return Multiply(a, b, out);
    // The last label of the output should be that of the GEMM's columns.
    const bool swap =
        output_.count > 0 && (a.labels & ~both & Bit(output_.at[static_cast<size_t>(output_.count - 1)])) != 0;
    return swap ? MatMul(b, a, both, needed, out) : MatMul(a, b, both, needed, out);
  }

 private:
  /// Labels in the output's order, others after them.
  Labels Order(uint64_t set) const {
    Labels labels;
    for (int8_t label : output_) {
      if ((set & Bit(label)) != 0) labels.Add(label);
      set &= ~Bit(label);
    }
    for (int8_t label = 0; label < kLabels; ++label) {
      if ((set & Bit(label)) != 0) labels.Add(label);
    }
    return labels;
  }

  View<C> Contiguous(const C* data, const Labels& labels) const {
    View<C> view;
    view.data = data;
    int64_t stride = 1;
    for (int i = labels.count; i-- > 0;) {
      const auto label = static_cast<size_t>(labels.at[static_cast<size_t>(i)]);
      view.labels |= Bit(static_cast<int8_t>(label));
      view.strides[label] = stride;
      stride *= sizes_[label];
    }
    return view;
  }

  static Labels Join(const Labels& a, const Labels& b, const Labels& c) {
    Labels joined = a;
    for (int8_t label : b) joined.Add(label);
    for (int8_t label : c) joined.Add(label);
    return joined;
  }

  /// The one stride that walks all of `labels` row-major; -1 when there is none.
  int64_t Collapse(const View<C>& view, const Labels& labels) const {
    int64_t stride = -1;
    int64_t expected = -1;
    for (int i = labels.count; i-- > 0;) {
      const auto label = static_cast<size_t>(labels.at[static_cast<size_t>(i)]);
      if (sizes_[label] == 1) continue;
      if (stride < 0) {
        stride = view.strides[label];
      } else if (view.strides[label] != expected) {
        return -1;
      }
      expected = view.strides[label] * sizes_[label];
    }
    return stride < 0 ? 1 : stride;
  }

  void Move(const View<C>& view, const Labels& order, C* out) const {
    const View<C> target = Contiguous(out, order);
    StridedCopy copy(ElementKind{.bytes = sizeof(C)});
    for (const int8_t label : order) {
      const auto at = static_cast<size_t>(label);
      copy.Add(sizes_[at], view.strides[at], target.strides[at]);
    }
    copy.Run(context_.threads(), view.data, out);
  }

  View<C> Copy(const View<C>& view, const Labels& order) const {
    C* out = context_.scratch<C>(static_cast<size_t>(SizeOf(order, sizes_))).data();
    Move(view, order, out);
    return Contiguous(out, order);
  }

  /// No label is summed over: each element of one meets those of the other that agree in the labels of both.
  View<C> Multiply(const View<C>& a, const View<C>& b, C* out) const {
    const Labels order = Order(a.labels | b.labels);
    if (out == nullptr || !IsOutput(order)) out = context_.scratch<C>(static_cast<size_t>(SizeOf(order, sizes_))).data();
    Labels rows = order;
    int64_t count = 1, step_a = 0, step_b = 0;
    if (order.count > 0) {
      const auto last = static_cast<size_t>(order.at[static_cast<size_t>(--rows.count)]);
      count = sizes_[last];
      step_a = a.strides[last];
      step_b = b.strides[last];
    }
    C* to = out;
    PacedCancellationPoint look(0.5);
    Walk(rows, sizes_, a.strides, b.strides, [&](int64_t x, int64_t y) {
      look.Pass(count);
      MultiplyRow(a.data + x, step_a, b.data + y, step_b, count, to);
      to += count;
    });
    return Contiguous(out, order);
  }

  /// The frequent steps are constants for the compiler.
  static void MultiplyRow(const C* a, int64_t step_a, const C* b, int64_t step_b, int64_t count, C* out) {
    const auto multiply = [&](auto a_step, auto b_step) {
      InCancellablePieces(0, count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = static_cast<C>(Widen(a[i * a_step]) * b[i * b_step]);
      });
    };
    constexpr std::integral_constant<int64_t, 0> kStays;
    constexpr std::integral_constant<int64_t, 1> kNext;
    if (step_a == 1 && step_b == 1) return multiply(kNext, kNext);
    if (step_a == 0 && step_b == 1) return multiply(kStays, kNext);
    if (step_a == 1 && step_b == 0) return multiply(kNext, kStays);
    multiply(step_a, step_b);
  }

  /// Narrow unsigned products would overflow int.
  static auto Widen(C value) {
    if constexpr (std::is_integral_v<C> && sizeof(C) < 4) {
      return static_cast<uint32_t>(value);
    } else {
      return value;
    }
  }

  bool IsOutput(const Labels& order) const {
    return order.count == output_.count && std::equal(order.begin(), order.end(), output_.begin());
  }

  /// Moves to `batch` those first labels of `labels` that no one stride walks together with the rest, where the rest is
  /// `enough`.
  void Split(const View<C>& view, Labels& labels, uint64_t& batch, int64_t enough) const {
    int first = 0;
    Labels rest = labels;
    while (Collapse(view, rest) < 0) {
      ++first;
      rest.count = 0;
      for (int i = first; i < labels.count; ++i) rest.Add(labels.at[static_cast<size_t>(i)]);
    }
    if (first == 0 || SizeOf(rest, sizes_) < enough) return;
    for (int i = 0; i < first; ++i) batch |= Bit(labels.at[static_cast<size_t>(i)]);
    labels = rest;
  }

  View<C> MatMul(View<C> a, View<C> b, uint64_t both, uint64_t needed, C* out) const {
    constexpr int64_t kEnough = 32;  // rows or columns of a GEMM that is worth its start
    uint64_t repeated = both & needed;
    const Labels inner = Order(both & ~needed);
    Labels rows = Order(a.labels & ~both);
    Labels columns = Order(b.labels & ~both);
    Split(a, rows, repeated, kEnough);
    Split(b, columns, repeated, kEnough);
    const Labels batch = Order(repeated);
    if (Collapse(a, rows) < 0 || Collapse(a, inner) < 0) a = Copy(a, Join(Order(repeated & a.labels), rows, inner));
    if (Collapse(b, columns) < 0 || Collapse(b, inner) < 0) b = Copy(b, Join(Order(repeated & b.labels), inner, columns));
    const View<C> c = Target(batch, rows, columns, out);
    GemmProblem<C> args;
    args.m = SizeOf(rows, sizes_);
    args.n = SizeOf(columns, sizes_);
    args.k = SizeOf(inner, sizes_);
    args.lhs.row = Collapse(a, rows);
    args.lhs.k = Collapse(a, inner);
    args.rhs.k = Collapse(b, inner);
    args.rhs.col = Collapse(b, columns);
    args.out.row = std::max(Collapse(c, rows), args.n);  // of one row any
    const int64_t count = SizeOf(batch, sizes_);
    const auto offsets = context_.scratch<Offsets>(static_cast<size_t>(count));
    int64_t filled = 0;
    Walk(batch, sizes_, a.strides, b.strides,
         [&](int64_t x, int64_t y) { offsets[static_cast<size_t>(filled++)] = {x, y, 0}; });
    filled = 0;
    Walk(batch, sizes_, c.strides, c.strides, [&](int64_t z, int64_t) { offsets[static_cast<size_t>(filled++)].c = z; });
    C* const results = const_cast<C*>(c.data);
    RunGemms<C>(context_, count, [&](int64_t i) {
      const Offsets& at = offsets[static_cast<size_t>(i)];
      GemmProblem<C> one = args;
      one.lhs.data = a.data + at.a;
      one.rhs.data = b.data + at.b;
      one.out.data = results + at.c;
      return one;
    });
    return c;
  }

  struct Offsets {
    int64_t a, b, c;
  };

  /// Output of GEMMs of these rows and columns: directly in `out`, if each row of a GEMM is one there.
  View<C> Target(const Labels& batch, const Labels& rows, const Labels& columns, C* out) const {
    const Labels order = Join(batch, rows, columns);
    if (out != nullptr && order.count == output_.count) {
      const View<C> whole = Contiguous(out, output_);
      if (Collapse(whole, columns) == 1 && Collapse(whole, rows) >= 0) return whole;
    }
    return Contiguous(context_.scratch<C>(static_cast<size_t>(SizeOf(order, sizes_))).data(), order);
  }

  KernelContext& context_;
  const Sizes& sizes_;
  const Labels& output_;
};

template <class T>
class Einsum final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit Einsum(const KernelInfo& info) : equation_(info.node()) {}

  void Compute(KernelContext& context) override {
    const size_t count = equation_.inputs().size();
    int ellipsis_rank = 0;
    for (size_t i = 0; i < count; ++i) ellipsis_rank = std::max(ellipsis_rank, EllipsisRank(context, i));
    Sizes sizes;
    sizes.fill(1);
    const auto views = context.scratch<View<C>>(count);
    for (size_t i = 0; i < count; ++i) views[i] = Describe(context.required_input(i), i, EllipsisRank(context, i), sizes);
    for (size_t i = 0; i < count; ++i)
      FindBroadcasts(context.required_input(i), i, EllipsisRank(context, i), sizes, views[i]);
    Labels output = Expand(equation_.output(), ellipsis_rank);
    Shape shape;
    for (int8_t label : output) shape.Append(sizes[static_cast<size_t>(label)]);
    Tensor* result_tensor = context.output(0, shape);
    if (result_tensor == nullptr || result_tensor->num_elements() == 0) return;
    ComputeResult<T> result(context, *result_tensor);
    if (std::ranges::any_of(sizes, [](int64_t size) { return size == 0; })) {  // sums over an empty axis
      FillCancellably(result.data(), result_tensor->num_elements(), C{});
    } else {
      Run(context, views, sizes, output, result.data());
    }
    result.Finish();
  }

 private:
  int EllipsisRank(KernelContext& context, size_t i) const {
    const auto& term = equation_.inputs()[i];
    const size_t rank = context.required_input(i).shape().rank();
    const bool has = std::ranges::find(term, kEllipsis) != term.end();
    const size_t letters = term.size() - (has ? 1 : 0);
    Require(has ? rank >= letters : rank == letters, "operand {} is {}, the equation gives it {} axes{}", i,
            context.required_input(i).shape(), letters, has ? " or more" : "");
    Require(rank - letters <= kLabels - kFirstEllipsisAxis,
            "operand {} has {} axes under its ellipsis; at most {} are supported", i, rank - letters,
            kLabels - kFirstEllipsisAxis);
    return static_cast<int>(rank - letters);
  }

  /// The ellipsis becomes one label per axis; they align at the right.
  static Labels Expand(const EinsumEquation::Term& term, int ellipsis_rank) {
    Labels labels;
    for (int8_t label : term) {
      if (label != kEllipsis) {
        Require(labels.count < kLabels, "an operand of Einsum has more than {} axes", kLabels);
        labels.Add(label);
        continue;
      }
      for (int axis = ellipsis_rank; axis-- > 0;) {
        Require(labels.count < kLabels, "an operand of Einsum has more than {} axes", kLabels);
        labels.Add(static_cast<int8_t>(kFirstEllipsisAxis + axis));
      }
    }
    return labels;
  }

  View<C> Describe(const Tensor& tensor, size_t operand, int ellipsis_rank, Sizes& sizes) const {
    const Labels labels = Expand(equation_.inputs()[operand], ellipsis_rank);
    View<C> view;
    int64_t stride = 1;
    std::array<int64_t, kLabels> own{};
    for (int i = labels.count; i-- > 0;) {
      const auto label = static_cast<size_t>(labels.at[static_cast<size_t>(i)]);
      const int64_t dim = tensor.shape()[static_cast<size_t>(i)];
      const bool repeated = (view.labels & Bit(static_cast<int8_t>(label))) != 0;
      Require(!repeated || own[label] == dim, "operand {} is {}: axes that share a label differ", operand, tensor.shape());
      own[label] = dim;
      view.labels |= Bit(static_cast<int8_t>(label));
      view.strides[label] += stride;
      stride *= dim;
      Require(sizes[label] == dim || sizes[label] == 1 || dim == 1,
              "operand {} is {}: a label has {} elements here, {} elsewhere", operand, tensor.shape(), dim, sizes[label]);
      if (sizes[label] == 1) sizes[label] = dim;
    }
    return view;
  }

  void FindBroadcasts(const Tensor& tensor, size_t operand, int ellipsis_rank, const Sizes& sizes, View<C>& view) const {
    const Labels labels = Expand(equation_.inputs()[operand], ellipsis_rank);
    for (int i = 0; i < labels.count; ++i) {
      const auto label = static_cast<size_t>(labels.at[static_cast<size_t>(i)]);
      if (tensor.shape()[static_cast<size_t>(i)] == 1 && sizes[label] != 1) view.strides[label] = 0;
    }
  }

  void Run(KernelContext& context, std::span<View<C>> views, const Sizes& sizes, const Labels& output, C* out) const {
    for (size_t i = 0; i < views.size(); ++i) views[i].data = Data(context, i);
    uint64_t wanted = 0;
    for (int8_t label : output) wanted |= Bit(label);
    const Contraction<C> contraction(context, sizes, output);
    const auto needed_after = [&](size_t i) {
      uint64_t needed = wanted;
      for (size_t j = i + 1; j < views.size(); ++j) needed |= views[j].labels;
      return needed;
    };
    View<C> current = contraction.Reduce(views[0], needed_after(0));
    for (size_t i = 1; i < views.size(); ++i) {
      const uint64_t needed = needed_after(i);
      const View<C> next = contraction.Reduce(views[i], needed | current.labels);
      current = contraction.Contract(current, next, needed, i + 1 == views.size() ? out : nullptr);
    }
    if (current.data != out) contraction.Store(current, out);
  }

  const C* Data(KernelContext& context, size_t i) const {
    const Tensor& tensor = context.required_input(i);
    if constexpr (std::is_integral_v<C>) {
      return static_cast<const C*>(tensor.raw());
    } else {
      return ComputeView<T>(context, &tensor);
    }
  }

  EinsumEquation equation_;
};

}  // namespace

void RegisterEinsum(KernelRegistry& registry) {
  using E = ElementType;
  registry.Add(Op("Einsum").Types(0, kFloats).Factory(MakeTyped<Einsum, FloatTypes>));
  // Signed sums and products wrap like unsigned ones.
  registry.Add(Op("Einsum").Types(0, {E::kInt8, E::kUInt8}).Make<Einsum<uint8_t>>());
  registry.Add(Op("Einsum").Types(0, {E::kInt16, E::kUInt16}).Make<Einsum<uint16_t>>());
  registry.Add(Op("Einsum").Types(0, {E::kInt32, E::kUInt32}).Make<Einsum<uint32_t>>());
  registry.Add(Op("Einsum").Types(0, {E::kInt64, E::kUInt64}).Make<Einsum<uint64_t>>());
}

}  // namespace tessera::cpu
