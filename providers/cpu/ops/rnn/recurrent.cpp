#include "cpu/ops/rnn/recurrent.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/cancellation.h"
#include "base/mapped_file.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr size_t kAlignment = 16;  // elements that panels of a part fill up to

}  // namespace

template <class T>
Recurrent<T>::Recurrent(const KernelInfo& info, std::vector<int64_t> splits, bool has_cell)
    : attributes_(info.node()),
      directions_(attributes_.directions),
      clip_(static_cast<F>(attributes_.clip)),
      splits_(std::move(splits)),
      has_cell_(has_cell),
      reverse_(attributes_.reverse),
      batch_first_(attributes_.batch_first),
      hidden_(attributes_.hidden_size),
      rounding_(RoundingOf(info.provider(), info.graph(), info.node())),
      rounds_(rounding_ == Rounding::kOperands) {
  for (int64_t split : splits_) gates_ += split;
  const Tensor* r = info.constant_input(2);
  if (hidden_ == 0 && r != nullptr && r->is(ElementTypeOf<T>) && r->shape().rank() == 3) hidden_ = r->shape()[2];
  const int64_t all[] = {gates_};
  const auto key = [&](const char* of) {
    return std::string(of) + (rounds_ ? ".bf16" : rounding_ == Rounding::kWeights ? ".rounded" : "");
  };
  packed_w_ = PackConstant(info, 1, key("recurrent.w"), all);
  packed_r_ = PackConstant(info, 2, key("recurrent.r"), splits_);
}

template <class T>
size_t Recurrent<T>::PanelSize(int64_t inner, int64_t rows) const {
  return rounds_ ? PackedGemmBf16Size(inner, rows) : PackedGemmBSize<F>(inner, rows);
}

/// Where the panels of each part of each direction begin, and where the last one ends.
template <class T>
std::vector<size_t> Recurrent<T>::PanelOffsets(int64_t inner, std::span<const int64_t> splits) const {
  std::vector<size_t> offsets = {0};
  for (int64_t d = 0; d < directions_; ++d) {
    for (int64_t split : splits) {
      offsets.push_back(offsets.back() +
                        RoundUp<size_t>(PanelSize(inner, CheckedMul<int64_t>(split, hidden_)), kAlignment));
    }
  }
  return offsets;
}

/// Weights [rows, inner] as panels from an element of `packed` on, which are filled up to whole lines of the cache.
template <class T>
void Recurrent<T>::PackPart(ThreadPool& threads, int64_t inner, int64_t rows, const T* weights, size_t offset,
                            Tensor& packed) const {
  const size_t element = packed.byte_size() / static_cast<size_t>(packed.num_elements()), size = PanelSize(inner, rows);
  std::byte* to = static_cast<std::byte*>(packed.mutable_raw()) + offset * element;
  std::memset(to + size * element, 0, (RoundUp<size_t>(size, kAlignment) - size) * element);
  if constexpr (std::is_same_v<T, double>) {
    PackGemmB<double>(threads, inner, rows, weights, 1, inner, reinterpret_cast<double*>(to));
  } else if (rounds_) {
    PackGemmBf16(threads, inner, rows, weights, reinterpret_cast<BFloat16*>(to));
  } else {
    PackMatrix(threads, inner, rows, weights, true, PanelTypeOf(packed.type()), to);
  }
}

/// Weights are [directions, gates * hidden, inner]; every part of every direction becomes panels of its own.
template <class T>
void Recurrent<T>::Pack(ThreadPool& threads, const T* weights, int64_t inner, std::span<const int64_t> splits,
                        std::span<const size_t> offsets, Tensor& packed) const {
  size_t part = 0;
  for (int64_t d = 0; d < directions_; ++d) {
    for (int64_t split : splits) {
      PackPart(threads, inner, split * hidden_, weights, offsets[part++], packed);
      weights += split * hidden_ * inner;
    }
  }
}

/// What `size` elements of panels may be. Narrow ones cost instructions: only where steps would wait for wider ones.
template <class T>
std::span<const ElementType> Recurrent<T>::PanelElements(size_t size) const {
  static constexpr ElementType kDouble[] = {ElementType::kDouble}, kRounded[] = {ElementType::kBFloat16};
  if (std::is_same_v<T, double>) return kDouble;
  if (rounding_ != Rounding::kNone) return kRounded;
  const bool near = static_cast<int64_t>(size * sizeof(float)) <= directions_ * kNearWeights;
  return std::span(kPanelElements).first(near ? 1 : std::size(kPanelElements));
}

