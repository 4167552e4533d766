// The models of benchmarks/graph_scaling.cpp at a size at which every list that is indexed when it is long is so: what
// passes and plans make of them computes what the nodes as they stand compute. How time grows is the benchmark's question.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph_scaling/kinds.h"

namespace tessera::scaling {
namespace {

std::vector<Value> Results(const Case& made, OptimizationLevel level) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = 1;
  options.optimization_level = level;
  const Session session(std::as_bytes(std::span(made.model)), options);
  // Passes that undo each other, or themselves, go on until they are stopped, after eight rounds. Fewer in all: those of
  // the portable passes, of a lowering that they follow once more, and of those.
  EXPECT_LE(session.optimization().rounds, 7u);
  std::vector<Value> first = session.Run(made.names, made.inputs), second = session.Run(made.names, made.inputs);
  for (size_t i = 0; i < first.size(); ++i) {  // the second run has a memory plan
    const auto a = first[i].tensor().values<float>(), b = second[i].tensor().values<float>();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "output " << i << " of the second run differs";
  }
  return first;
}

class GraphScaling : public ::testing::TestWithParam<Kind> {};

TEST_P(GraphScaling, ComputesWhatItsNodesCompute) {
  constexpr int kSize = 300;
  const Case made = GetParam().make(kSize);
  const std::vector<Value> plain = Results(made, OptimizationLevel::kNone),
                           optimized = Results(made, OptimizationLevel::kAll);
  ASSERT_EQ(plain.size(), optimized.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    const auto a = plain[i].tensor().values<float>(), b = optimized[i].tensor().values<float>();
    ASSERT_EQ(a.size(), b.size());
    for (size_t j = 0; j < a.size(); ++j)
      ASSERT_NEAR(a[j], b[j], 1e-3f * (1 + std::abs(a[j]))) << "output " << i << ", element " << j;
  }
}

std::vector<Kind> OnCpu() {
  std::vector<Kind> kinds;
  for (const auto* list : {&FlatKinds(), &OtherKinds()}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(kinds),
                 [](const Kind& kind) { return *kind.provider == 0; });
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Kinds, GraphScaling, ::testing::ValuesIn(OnCpu()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::scaling
