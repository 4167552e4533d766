// Faults that rewrites may leave in a graph are found; see the pass manager, which looks for them in builds with checks.

#include "graph/check_graph.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "base/load_limits.h"
#include "error_of.h"
#include "graph/graph.h"
#include "graph/private_names.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

/// y = n + x, n = -x
class CheckGraph : public ::testing::Test {
 protected:
  CheckGraph() {
    graph_.set_opsets({{"", 18}});
    const TypeInfo floats = TypeInfo::OfTensor(ElementType::kFloat);
    const ValueIndex x = graph_.AddValue("x", floats), n = graph_.AddValue("n", floats), y = graph_.AddValue("y", floats);
    graph_.AddInput(x);
    graph_.AddOutput(y);
    Add("Neg", {x}, n, 13);
    Add("Add", {n, x}, y, 14);
  }

  GraphValue& value(const char* name) { return graph_.value(graph_.FindValue(name)); }
  Node& Made(const char* name) { return graph_.node(value(name).producer); }

  Graph graph_;

 private:
  void Add(const char* op, std::vector<ValueIndex> inputs, ValueIndex output, int version) {
    Node node;
    node.op_type = op;
    node.since_version = version;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph_.AddNode(std::move(node));
  }
};

TEST_F(CheckGraph, NothingIsWrong) { EXPECT_EQ(FindFault(graph_), ""); }

TEST_F(CheckGraph, AReaderThatIsNoConsumer) {
  value("n").consumers.clear();
  EXPECT_THAT(FindFault(graph_), HasSubstr("is no consumer of 'n'"));
}

TEST_F(CheckGraph, AConsumerThatDoesNotRead) {
  value("y").consumers.push_back(Made("n").index);
  EXPECT_THAT(FindFault(graph_), HasSubstr("does not read it"));
}

TEST_F(CheckGraph, AProducerThatWritesSomethingElse) {
  value("n").producer = Made("y").index;
  EXPECT_THAT(FindFault(graph_), HasSubstr("whose producer is"));
}

TEST_F(CheckGraph, WhatNobodyMakes) {
  const NodeIndex neg = value("n").producer;
  graph_.RemoveNode(neg);
  EXPECT_THAT(FindFault(graph_), HasSubstr("'n' is read, and nobody makes it"));
}

TEST_F(CheckGraph, ACycle) {
  graph_.SetInput(value("n").producer, 0, graph_.FindValue("y"));
  EXPECT_THAT(FindFault(graph_), HasSubstr("cycle"));
}

TEST_F(CheckGraph, TypesThatTheSchemaDoesNotAllow) {
  value("n").type.element = ElementType::kString;
  EXPECT_THAT(FindFault(graph_), HasSubstr("tensor(string)"));
}

TEST_F(CheckGraph, PrivateOperatorsHaveSchemas) {
  Node& node = Made("n");
  node.domain = kTesseraDomain;
  EXPECT_THAT(FindFault(graph_), HasSubstr("has no schema"));
  node.op_type = "ToNchw8c";
  EXPECT_EQ(FindFault(graph_), "");
  node.attributes.push_back({"channels", int64_t{8}});
  EXPECT_THAT(FindFault(graph_), HasSubstr("has an attribute 'channels'"));
}

TEST(CheckGraphOfAStoppedLoad, FindsNoFault) {
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  const auto limits =
      std::make_shared<LoadLimits>(std::make_shared<MemoryBudget>("the limit", 0), cancel, std::chrono::milliseconds(0));
  Graph graph;
  graph.set_limits(limits);
  graph.set_opsets({{"", 18}});
  Node node;
  node.op_type = "RandomNormal";
  node.since_version = 1;
  node.attributes.push_back({"shape", std::vector<int64_t>{2}});
  node.outputs = {graph.AddValue("y", TypeInfo::OfTensor(ElementType::kFloat))};
  graph.AddOutput(node.outputs[0]);
  graph.AddNode(std::move(node));
  *cancel = true;
  EXPECT_THAT(ErrorOf([&] { (void)FindFault(graph); }), HasSubstr("the load was cancelled"));
}

TEST_F(CheckGraph, AttributesThatAModelAdds) {
  EXPECT_EQ(FindBeyondSchemas(graph_), "");
  Made("n").attributes.push_back({"note", int64_t{8}});
  EXPECT_EQ(FindFault(graph_), "");
  EXPECT_THAT(FindBeyondSchemas(graph_), HasSubstr("has an attribute 'note'"));
}

TEST_F(CheckGraph, MoreInputsThanTheSchemaHas) {
  Node& node = Made("n");
  node.inputs.push_back(graph_.FindValue("x"));
  EXPECT_THAT(FindFault(graph_), HasSubstr("has 2 inputs and 1 outputs, its schema fewer"));
  EXPECT_THAT(FindBeyondSchemas(graph_), HasSubstr("has 2 inputs and 1 outputs, its schema fewer"));
}

}  // namespace
}  // namespace tessera::testing
