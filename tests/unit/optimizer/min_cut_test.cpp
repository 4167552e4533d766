#include "optimizer/analysis/min_cut.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(MinCut, CutsWhatIsCheapest) {
  MinCut cut(6);  // 0 -> {2, 3} -> {4, 5} -> 1
  cut.AddEdge(0, 2, 10);
  cut.AddEdge(0, 3, 10);
  cut.AddEdge(2, 4, 4);
  cut.AddEdge(2, 5, 8);
  cut.AddEdge(2, 3, 2);
  cut.AddEdge(3, 5, 9);
  cut.AddEdge(5, 4, 6);
  cut.AddEdge(4, 1, 10);
  cut.AddEdge(5, 1, 10);
  EXPECT_EQ(cut.Solve(0, 1), 19);
  EXPECT_TRUE(cut.IsOnSourceSide(0));
  EXPECT_FALSE(cut.IsOnSourceSide(2));
  EXPECT_TRUE(cut.IsOnSourceSide(3));
  EXPECT_FALSE(cut.IsOnSourceSide(1));
}

TEST(MinCut, NearestToTheSource) {
  MinCut cut(4);
  cut.AddEdge(0, 2, 3);
  cut.AddEdge(2, 3, MinCut::kUncut);
  cut.AddEdge(3, 1, 3);
  EXPECT_EQ(cut.Solve(0, 1), 3);
  EXPECT_FALSE(cut.IsOnSourceSide(2));
}

TEST(MinCut, NothingLeadsThere) {
  MinCut cut(3);
  cut.AddEdge(0, 2, 5);
  cut.AddEdge(1, 2, 5);
  EXPECT_EQ(cut.Solve(0, 1), 0);
  EXPECT_TRUE(cut.IsOnSourceSide(2));
}

}  // namespace
}  // namespace tessera
