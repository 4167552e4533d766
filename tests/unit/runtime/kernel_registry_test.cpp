// Which kernel a registry finds for a node, and what it says where it finds none.

#include <gmock/gmock.h>

#include "base/check.h"
#include "graph/graph.h"
#include "tessera/provider/kernel.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

/// A graph of one node that reads one tensor of floats.
class OneNodeGraph {
 public:
  explicit OneNodeGraph(int version) {
    Node node;
    node.op_type = "Test";
    node.since_version = version;
    const ValueIndex x = graph_.AddValue("x");
    graph_.value(x).type = TypeInfo::OfTensor(ElementType::kFloat);
    node.inputs = {x};
    node.outputs = {graph_.AddValue("y")};
    index_ = graph_.AddNode(std::move(node));
  }

  /// The first version of the kernel that is found, or the reason why there is none.
  std::string FindIn(const KernelRegistry& registry) const {
    const GraphViewer viewer(graph_);
    std::string why;
    const KernelDef* def = registry.Find(viewer, viewer.node(index_), &why);
    return def == nullptr ? why : std::to_string(def->first_version());
  }

 private:
  Graph graph_;
  NodeIndex index_;
};

std::string WithoutSecondOutput(const NodeInfo& info) { return info.has_output(1) ? "" : "one output is not enough"; }
std::string Accepting(const NodeInfo& info) { return info.input_type(0) == ElementType::kFloat ? "" : "not reached"; }
std::string Throwing(const NodeInfo& info) { return std::to_string(info.attribute<int64_t>("axis")); }

TEST(KernelRegistry, SaysWhatIsMissing) {
  KernelRegistry registry;
  EXPECT_EQ(OneNodeGraph(1).FindIn(registry), "no kernel for this operator");
  registry.Add(Op("Test").Versions(2, 5));
  EXPECT_EQ(OneNodeGraph(1).FindIn(registry), "no kernel for version 1");
  EXPECT_EQ(OneNodeGraph(5).FindIn(registry), "2");
  registry.Add(Op("Test").Versions(6).Types(0, {ElementType::kDouble}));
  EXPECT_THAT(OneNodeGraph(7).FindIn(registry), HasSubstr("input 0 is tensor(float)"));
}

TEST(KernelRegistry, LeavesWhatAKernelRefuses) {
  KernelRegistry registry;
  registry.Add(Op("Test").Versions(1, 3).Unless(Accepting).Unless(WithoutSecondOutput).Unless(Throwing));
  EXPECT_EQ(OneNodeGraph(2).FindIn(registry), "one output is not enough");
  registry.Add(Op("Test").Versions(2).Unless(Accepting));
  EXPECT_EQ(OneNodeGraph(2).FindIn(registry), "2") << "the next kernel that can";
}

TEST(KernelRegistry, TakesAnAttributesErrorForAReason) {
  KernelRegistry registry;
  registry.Add(Op("Test").Unless(Throwing));
  EXPECT_THAT(OneNodeGraph(1).FindIn(registry), HasSubstr("'axis' is required"));
}

}  // namespace
}  // namespace tessera
