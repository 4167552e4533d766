#include "cpu/ops/microsoft/mixture_of_experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/cancellable_memory.h"
#include "base/cancellable_sort.h"
#include "base/checked.h"
#include "kernels/elementwise/swish.h"

namespace tessera::cpu {
namespace {

ExpertActivation ParseActivation(const std::string& name) {
  for (const auto& [known, activation] :
       {std::pair("relu", ExpertActivation::kRelu), std::pair("gelu", ExpertActivation::kGelu),
        std::pair("silu", ExpertActivation::kSilu), std::pair("swiglu", ExpertActivation::kSwiGlu),
        std::pair("identity", ExpertActivation::kIdentity)}) {
    if (name == known) return activation;
  }
  Fail(ErrorCode::kInvalidGraph, "activation_type is '{}'; relu, gelu, silu, swiglu or identity is expected", name);
}

/// What one token chose: k experts, and their weights.
struct Choice {
  int32_t* experts;
  float* weights;
};

/// Indices of the k largest, of equal ones the first; what is not a number comes last. `order` has room for all.
void ChooseLargest(const float* logits, std::span<int32_t> order, int64_t k, int32_t* chosen) {
  const auto key = [&](int32_t e) { return std::isnan(logits[e]) ? -std::numeric_limits<float>::infinity() : logits[e]; };
  std::iota(order.begin(), order.end(), 0);
  PartialSortCancellably(order.begin(), order.begin() + k, order.end(),
                         [&](int32_t a, int32_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  std::copy_n(order.begin(), k, chosen);
}

/// Each expert's probability is that among those within 2 % of the largest logit: the first's among all, the second's
/// without it.
void MixSparsely(const float* logits, int64_t count, const Choice& choice) {
  constexpr float kTolerance = 0.02f;
  for (int i = 0; i < 2; ++i) {
    const int32_t best = choice.experts[i];
    float sum = 0;
    PacedCancellationPoint look(10);
    for (int32_t e = 0; e < count; ++e) {
      look.Pass();
      if (i == 1 && e == choice.experts[0]) continue;
      const bool near = (logits[best] - logits[e]) / std::max(std::abs(logits[e]), logits[best]) <= kTolerance;
      if (near || e == best) sum += std::exp(logits[e] - logits[best]);
    }
    choice.weights[i] = 1 / sum;
  }
}

void Route(const MixtureAttributes& a, RouterSoftmax softmax, std::span<int32_t> order, const float* logits,
           const float* weights, const Choice& choice) {
  const auto experts = static_cast<int64_t>(order.size());
  ChooseLargest(logits, order, a.k, choice.experts);
  if (a.sparse_mixer) return MixSparsely(logits, experts, choice);
  const float most = logits[choice.experts[0]];
  const auto share = [&](int64_t e) { return weights != nullptr ? weights[e] : std::exp(logits[e] - most); };
  PacedCancellationPoint look(8);
  for (int64_t i = 0; i < a.k; ++i) {
    look.Pass();
    choice.weights[i] = share(choice.experts[i]);
  }
  float whole = 0;
  if (a.normalizes || (weights == nullptr && softmax == RouterSoftmax::kOfChosen)) {
    for (int64_t i = 0; i < a.k; ++i) whole += choice.weights[i];
  } else if (weights == nullptr) {
    for (int64_t e = 0; e < experts; ++e) {
      look.Pass();
      whole += share(e);
    }
  } else {
    return;
  }
  for (int64_t i = 0; i < a.k; ++i) choice.weights[i] /= whole;
}

constexpr double kActivationNs = 1.5;  // of one number

/// Numbers by their gates, which are `step` floats apart, as the values are.
void ActivateSwiGlu(const MixtureAttributes& a, int64_t count, const float* gates, const float* values, int64_t step,
                    float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = std::min(gates[i * step], a.limit);
  SwishRow(to, count, a.alpha);
  for (int64_t i = 0; i < count; ++i) to[i] *= std::clamp(values[i * step], -a.limit, a.limit) + a.beta;
}

/// `third`: null, or what the results are multiplied by.
void ActivatePlain(const MixtureAttributes& a, int64_t count, const float* first, const float* third, float* to) {
  std::copy_n(first, count, to);
  if (a.activation == ExpertActivation::kGelu) FastGeluRow(to, count);
  if (a.activation == ExpertActivation::kSilu) SwishRow(to, count, 1);
  for (int64_t i = 0; i < count; ++i) {
    if (a.activation == ExpertActivation::kRelu) to[i] = std::max(to[i], 0.0f);
    if (third != nullptr) to[i] *= third[i];
  }
}

/// The first matmul's columns, and the third's where there are any, become `inner` numbers.
void Activate(const MixtureAttributes& a, int64_t inner, const float* first, const float* third, float* to) {
  const bool interleaved = a.gates == GateColumns::kInterleaved;
  const float* values = interleaved ? first + 1 : third != nullptr ? third : first + inner;
  const int64_t step = interleaved ? 2 : 1;
  InCancellablePieces(0, inner, kActivationNs, [&](int64_t begin, int64_t end) {
    if (a.activation == ExpertActivation::kSwiGlu) {
      ActivateSwiGlu(a, end - begin, first + begin * step, values + begin * step, step, to + begin);
    } else {
      ActivatePlain(a, end - begin, first + begin, third == nullptr ? nullptr : third + begin, to + begin);
    }
  });
}

/// Tokens by expert: those of expert e are order[begin[e]] to order[begin[e + 1]], as token * k + place.
struct TokensByExpert {
  std::span<int64_t> begin;
  std::span<int64_t> order;
};

TokensByExpert SortByExpert(KernelContext& context, std::span<const int32_t> chosen, int64_t experts) {
  const TokensByExpert sorted{context.scratch<int64_t>(static_cast<size_t>(experts) + 1),
                              context.scratch<int64_t>(chosen.size())};
  std::fill(sorted.begin.begin(), sorted.begin.end(), 0);
  PacedCancellationPoint look(2);
  for (const int32_t e : chosen) {
    look.Pass();
    ++sorted.begin[static_cast<size_t>(e) + 1];
  }
  for (size_t e = 1; e < sorted.begin.size(); ++e) sorted.begin[e] += sorted.begin[e - 1];
  const auto next = context.scratch<int64_t>(static_cast<size_t>(experts));
  std::copy_n(sorted.begin.begin(), experts, next.begin());
  for (size_t i = 0; i < chosen.size(); ++i) {
    look.Pass();
    sorted.order[static_cast<size_t>(next[static_cast<size_t>(chosen[i])]++)] = static_cast<int64_t>(i);
  }
  return sorted;
}

}  // namespace

MixtureAttributes::MixtureAttributes(const KernelInfo& info)
    : k(info.attribute<int64_t>("k", 1)),
      normalizes(info.attribute<int64_t>("normalize_routing_weights", 0) != 0),
      sparse_mixer(info.attribute<int64_t>("use_sparse_mixer", 0) != 0),
      activation(ParseActivation(info.attribute<std::string>("activation_type", "relu"))),
      alpha(info.attribute<float>("activation_alpha", 1.0f)),
      beta(info.attribute<float>("activation_beta", 0.0f)),
      limit(info.attribute<float>("swiglu_limit", std::numeric_limits<float>::infinity())) {
  const int64_t fusion = info.attribute<int64_t>("swiglu_fusion", 0);
  Require(fusion >= 0 && fusion <= 2, "swiglu_fusion is {}; 0, 1 or 2 is expected", fusion);
  gates = activation != ExpertActivation::kSwiGlu ? GateColumns::kSeparate : static_cast<GateColumns>(fusion);
  Require(k > 0, "k is {}; at least one expert is expected", k);
  Require(!sparse_mixer || k == 2, "k is {}; use_sparse_mixer chooses two experts", k);
  Require(!(limit < 0), "swiglu_limit is {}, which must not be negative", limit);
}

MixtureSizes CheckMixture(const MixtureAttributes& attributes, const Shape& x, const Shape& router, const Shape& first,
                          const Shape& second) {
  Require(x.rank() == 2 || x.rank() == 3, "the input is {}; two or three axes are expected", x);
  Require(router.rank() == 2 && first.rank() == 3 && second.rank() == 3,
          "router_probs is {}, fc1 {} and fc2 {}; two, three and three axes are expected", router, first, second);
  const int64_t fused = attributes.fused(), rows = x.SizeOfRange(0, x.rank() - 1);
  const MixtureSizes sizes{rows, x.back(), first[1] / fused, first[0]};
  Require(router[0] == rows && router[1] == sizes.experts, "router_probs is {}; [{},{}] is expected", router, rows,
          sizes.experts);
  Require(first[1] % fused == 0 && second[0] == sizes.experts && second[1] == sizes.hidden,
          "fc1 is {} and fc2 {} for an input of {}", first, second, x);
  Require(attributes.k <= sizes.experts, "k is {} of {} experts", attributes.k, sizes.experts);
  return sizes;
}

void RunMixture(KernelContext& context, const MixtureAttributes& attributes, const MixtureSizes& s, RouterSoftmax softmax,
                const float* x, const float* logits, const float* weights, const Experts& experts, float* y) {
  const int64_t k = attributes.k, columns = attributes.fused() * s.inner;
  const bool fused = attributes.gates != GateColumns::kSeparate;
  Require(attributes.activation != ExpertActivation::kSwiGlu || fused != experts.has_third(),
          "swiglu takes its values from fc1 where swiglu_fusion is "
          "1 or 2, else from fc3: one of them is expected");
  const auto chosen = context.scratch<int32_t>(static_cast<size_t>(CheckedMul(s.rows, k)));
  const auto gates = context.scratch<float>(chosen.size());
  const auto order_of_experts = context.scratch<int32_t>(static_cast<size_t>(s.experts));
  for (int64_t row = 0; row < s.rows; ++row) {
    Route(attributes, softmax, order_of_experts, logits + row * s.experts,
          weights == nullptr ? nullptr : weights + row * s.experts, {chosen.data() + row * k, gates.data() + row * k});
  }
  const TokensByExpert tokens = SortByExpert(context, chosen, s.experts);
  int64_t most = 0;
  for (int64_t e = 0; e < s.experts; ++e)
    most = std::max(most, tokens.begin[static_cast<size_t>(e) + 1] - tokens.begin[static_cast<size_t>(e)]);
  const auto rows = [&](int64_t width) {
    return context.scratch<float>(static_cast<size_t>(CheckedMul(most, width))).data();
  };
  float *in = rows(s.hidden), *first = rows(columns), *third = experts.has_third() ? rows(s.inner) : nullptr;
  float *inner = rows(s.inner), *out = rows(s.hidden);
  FillCancellably(y, s.rows * s.hidden, 0.0f);
  for (int64_t e = 0; e < s.experts; ++e) {
    const int64_t begin = tokens.begin[static_cast<size_t>(e)], count = tokens.begin[static_cast<size_t>(e) + 1] - begin;
    if (count == 0) continue;
    const int64_t* order = tokens.order.data() + begin;
    for (int64_t i = 0; i < count; ++i) CopyCancellably(in + i * s.hidden, x + order[i] / k * s.hidden, s.hidden);
    experts.Multiply(context, Experts::kFirst, e, in, count, first);
    if (third != nullptr) experts.Multiply(context, Experts::kThird, e, in, count, third);
    context.threads().ParallelFor(count, static_cast<double>(columns) * kActivationNs, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        Activate(attributes, s.inner, first + i * columns, third == nullptr ? nullptr : third + i * s.inner,
                 inner + i * s.inner);
      }
    });
    experts.Multiply(context, Experts::kSecond, e, inner, count, out);
    for (int64_t i = 0; i < count; ++i) {
      const float gate = gates[static_cast<size_t>(order[i])];
      float* sum = y + order[i] / k * s.hidden;
      InCancellablePieces(0, s.hidden, 1, [&](int64_t from, int64_t to) {
        for (int64_t j = from; j < to; ++j) sum[j] += gate * out[i * s.hidden + j];
      });
    }
  }
}

}  // namespace tessera::cpu