template <class T>
auto Recurrent<T>::PackConstant(const KernelInfo& info, size_t input, const std::string& key,
                                std::span<const int64_t> splits) const -> Packed {
  const Tensor* weights = info.constant_input(input);
  if (weights == nullptr || !weights->is(ElementTypeOf<T>) || hidden_ <= 0 || weights->num_elements() == 0) return {};
  const Shape& shape = weights->shape();
  if (shape.rank() != 3 || shape[0] != directions_ || shape[1] != gates_ * hidden_) return {};  // Compute complains
  Packed packed;
  packed.offsets = PanelOffsets(shape[2], splits);
  const Shape size{static_cast<int64_t>(packed.offsets.back())};
  const std::string form = fmt::format("{} {} {}", key, hidden_, fmt::join(splits, "+"));
  const std::span<const ElementType> types = PanelElements(packed.offsets.back());
  packed.panels = SharedTensor(info, *weights, form, types, size, [&] {
    const ElementType type = types.size() == 1 ? types[0] : ElementOf(PanelTypeFor(info.threads(), *weights));
    auto made = std::make_shared<Tensor>(type, size, WeightMemory());
    Pack(info.threads(), weights->unaligned_data<T>(), shape[2], splits, packed.offsets, *made);
    ForgetPages(weights->unaligned_raw(), weights->byte_size());
    return made;
  });
  packed.type = rounds_ ? PanelType::kPairs : PanelTypeOf(packed.panels->type());
  info.AcceptUnaligned(input);
  return packed;
}

template <class T>
RecurrentSizes Recurrent<T>::Sizes(const KernelContext& context) const {
  const Shape& x = context.required_input(0).shape();
  const Shape& r = context.required_input(2).shape();
  Require(x.rank() == 3, "X is {}, three axes are expected", x);
  Require(r.rank() == 3, "R is {}, three axes are expected", r);
  const int64_t hidden = HiddenOf(r);
  Require(hidden_ == 0 || hidden_ == hidden, "hidden_size is {} and R is {}", hidden_, r);
  return {.steps = x[batch_first_ ? 1 : 0],
          .batch = x[batch_first_ ? 0 : 1],
          .input = x[2],
          .hidden = hidden,
          .directions = directions_};
}

template <class T>
void Recurrent<T>::CheckInput(const KernelContext& context, size_t input, const char* name, ElementType type,
                              const Shape& expected) {
  const Tensor* tensor = context.input(input);
  if (tensor == nullptr) return;
  Require(tensor->shape() == expected && tensor->is(type), "{} is {} of {}, {} of {} is expected", name, tensor->shape(),
          ElementTypeName(tensor->type()), expected, ElementTypeName(type));
}

template <class T>
void Recurrent<T>::CheckWeights(const KernelContext& context, const RecurrentSizes& s) const {
  const int64_t gates = gates_ * s.hidden;
  CheckInput(context, 1, "W", ElementTypeOf<T>, {s.directions, gates, s.input});
  CheckInput(context, 2, "R", ElementTypeOf<T>, {s.directions, gates, s.hidden});
}

template <class T>
void Recurrent<T>::CheckShapes(const KernelContext& context, const RecurrentSizes& s) const {
  Require(s.hidden < (int64_t{1} << 31), "hidden_size is {}", s.hidden);
  context.required_input(1);
  const int64_t gates = gates_ * s.hidden;
  CheckWeights(context, s);
  const auto check = [&](size_t input, const char* name, const Shape& expected) {
    CheckInput(context, input, name, ElementTypeOf<T>, expected);
  };
  const Shape state = batch_first_ ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  check(3, "B", {s.directions, 2 * gates});
  check(5, "initial_h", state);
  if (has_cell_) {
    check(6, "initial_c", state);
    check(7, "P", {s.directions, 3 * s.hidden});
  }
  if (const Tensor* lengths = context.input(4)) {
    Require(lengths->is(ElementType::kInt32) && lengths->shape() == Shape{s.batch},
            "sequence_lens is {} of {}, [{}] of int32 is expected", lengths->shape(), ElementTypeName(lengths->type()),
            s.batch);
    for (int32_t length : lengths->values<int32_t>()) {
      Require(length >= 0 && length <= s.steps, "sequence length {} is outside [0, {}]", length, s.steps);
    }
  }
}

