#include "partition/unit_graph.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;

/// A graph with one node for each list, which names the nodes it reads.
std::unique_ptr<Graph> MakeGraph(const std::vector<std::vector<int>>& reads) {
  auto graph = std::make_unique<Graph>();
  std::vector<ValueIndex> outputs;
  for (const auto& list : reads) {
    Node node;
    node.op_type = "Test";
    for (const int from : list) node.inputs.push_back(outputs[static_cast<size_t>(from)]);
    outputs.push_back(graph->AddValue(""));
    node.outputs = {outputs.back()};
    graph->AddNode(std::move(node));
  }
  return graph;
}

TEST(UnitGraph, KeepsAConvexClaimWhole) {
  const auto graph = MakeGraph({{}, {0}, {1}, {1, 2}});
  const UnitGraph units(*graph);
  EXPECT_THAT(units.Split(std::vector<NodeIndex>{1, 2, 3}), ElementsAre(ElementsAre(1, 2, 3)));
}

TEST(UnitGraph, CutsAClaimThatWouldCloseACycle) {
  const auto graph = MakeGraph({{}, {0}, {1}, {0, 2}});  // 1 -> 2 -> 3 leaves {0, 1, 3} through 2
  const UnitGraph units(*graph);
  EXPECT_THAT(units.Split(std::vector<NodeIndex>{0, 1, 3}), ElementsAre(ElementsAre(0, 1), ElementsAre(3)));
}

TEST(UnitGraph, SeesCyclesThroughOtherUnits) {
  const auto graph = MakeGraph({{}, {}, {0}, {1}});  // 0 -> 2, 1 -> 3
  UnitGraph units(*graph);
  units.Merge(std::vector<NodeIndex>{0, 3});
  // {1, 2} would wait for {0, 3} and be waited for.
  EXPECT_THAT(units.Split(std::vector<NodeIndex>{1, 2}), ElementsAre(ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(units.Order(), ElementsAre(1, 0, 2));
}

TEST(UnitGraph, TellsWhetherAllClaimsCanBeDrawn) {
  const auto graph = MakeGraph({{}, {}, {0}, {1}, {2, 3}, {4}});  // 0 -> 2, 1 -> 3, both -> 4 -> 5
  UnitGraph units(*graph);
  using Sets = std::vector<std::vector<NodeIndex>>;
  EXPECT_TRUE(units.CanDrawAll(Sets{}));
  EXPECT_TRUE(units.CanDrawAll(Sets{{0, 2}, {5, 4}}));
  EXPECT_TRUE(units.CanDrawAll(Sets{{0, 3}}));
  EXPECT_FALSE(units.CanDrawAll(Sets{{0, 3}, {1, 2}}));  // each waits for the other
  EXPECT_FALSE(units.CanDrawAll(Sets{{0, 5}}));          // the way from one to the other leaves it
  EXPECT_FALSE(units.CanDrawAll(Sets{{0, 2}, {2, 4}}));  // they share a node
  EXPECT_THAT(units.Sorted(std::vector<NodeIndex>{5, 0, 3}), ElementsAre(0, 3, 5));
  units.Merge(std::vector<NodeIndex>{0, 3});
  EXPECT_FALSE(units.CanDrawAll(Sets{{1, 2}}));
  EXPECT_TRUE(units.CanDrawAll(Sets{{2, 4, 5}}));
}

}  // namespace
}  // namespace tessera
