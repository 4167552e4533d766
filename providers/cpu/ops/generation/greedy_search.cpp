// GreedySearch, com.microsoft, version 1: the likeliest token at each step, until all sequences have ended or are as long
// as they may be.

#include <algorithm>

#include "cpu/ops/generation/token_search.h"

namespace tessera::cpu {
namespace {

class GreedySearch final : public TokenSearch {
 public:
  using TokenSearch::TokenSearch;

  void Compute(KernelContext& context) override {
    Search(context, Rules(context), [&](std::span<float> scores, std::span<int32_t> tokens) {
      const auto size = static_cast<size_t>(vocabulary());
      for (size_t i = 0; i < tokens.size(); ++i) {
        const auto row = scores.subspan(i * size, size);
        tokens[i] = static_cast<int32_t>(std::ranges::max_element(row) - row.begin());
      }
    });
  }
};

}  // namespace

void RegisterGreedySearch(KernelRegistry& registry) {
  registry.Add(Op("GreedySearch", "com.microsoft").Make<GreedySearch>());
}

}  // namespace tessera::cpu
