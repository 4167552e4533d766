#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn/recurrent.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/math-inl.h"
#include "kernels/rnn/recurrent.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class F>
F Scalar(const RecurrentActivation& activation, F x) {
  const F alpha = static_cast<F>(activation.alpha), beta = static_cast<F>(activation.beta);
  switch (activation.function) {
    case RecurrentFunction::kTanh: return std::tanh(x);
    case RecurrentFunction::kSigmoid: return F{1} / (F{1} + std::exp(-x));
    case RecurrentFunction::kRelu: return x < 0 ? F{0} : x;
    case RecurrentFunction::kAffine: return alpha * x + beta;
    case RecurrentFunction::kLeakyRelu: return x >= 0 ? x : alpha * x;
    case RecurrentFunction::kThresholdedRelu: return x >= alpha ? x : F{0};
    case RecurrentFunction::kScaledTanh: return alpha * std::tanh(beta * x);
    case RecurrentFunction::kHardSigmoid: return std::min(std::max(alpha * x + beta, F{0}), F{1});
    case RecurrentFunction::kElu: return x >= 0 ? x : alpha * std::expm1(x);
    case RecurrentFunction::kSoftsign: return x / (1 + std::abs(x));
    case RecurrentFunction::kSoftplus: return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  return x;
}

bool Is(const RecurrentActivation& activation, RecurrentFunction function) { return activation.function == function; }

/// A vector's worth of numbers from `first` on, or so many as are left.
template <class D, bool kWhole>
class Part {
 public:
  HWY_INLINE Part(D d, int64_t first, int64_t count) : d_(d), first_(first), count_(count) {}
  HWY_INLINE hn::Vec<D> Load(const hn::TFromD<D>* from) const {
    return kWhole ? hn::LoadU(d_, from + first_) : LoadFirst(d_, from + first_, count_);
  }
  HWY_INLINE void Store(hn::Vec<D> v, hn::TFromD<D>* to) const {
    kWhole ? hn::StoreU(v, d_, to + first_) : StoreFirst(d_, v, to + first_, count_);
  }

 private:
  D d_;
  int64_t first_;
  int64_t count_;
};

/// `step(part)` for all of `count` numbers.
template <class F, class Step>
HWY_INLINE void ForParts(int64_t count, const Step& step) {
  const hn::ScalableTag<F> d;
  using D = hn::ScalableTag<F>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) step(Part<D, true>(d, i, lanes));
  if (i < count) step(Part<D, false>(d, i, count - i));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Clip(D d, V x, hn::TFromD<D> clip) {
  return hn::Min(hn::Set(d, clip),
                 hn::Max(hn::Set(d, -clip), x));  // so that NaN stays NaN: x86 gives the second operand then
}
template <class F>
F Clip(F x, F clip) {
  return std::min(std::max(x, -clip), clip);
}

// `clip` bounds what the gates see; the cell state goes into h as it is, as ONNX Runtime has it.
template <class F>
HWY_INLINE void LstmLane(const LstmRow<F>& row, int64_t i) {
  const F old = row.c[i];
  const auto gate = [&](const F* values, const F* peephole, F state) {
    return Clip(values[i] + (peephole == nullptr ? F{0} : peephole[i] * state), row.clip);
  };
  const F in = Scalar(row.f, gate(row.input, row.peephole_input, old));
  const F forget = row.input_forget ? 1 - in : Scalar(row.f, gate(row.forget, row.peephole_forget, old));
  const F c = forget * old + in * Scalar(row.g, Clip(row.cell[i], row.clip));
  row.c[i] = c;
  row.out[i] = Scalar(row.f, gate(row.output, row.peephole_output, c)) * Scalar(row.h, c);
}

template <class F>
void Lstm(const LstmRow<F>& row) {
  if (!Is(row.f, RecurrentFunction::kSigmoid) || !Is(row.g, RecurrentFunction::kTanh) ||
      !Is(row.h, RecurrentFunction::kTanh)) {
    for (int64_t i = 0; i < row.hidden; ++i) LstmLane(row, i);
    return;
  }
  const hn::ScalableTag<F> d;
  ForParts<F>(row.hidden, [&](const auto& part) HWY_ATTR {
    const auto gate = [&](const F* values, const F* peephole, auto state) HWY_ATTR {
      auto x = part.Load(values);
      if (peephole != nullptr) x = hn::MulAdd(part.Load(peephole), state, x);
      return vmath::Sigmoid(d, Clip(d, x, row.clip));
    };
    const auto old = part.Load(row.c);
    const auto in = gate(row.input, row.peephole_input, old);
    const auto forget = row.input_forget ? hn::Sub(hn::Set(d, F{1}), in) : gate(row.forget, row.peephole_forget, old);
    const auto cell = vmath::Tanh(d, Clip(d, part.Load(row.cell), row.clip));
    const auto c = hn::MulAdd(forget, old, hn::Mul(in, cell));
    part.Store(c, row.c);
    part.Store(hn::Mul(gate(row.output, row.peephole_output, c), vmath::Tanh(d, c)), row.out);
  });
}

template <class F>
void Reset(const GruRow<F>& row) {
  if (!Is(row.f, RecurrentFunction::kSigmoid)) {
    for (int64_t i = 0; i < row.hidden; ++i) {
      row.update[i] = Scalar(row.f, Clip(row.update[i], row.clip));
      row.reset[i] = Scalar(row.f, Clip(row.reset[i], row.clip));
      if (row.reset_state != nullptr) row.reset_state[i] = row.reset[i] * row.state[i];
    }
    return;
  }
  const hn::ScalableTag<F> d;
  ForParts<F>(row.hidden, [&](const auto& part) HWY_ATTR {
    part.Store(vmath::Sigmoid(d, Clip(d, part.Load(row.update), row.clip)), row.update);
    const auto reset = vmath::Sigmoid(d, Clip(d, part.Load(row.reset), row.clip));
    part.Store(reset, row.reset);
    if (row.reset_state != nullptr) part.Store(hn::Mul(reset, part.Load(row.state)), row.reset_state);
  });
}

template <class F>
void Gru(const GruRow<F>& row) {
  if (!Is(row.g, RecurrentFunction::kTanh)) {
    for (int64_t i = 0; i < row.hidden; ++i) {
      const F x = row.candidate[i] + (row.recurrent == nullptr ? F{0} : row.reset[i] * row.recurrent[i]);
      const F candidate = Scalar(row.g, Clip(x, row.clip));
      row.state[i] = (1 - row.update[i]) * candidate + row.update[i] * row.state[i];
    }
    return;
  }
  const hn::ScalableTag<F> d;
  ForParts<F>(row.hidden, [&](const auto& part) HWY_ATTR {
    auto x = part.Load(row.candidate);
    if (row.recurrent != nullptr) x = hn::MulAdd(part.Load(row.reset), part.Load(row.recurrent), x);
    const auto candidate = vmath::Tanh(d, Clip(d, x, row.clip));
    const auto update = part.Load(row.update), state = part.Load(row.state);
    part.Store(hn::MulAdd(update, hn::Sub(state, candidate), candidate), row.state);
  });
}

template <class F>
void Simple(const RecurrentActivation& activation, F clip, int64_t hidden, const F* gate, F* out) {
  const bool tanh = Is(activation, RecurrentFunction::kTanh), relu = Is(activation, RecurrentFunction::kRelu);
  if (!tanh && !relu && !Is(activation, RecurrentFunction::kSigmoid)) {
    for (int64_t i = 0; i < hidden; ++i) out[i] = Scalar(activation, Clip(gate[i], clip));
    return;
  }
  const hn::ScalableTag<F> d;
  ForParts<F>(hidden, [&](const auto& part) HWY_ATTR {
    const auto x = Clip(d, part.Load(gate), clip);
    part.Store(tanh ? vmath::Tanh(d, x) : relu ? hn::Max(hn::Zero(d), x) : vmath::Sigmoid(d, x), out);
  });
}

void LstmF32(const LstmRow<float>& row) { Lstm(row); }
void LstmF64(const LstmRow<double>& row) { Lstm(row); }
void ResetF32(const GruRow<float>& row) { Reset(row); }
void ResetF64(const GruRow<double>& row) { Reset(row); }
void GruF32(const GruRow<float>& row) { Gru(row); }
void GruF64(const GruRow<double>& row) { Gru(row); }
void SimpleF32(const RecurrentActivation& a, float clip, int64_t n, const float* gate, float* out) {
  Simple(a, clip, n, gate, out);
}
void SimpleF64(const RecurrentActivation& a, double clip, int64_t n, const double* gate, double* out) {
  Simple(a, clip, n, gate, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(LstmF32);
HWY_EXPORT(LstmF64);
HWY_EXPORT(ResetF32);
HWY_EXPORT(ResetF64);
HWY_EXPORT(GruF32);
HWY_EXPORT(GruF64);
HWY_EXPORT(SimpleF32);
HWY_EXPORT(SimpleF64);
template <>
void LstmCell(const LstmRow<float>& row) {
  HWY_DYNAMIC_DISPATCH(LstmF32)(row);
}
template <>
void LstmCell(const LstmRow<double>& row) {
  HWY_DYNAMIC_DISPATCH(LstmF64)(row);
}
template <>
void GruReset(const GruRow<float>& row) {
  HWY_DYNAMIC_DISPATCH(ResetF32)(row);
}
template <>
void GruReset(const GruRow<double>& row) {
  HWY_DYNAMIC_DISPATCH(ResetF64)(row);
}
template <>
void GruCell(const GruRow<float>& row) {
  HWY_DYNAMIC_DISPATCH(GruF32)(row);
}
template <>
void GruCell(const GruRow<double>& row) {
  HWY_DYNAMIC_DISPATCH(GruF64)(row);
}
template <>
void RecurrentCell(const RecurrentActivation& activation, float clip, int64_t hidden, const float* gate, float* out) {
  HWY_DYNAMIC_DISPATCH(SimpleF32)(activation, clip, hidden, gate, out);
}
template <>
void RecurrentCell(const RecurrentActivation& activation, double clip, int64_t hidden, const double* gate, double* out) {
  HWY_DYNAMIC_DISPATCH(SimpleF64)(activation, clip, hidden, gate, out);
}
}  // namespace tessera::cpu
#endif