template <class T>
auto Recurrent<T>::Numbers(KernelContext& context, size_t input) const -> const F* {
  const Tensor* tensor = context.input(input);
  if (tensor == nullptr) return nullptr;
  if constexpr (std::is_same_v<F, T>) {
    return tensor->data<T>();
  } else {
    const std::span<F> numbers = context.scratch<F>(static_cast<size_t>(tensor->num_elements()));
    ConvertToFloat(tensor->data<T>(), numbers.data(), tensor->num_elements());
    return numbers.data();
  }
}

template <class T>
auto Recurrent<T>::InputBias(KernelContext& context, const RecurrentSizes& s, const F* bias) const -> std::span<const F> {
  if (bias == nullptr) return {};
  const std::span<F> acc = context.scratch<F>(static_cast<size_t>(gates_ * s.hidden));
  const F* of_r = bias + acc.size();
  for (size_t i = 0; i < acc.size(); ++i)
    acc[i] = bias[i] + (folds_bias(static_cast<int64_t>(i) / s.hidden) ? of_r[i] : F{0});
  return acc;
}

template <class T>
void Recurrent<T>::InputMatMuls(KernelContext& context, const RecurrentSizes& s, const F* bias, F* gates) const {
  const F* x = Numbers(context, 0);
  const F* w = packed_w_.panels == nullptr ? Numbers(context, 1) : nullptr;
  const int64_t width = gates_ * s.hidden;
  const BFloat16* pairs = RoundedInput(context, s, x);
  for (int64_t d = 0; d < s.directions; ++d) {
    const std::span<const F> acc = InputBias(context, s, bias == nullptr ? nullptr : bias + d * 2 * width);
    GemmProblem<F> args;
    args.m = s.steps * s.batch;
    args.n = width;
    args.k = s.input;
    args.lhs = pairs != nullptr ? GemmLhs<F>{.pairs = pairs} : GemmLhs<F>{.data = x, .row = s.input};
    if (w == nullptr) {
      args.rhs = {.packed = packed_w_.part(static_cast<size_t>(d)), .type = packed_w_.type};
    } else {
      args.rhs = {.data = w + d * width * s.input, .k = 1, .col = s.input};
    }
    args.out = {.data = gates + d * args.m * width, .row = width};
    args.epilogue.bias = acc.data();
    const size_t workspace = GemmWorkspaceSize(args, context.threads().num_threads());
    Gemm(context.threads(), args, workspace == 0 ? nullptr : context.scratch<F>(workspace).data());
  }
}

template <class T>
void Recurrent<T>::FillGates(KernelContext& context, const RecurrentSizes& s, const F* bias, F* gates) const {
  const int64_t width = gates_ * s.hidden;
  for (int64_t d = 0; d < s.directions; ++d) {
    const std::span<const F> acc = InputBias(context, s, bias == nullptr ? nullptr : bias + d * 2 * width);
    PacedCancellationPoint look(1);
    for (int64_t row = 0; row < s.steps * s.batch; ++row, gates += width) {
      look.Pass(width);
      acc.empty() ? std::fill_n(gates, width, F{0}) : std::copy_n(acc.data(), width, gates);
    }
  }
}

/// X as pairs of bfloat16, where operands are rounded.
template <class T>
const BFloat16* Recurrent<T>::RoundedInput(KernelContext& context, const RecurrentSizes& s, const F* x) const {
  if constexpr (std::is_same_v<F, float>) {
    if (!rounds_) return nullptr;
    const int64_t rows = s.steps * s.batch;
    BFloat16* pairs = context.scratch<BFloat16>(static_cast<size_t>(CheckedMul(rows, PairedSize(s.input)))).data();
    RoundToPairs(context.threads(), x, rows, s.input, pairs);
    return pairs;
  }
  return nullptr;
}

template <class T>
void Recurrent<T>::AddMatMul(const RecurrentRun<F>& run, size_t part, const F* state, F* out, int64_t out_row,
                             bool accumulate, const F* bias) const {
  GemmProblem<F> args;
  args.m = run.sizes.batch;
  args.n = splits_[part] * run.sizes.hidden;
  args.k = run.sizes.hidden;
  args.lhs = {.data = state, .row = run.sizes.hidden};
  args.rhs = {.packed = run.packed_r[part], .type = packed_r_.type};
  args.out = {.data = out, .row = out_row};
  args.accumulate = accumulate;
  args.epilogue.bias = bias;
  if constexpr (std::is_same_v<F, float>) {
    if (rounds_) {
      auto* pairs = reinterpret_cast<BFloat16*>(run.state_workspace);
      RoundToPairs(state, args.m, args.k, pairs);
      args.lhs = {.pairs = pairs};
    }
  }
  Gemm<F>(*run.threads, args);
}

