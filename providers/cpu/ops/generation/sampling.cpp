// Sampling, com.microsoft, version 1: tokens drawn by their probabilities, of which only the likeliest are left that come
// to `top_p` together. A seed gives the tokens that ONNX Runtime draws.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/cancellable_sort.h"
#include "base/checked.h"
#include "cpu/engine/softmax.h"
#include "cpu/ops/generation/token_search.h"

namespace tessera::cpu {
namespace {

class Sampling final : public TokenSearch {
 public:
  explicit Sampling(const KernelInfo& info)
      : TokenSearch(info),
        temperature_(info.attribute<float>("temperature", 1.0f)),
        top_p_(info.attribute<float>("top_p", 0.0f)),
        filtered_(info.attribute<float>("filter_value", -1e20f)),
        presence_penalty_(info.attribute<float>("presence_penalty", 0.0f)),
        kept_(info.attribute<int64_t>("min_tokens_to_keep", 0)),
        custom_(info.attribute<int64_t>("custom", 0) != 0) {
    Require(kept_ >= 0 && kept_ < vocabulary(), "min_tokens_to_keep is {}; less than the vocabulary's {} are expected",
            kept_, vocabulary());
  }

  void Compute(KernelContext& context) override {
    TokenRules rules = Rules(context);
    rules.temperature = temperature_;
    const SearchInputs inputs = Inputs(context);
    const int64_t batch = inputs.batch();
    rules.presence_mask = inputs.Mask(7, "presence_mask", {batch, vocabulary()});
    rules.presence_penalty = presence_penalty_;
    const int32_t seed = inputs.Scalar<int32_t>(8, "seed").value_or(0);
    Require(seed >= 0, "seed is {}; a number from 0 on is expected", seed);
    std::minstd_rand0 engine(static_cast<uint32_t>(seed));
    const auto size = static_cast<size_t>(vocabulary());
    constexpr size_t kTokenBytes = sizeof(size_t) + sizeof(float) + sizeof(double);  // of order, shares and sums
    const MemoryCharge charge(
        context.allocator(),
        CheckedAdd(CheckedMul(size, kTokenBytes), CheckedMul(size * sizeof(float), static_cast<size_t>(batch))));
    std::vector<float> last(static_cast<size_t>(batch) * size);
    Search(context, rules, [&](std::span<float> scores, std::span<int32_t> tokens) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        const auto row = scores.subspan(i * size, size);
        Filter(context, row);
        tokens[i] = Draw(row, engine);
      }
      std::ranges::copy(scores, last.begin());
    });
    // Those of the last step.
    if (Tensor* filtered = context.output(1, {batch, vocabulary()}); filtered != nullptr) {
      std::ranges::copy(last, filtered->mutable_data<float>());
    }
  }

 private:
  /// Scores of unlikely tokens become `filter_value`. From the least likely on, those go that come to 1 - top_p at most,
  /// but for the `min_tokens_to_keep` likeliest; the custom rule goes from the likeliest on, and keeps it.
  void Filter(KernelContext& context, std::span<float> scores) const {
    const size_t size = scores.size();
    std::vector<size_t> order(size);
    std::iota(order.begin(), order.end(), size_t{0});
    // NaN, which has no order, is the least.
    const auto key = [&](size_t i) { return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i]; };
    SortCancellably(order.begin(), order.end(),
                    [&](size_t a, size_t b) { return custom_ ? key(a) > key(b) : key(a) < key(b); });
    std::vector<float> shares(size);
    std::ranges::transform(order, shares.begin(), key);
    SoftmaxAlong(context, AxisView(1, static_cast<int64_t>(size), 1), shares.data(), shares.data(), /*log=*/false);
    std::partial_sum(shares.begin(), shares.end(), shares.begin());
    if (custom_) {
      for (size_t i = 0; i + 1 < size; ++i) {
        if (shares[i] > top_p_) scores[order[i + 1]] = filtered_;
      }
      return;
    }
    for (size_t i = 0; i < size - static_cast<size_t>(kept_); ++i) {
      if (shares[i] <= 1 - top_p_) scores[order[i]] = filtered_;
    }
  }

  static int32_t Draw(std::span<const float> scores, std::minstd_rand0& engine) {
    float most = std::numeric_limits<float>::lowest();
    for (const float score : scores) {
      if (std::isfinite(score)) most = std::max(most, score);
    }
    std::vector<double> sums(scores.size());
    double sum = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (std::isfinite(scores[i])) sum += std::exp(static_cast<double>(scores[i]) - static_cast<double>(most));
      sums[i] = sum;
    }
    if (sum == 0)
      return static_cast<int32_t>(std::ranges::max_element(scores) -
                                  scores.begin());  // none is allowed, as in a greedy search
    const double drawn = std::uniform_real_distribution<double>()(engine) * sum;
    const auto at = std::ranges::upper_bound(sums, drawn) - sums.begin();
    return static_cast<int32_t>(std::min<int64_t>(at, static_cast<int64_t>(scores.size()) - 1));
  }

  float temperature_, top_p_, filtered_, presence_penalty_;
  int64_t kept_;
  bool custom_;
};

}  // namespace

void RegisterSampling(KernelRegistry& registry) { registry.Add(Op("Sampling", "com.microsoft").Make<Sampling>()); }

}  // namespace tessera::cpu
