// Edits of graphs with values that very many nodes read, and nodes with very many inputs: the lists behind them are indexed
// then.

#include <gmock/gmock.h>

#include "graph/graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

NodeIndex Add(Graph& graph, const std::string& op, std::vector<ValueIndex> inputs) {
  Node node;
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = {graph.AddValue("")};
  return graph.AddNode(std::move(node));
}

ValueIndex OutputOf(const Graph& graph, NodeIndex node) { return graph.node(node).outputs[0]; }

TEST(GraphEdit, ReadersOfOneValueComeAndGo) {
  Graph graph;
  const ValueIndex x = graph.AddValue("x"), other = graph.AddValue("other");
  graph.AddInput(x);
  graph.AddInput(other);
  std::vector<NodeIndex> readers;
  for (int i = 0; i < 500; ++i) readers.push_back(Add(graph, "Add", {x, i % 3 == 0 ? x : other}));
  EXPECT_EQ(graph.value(x).consumers, readers);  // each once, in the order in which they came
  for (size_t i = 0; i < readers.size(); i += 2) {
    graph.RemoveNode(readers[i]);
    readers[i] = kNone;
  }
  // One that reads the value twice still reads it when one of its inputs reads another.
  graph.SetInput(readers[3], 1, other);
  graph.SetInput(readers[5], 0, other);
  readers[5] = kNone;
  std::erase(readers, kNone);
  EXPECT_THAT(graph.value(x).consumers, UnorderedElementsAreArray(readers));
  while (readers.size() > 3) {
    graph.SetInput(readers.back(), 0, other);
    if (graph.node(readers.back()).inputs[1] == x) graph.SetInput(readers.back(), 1, other);
    readers.pop_back();
  }
  EXPECT_THAT(graph.value(x).consumers, UnorderedElementsAreArray(readers));
}

TEST(GraphEdit, InputsOfOneNodeAreReplaced) {
  Graph graph;
  const ValueIndex x = graph.AddValue("x"), y = graph.AddValue("y");
  graph.AddInput(x);
  graph.AddInput(y);
  std::vector<ValueIndex> parts;
  std::vector<NodeIndex> identities;
  for (int i = 0; i < 300; ++i) {
    identities.push_back(Add(graph, "Identity", {i % 2 == 0 ? x : y}));
    parts.push_back(OutputOf(graph, identities.back()));
  }
  parts.push_back(parts[0]);  // one is read twice
  const NodeIndex concat = Add(graph, "Concat", parts);
  EXPECT_FALSE(graph.ReadsOnce(concat, parts[0]));
  EXPECT_TRUE(graph.ReadsOnce(concat, parts[1]));
  graph.SetInput(concat, 7, y);
  for (const NodeIndex identity : identities) {
    graph.ReplaceUses(OutputOf(graph, identity), graph.node(identity).inputs[0]);
    graph.RemoveNode(identity);
  }
  std::vector<ValueIndex> expected;
  for (int i = 0; i < 300; ++i) expected.push_back(i % 2 == 0 ? x : y);
  expected.push_back(x);
  EXPECT_EQ(graph.node(concat).inputs, expected);
  EXPECT_THAT(graph.value(x).consumers, ElementsAre(concat));
  EXPECT_THAT(graph.value(y).consumers, ElementsAre(concat));
  graph.ReplaceUses(y, x);
  EXPECT_EQ(graph.node(concat).inputs, std::vector<ValueIndex>(301, x));
  EXPECT_TRUE(graph.value(y).consumers.empty());
  graph.ReplaceUses(x, y);
  EXPECT_EQ(graph.node(concat).inputs, std::vector<ValueIndex>(301, y));
}

TEST(GraphEdit, CapturesOfOneNodeAreReplaced) {
  Graph graph;
  std::vector<ValueIndex> sources, copies;
  for (int i = 0; i < 100; ++i) {
    sources.push_back(graph.AddValue(""));
    graph.AddInput(sources.back());
    copies.push_back(OutputOf(graph, Add(graph, "Identity", {sources.back()})));
  }
  auto branch = std::make_shared<Graph>(&graph);
  std::vector<ValueIndex> inside;
  for (const ValueIndex copy : copies) inside.push_back(branch->Capture(copy));
  inside.push_back(branch->Capture(sources[1]));
  const NodeIndex sum = Add(*branch, "Sum", inside);
  branch->AddOutput(OutputOf(*branch, sum));
  Node node;
  node.op_type = "If";
  node.attributes.push_back({"then_branch", branch});
  node.outputs = {graph.AddValue("")};
  const NodeIndex holder = graph.AddNode(std::move(node));
  graph.RefreshImplicitInputs(holder);
  ASSERT_EQ(graph.node(holder).implicit_inputs.size(), 101u);
  EXPECT_FALSE(graph.ReadsOnce(holder, copies[0]));  // a nested graph reads it
  for (size_t i = 0; i < copies.size(); ++i) graph.ReplaceUses(copies[i], sources[i]);
  EXPECT_THAT(graph.node(holder).implicit_inputs, UnorderedElementsAreArray(sources));
  for (size_t i = 0; i < copies.size(); ++i) {
    EXPECT_TRUE(graph.value(copies[i]).consumers.empty());
    EXPECT_EQ(branch->value(branch->node(sum).inputs[i]).outer, sources[i]);
    EXPECT_THAT(graph.value(sources[i]).consumers, ::testing::Contains(holder));
  }
  EXPECT_EQ(branch->node(sum).inputs[1], branch->node(sum).inputs[100]);  // two captures of one value are one
}

TEST(GraphEdit, OutputsAreReplaced) {
  Graph graph;
  const ValueIndex x = graph.AddValue("x");
  graph.AddInput(x);
  std::vector<ValueIndex> values;
  for (int i = 0; i < 200; ++i) {
    values.push_back(OutputOf(graph, Add(graph, "Neg", {x})));
    graph.AddOutput(values.back());
  }
  for (int i = 0; i < 100; ++i) graph.ReplaceUses(values[static_cast<size_t>(i)], values[static_cast<size_t>(i + 100)]);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(graph.outputs()[i], values[i < 100 ? i + 100 : i]);
    EXPECT_EQ(graph.value(values[i]).is_output, i >= 100);
  }
  graph.SetGraphOutput(150, x);
  EXPECT_TRUE(graph.value(values[150]).is_output);  // still the 50th
  graph.SetGraphOutput(50, x);
  EXPECT_FALSE(graph.value(values[150]).is_output);
}

TEST(GraphEdit, WindowsKnowTheirNodes) {
  Graph graph;
  const ValueIndex x = graph.AddValue("x");
  graph.AddInput(x);
  const NodeIndex last = Add(graph, "Neg", {x});  // runs last, though it was there first
  const NodeIndex a = Add(graph, "Abs", {x}), b = Add(graph, "Abs", {OutputOf(graph, a)}),
                  c = Add(graph, "Abs", {OutputOf(graph, b)});
  graph.SetInput(last, 0, OutputOf(graph, c));
  const GraphViewer window(graph, std::vector<NodeIndex>{last, b, c, b});
  EXPECT_THAT(window.nodes(), ElementsAre(b, c, last));
  EXPECT_TRUE(window.contains(last));
  EXPECT_FALSE(window.contains(a));
  EXPECT_FALSE(window.contains(100));
  EXPECT_THAT(window.inputs(), ElementsAre(OutputOf(graph, a)));
  const GraphViewer whole(graph);
  EXPECT_TRUE(whole.contains(a));
  EXPECT_FALSE(whole.contains(kNone));
}

}  // namespace
}  // namespace tessera