template <class T>
std::span<const void* const> Recurrent<T>::StateWeights(KernelContext& context, const RecurrentSizes& s) const {
  const size_t parts = splits_.size();
  const std::span<const void*> packed = context.scratch<const void*>(parts * static_cast<size_t>(s.directions));
  const F* r = packed_r_.panels == nullptr ? Numbers(context, 2) : nullptr;
  for (size_t i = 0; i < packed.size(); ++i) {
    if (r == nullptr) {
      packed[i] = packed_r_.part(i);
      continue;
    }
    const int64_t rows = splits_[i % parts] * s.hidden;
    F* panel = context.scratch<F>(PackedGemmBSize<F>(s.hidden, rows)).data();
    PackGemmB<F>(context.threads(), s.hidden, rows, r, 1, s.hidden, panel);
    packed[i] = panel;
    r += rows * s.hidden;
  }
  return packed;
}

template <class T>
size_t Recurrent<T>::StateWorkspace(const RecurrentSizes& s) const {
  return rounds_ ? static_cast<size_t>(PairedSize(s.hidden)) * sizeof(BFloat16) : 0;
}

template <class T>
void Recurrent<T>::FillState(const RecurrentRun<F>& run, const F* initial, F* state) const {
  const RecurrentSizes& s = run.sizes;
  if (initial == nullptr) {
    std::fill_n(state, s.batch * s.hidden, F{0});
    return;
  }
  for (int64_t b = 0; b < s.batch; ++b) std::copy_n(initial + StateRow(run, b) * s.hidden, s.hidden, state + b * s.hidden);
}

template <class T>
void Recurrent<T>::StoreState(const RecurrentRun<F>& run, const F* state, T* out) const {
  const RecurrentSizes& s = run.sizes;
  for (int64_t b = 0; b < s.batch; ++b) {
    T* target = out + StateRow(run, b) * s.hidden;
    // A sequence without steps has no last state.
    const bool none = run.lengths != nullptr && run.lengths[b] == 0;
    for (int64_t i = 0; i < s.hidden; ++i) target[i] = none ? T{} : static_cast<T>(state[b * s.hidden + i]);
  }
}

template <class T>
void Recurrent<T>::RunDirection(RecurrentRun<F> run, F* gates, const F* initial_h, const F* initial_c, T* y, T* y_h,
                                T* y_c) const {
  const RecurrentSizes& s = run.sizes;
  const int64_t width = gates_ * s.hidden;
  const bool reverse = reverse_ || run.direction == 1;
  FillState(run, initial_h, run.h);
  if (has_cell_) FillState(run, initial_c, run.c);
  if (gates != nullptr)
    gates += run.direction * run.whole_batch * s.steps * width + run.first * (batch_first_ ? s.steps * width : width);
  run.gates_row = batch_first_ ? s.steps * width : width;
  for (int64_t i = 0; i < s.steps; ++i) {
    CancellationPoint();
    run.step = reverse ? s.steps - 1 - i : i;
    run.gates = gates + run.step * (batch_first_ ? width : run.whole_batch * width);
    Step(run);
    if (y == nullptr) continue;
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t entry = run.first + b;
      const int64_t row = batch_first_ ? (entry * s.steps + run.step) * s.directions + run.direction
                                       : (run.step * s.directions + run.direction) * run.whole_batch + entry;
      T* target = y + row * s.hidden;
      if (!run.active(b)) {
        std::fill_n(target, s.hidden, T{});
      } else {
        for (int64_t k = 0; k < s.hidden; ++k) target[k] = static_cast<T>(run.h[b * s.hidden + k]);
      }
    }
  }
  if (y_h != nullptr) StoreState(run, run.h, y_h);
  if (y_c != nullptr) StoreState(run, run.c, y_c);
}

