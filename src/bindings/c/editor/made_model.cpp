// Models that clients make, part by part.

#include "bindings/c/editor/made_model.h"

#include <span>
#include <utility>

#include "bindings/c/entry.h"

namespace tessera::c_abi {
namespace {

/// Bytes from which on a weight may stay in the client's memory, as ONNX Runtime has it.
constexpr size_t kLeastExternal = 128;

MadeGraph& GraphToFill(OrtGraph* graph) {
  auto* made = dynamic_cast<MadeGraph*>(&Given(graph, "the graph"));
  Require(made != nullptr, "the graph is a view of the library's; give one that CreateGraph made");
  return *made;
}

OrtValueInfo& ValueToTake(OrtValueInfo* value) {
  OrtValueInfo& given = Given(value, "a value info");
  Require(given.of_client, "value '{}' is a view's; give one that CreateValueInfo made", given.name);
  Require(!given.is_taken, "value '{}' is a graph's already; make one for each place", given.name);
  return given;
}

/// All of them or, where an error is thrown, none, so that the client knows what it has to release.
void TakeValues(std::vector<Owned<OrtValueInfo>>& list, OrtValueInfo** values, size_t count) {
  std::vector<Owned<OrtValueInfo>> taken;
  taken.reserve(count);
  const std::span<OrtValueInfo*> given(count == 0 ? nullptr : &Given(values, "the value infos"), count);
  std::unordered_set<const OrtValueInfo*> seen;
  for (OrtValueInfo* value : given)
    Require(seen.insert(&ValueToTake(value)).second, "value '{}' is given twice; make one for each place", value->name);
  for (OrtValueInfo*& value : given) {
    value->is_taken = true;
    taken.emplace_back(std::exchange(value, nullptr));
  }
  list.swap(taken);
}

const Tensor& WeightToTake(const OrtValue* value, bool is_external) {
  const Tensor& tensor = TensorIn(value);
  Require(tensor.defined(), "the weight is a tensor without elements; give one that has memory");
  Require(tensor.memory().host_accessible, "the weight is in the memory of a device; give one in the processor's");
  Require(!is_external || tensor.byte_size() >= kLeastExternal,
          "a weight whose data is external has {} bytes, expected {} at least: leave it to the library to copy it",
          tensor.byte_size(), kLeastExternal);
  return tensor;
}

}  // namespace

OrtStatusPtr CreateGraph(OrtGraph** graph) noexcept {
  return Making(graph, [&] { return new MadeGraph; });
}

OrtStatusPtr SetGraphInputs(OrtGraph* graph, OrtValueInfo** inputs, size_t inputs_len) noexcept {
  return Guarded([&] { TakeValues(GraphToFill(graph).inputs, inputs, inputs_len); });
}

OrtStatusPtr SetGraphOutputs(OrtGraph* graph, OrtValueInfo** outputs, size_t outputs_len) noexcept {
  return Guarded([&] { TakeValues(GraphToFill(graph).outputs, outputs, outputs_len); });
}

OrtStatusPtr AddInitializerToGraph(OrtGraph* graph, const char* name, OrtValue* tensor, bool data_is_external) noexcept {
  return Guarded([&] {
    MadeGraph& made = GraphToFill(graph);
    const std::string given = &Given(name, "the name");
    Require(!given.empty(), "the weight has no name");
    WeightToTake(tensor, data_is_external);
    Require(!made.weights.contains(given), "the graph has a weight '{}' already", given);
    Require(!made.values.contains(tensor), "the value of weight '{}' is one of the graph's already; make one for each",
            given);
    const auto place = made.weights.emplace(given, MadeGraph::Weight{nullptr, data_is_external}).first;
    try {
      made.values.insert(tensor);
    } catch (...) {
      made.weights.erase(place);
      throw;
    }
    place->second.value.reset(tensor);
  });
}

OrtStatusPtr AddNodeToGraph(OrtGraph* graph, OrtNode* node) noexcept {
  return Guarded([&] {
    MadeGraph& made = GraphToFill(graph);
    OrtNode& given = Given(node, "the node");
    Require(given.of_client, "{} is a view's; give a node that CreateNode made", given.node.Label());
    Require(!given.is_taken, "node {} '{}' is a graph's already; make one for each place", given.node.op_type,
            given.node.name);
    made.nodes.emplace_back();
    made.nodes.back().reset(node);
    given.is_taken = true;
    given.own_node->index = static_cast<NodeIndex>(made.nodes.size() - 1);
  });
}

OrtStatusPtr CreateModel(const char* const* domain_names, const int* opset_versions, size_t opset_entries_len,
                         OrtModel** model) noexcept {
  return Making(model, [&] {
    auto made = std::make_unique<OrtModel>();
    for (size_t i = 0; i < opset_entries_len; ++i) {
      const std::string domain = &Given((&Given(domain_names, "the domains"))[i], "a domain");
      made->opsets.insert_or_assign(domain == "ai.onnx" ? "" : domain, (&Given(opset_versions, "the versions"))[i]);
    }
    return made.release();
  });
}

OrtStatusPtr AddGraphToModel(OrtModel* model, OrtGraph* graph) noexcept {
  return Guarded([&] {
    OrtModel& given = Given(model, "the model");
    MadeGraph& made = GraphToFill(graph);
    Require(given.graph == nullptr, "the model has a graph already");
    Require(made.is_clients, "the graph is a model's already");
    made.is_clients = false;
    given.graph.reset(&made);
  });
}

void ReleaseModel(OrtModel* input) { Release(input); }

}  // namespace tessera::c_abi