template <class T>
void Recurrent<T>::Compute(KernelContext& context) {
  const RecurrentSizes s = Sizes(context);
  CheckShapes(context, s);
  const auto out = [&](size_t i, const Shape& shape) -> T* {
    Tensor* tensor = context.has_output(i) ? context.output(i, shape) : nullptr;
    return tensor == nullptr ? nullptr : tensor->template mutable_data<T>();
  };
  const Shape state = batch_first_ ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  T* y = out(
      0, batch_first_ ? Shape{s.batch, s.steps, s.directions, s.hidden} : Shape{s.steps, s.directions, s.batch, s.hidden});
  T* y_h = out(1, state);
  T* y_c = has_cell_ ? out(2, state) : nullptr;
  if (s.batch == 0 || s.hidden == 0) return;

  const F* bias = Numbers(context, 3);
  const F* initial_h = Numbers(context, 5);
  const F* initial_c = has_cell_ ? Numbers(context, 6) : nullptr;
  const F* peepholes = has_cell_ ? Numbers(context, 7) : nullptr;
  const int64_t width = gates_ * s.hidden;
  F* gates = context.scratch<F>(static_cast<size_t>(CheckedMul(CheckedMul(s.directions * s.steps, s.batch), width))).data();
  s.input == 0 ? FillGates(context, s, bias, gates) : InputMatMuls(context, s, bias, gates);

  const std::span<const void* const> packed = StateWeights(context, s);

  const int64_t block = s.batch * s.hidden;
  const std::span<F> states = context.scratch<F>(static_cast<size_t>(CheckedMul(block, s.directions * 4)));
  const auto entry_workspace = static_cast<int64_t>(StateWorkspace(s));
  std::byte* state_workspace =
      context.scratch<std::byte>(static_cast<size_t>(CheckedMul(s.directions * s.batch, entry_workspace))).data();
  const Tensor* lengths = context.input(4);
  const auto run_part = [&](int64_t d, int64_t first, int64_t count) {
    RecurrentRun<F> run{};
    run.threads = &context.threads();
    run.sizes = s;
    run.sizes.batch = count;
    run.direction = d;
    run.first = first;
    run.whole_batch = s.batch;
    run.lengths = lengths == nullptr ? nullptr : lengths->data<int32_t>() + first;
    run.bias = bias == nullptr ? nullptr : bias + d * 2 * width;
    run.peepholes = peepholes == nullptr ? nullptr : peepholes + d * 3 * s.hidden;
    run.packed_r = packed.data() + static_cast<size_t>(d) * splits_.size();
    run.state_workspace = state_workspace + (d * s.batch + first) * entry_workspace;
    run.h = states.data() + d * 4 * block + 4 * first * s.hidden;
    run.c = run.h + count * s.hidden;
    run.temp = run.h + 2 * count * s.hidden;
    RunDirection(run, gates, initial_h, initial_c, y, y_h, y_c);
  };
  ForEachPart(context.threads(), s, run_part);
}

template <class T>
void Recurrent<T>::ForEachPart(ThreadPool& threads, const RecurrentSizes& s,
                               FunctionRef<void(int64_t direction, int64_t first, int64_t count)> run_part) const {
  const int64_t batch_parts = BatchParts(s, threads.num_threads());
  const double step_work = static_cast<double>(s.batch * s.hidden) * static_cast<double>(gates_ * s.hidden);
  if (batch_parts == 1 && (s.directions == 1 || step_work >= 4e6)) {
    for (int64_t d = 0; d < s.directions; ++d) run_part(d, 0, s.batch);
    return;
  }
  const double cost = static_cast<double>(s.steps) * step_work * 0.05 / static_cast<double>(batch_parts);
  threads.ParallelFor(s.directions * batch_parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % batch_parts, first = s.batch * part / batch_parts;
      run_part(i / batch_parts, first, s.batch * (part + 1) / batch_parts - first);
    }
  });
}

/// Every part reads all of R at every step: worth it where R stays in a core's cache or serves many entries.
template <class T>
int64_t Recurrent<T>::BatchParts(const RecurrentSizes& s, int threads) const {
  const int64_t wanted = CeilDiv(threads, s.directions);
  const int64_t parts = std::clamp<int64_t>(wanted, 1, s.batch);
  const int64_t bytes = gates_ * s.hidden * s.hidden * static_cast<int64_t>(packed_r_.element_size());
  return bytes <= kNearWeights || s.batch / parts >= 12 ? parts : 1;
}

template class Recurrent<float>;
template class Recurrent<double>;
template class Recurrent<Float16>;
template class Recurrent<BFloat16>;

}  // namespace tessera::cpu
