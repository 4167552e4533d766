// Values of graphs.

#include "bindings/c/views/value_info.h"

#include "bindings/c/entry.h"
#include "bindings/c/views/list.h"
#include "graph/graph.h"

namespace tessera::c_abi {
namespace {

const OrtValueInfo& ValueInfo(const OrtValueInfo* info) { return Given(info, "the value info"); }

/// A value info of a view, which knows who makes and who reads it.
const OrtValueInfo& ValueOfView(const OrtValueInfo* info) {
  const OrtValueInfo& value = ReadableValue(info);
  if (value.view == nullptr) {
    Fail(ErrorCode::kFail, "value '{}' belongs to a node without a graph: nobody knows who makes or reads it", value.name);
  }
  return value;
}

OrtStatusPtr Answer(const OrtValueInfo* info, bool OrtValueInfo::* what, bool* out) noexcept {
  return Guarded([&] { Given(out, "out") = ReadableValue(info).*what; });
}

}  // namespace

const OrtValueInfo& ReadableValue(const OrtValueInfo* info) {
  const OrtValueInfo& value = ValueInfo(info);
  if (value.of_client)
    Fail(ErrorCode::kNotImplemented, "value '{}' was made by CreateValueInfo, which knows its name and type only",
         value.name);
  return value;
}

const GraphValue& MadeValue(const Graph& graph, ValueIndex index) noexcept {
  const GraphValue& value = graph.value(index);
  return value.outer == kNone || graph.parent() == nullptr ? value : MadeValue(*graph.parent(), value.outer);
}

}  // namespace tessera::c_abi

OrtValueInfo::OrtValueInfo(const tessera::Graph& of, tessera::ValueIndex index, const tessera::c_abi::GraphView* its_view)
    : view(its_view) {
  const tessera::TypeInfo& known = of.value(index).type;
  if (known.kind != tessera::ValueKind::kNone) type = tessera::c_abi::InfoOf(known);
  is_outer = of.value(index).outer != tessera::kNone;
  const tessera::GraphValue& value = tessera::c_abi::MadeValue(of, index);
  name = value.name;
  is_constant = value.constant.has_value();
  is_optional_input = value.default_value.has_value();
  if (is_constant) initializer = OrtValue(tessera::Tensor(*value.constant));
  if (is_optional_input) initializer = OrtValue(tessera::Tensor(*value.default_value));
}

namespace tessera::c_abi {

// Views and graphs own theirs.
void ReleaseValueInfo(OrtValueInfo* input) {
  if (IsThere(input) && input->of_client && !input->is_taken) Release(input);
}

OrtStatusPtr GetValueInfoName(const OrtValueInfo* value_info, const char** name) noexcept {
  return Guarded([&] { Given(name, "out") = ValueInfo(value_info).name.c_str(); });
}

OrtStatusPtr GetValueInfoTypeInfo(const OrtValueInfo* value_info, const OrtTypeInfo** type_info) noexcept {
  return Guarded([&] { Given(type_info, "out") = ValueInfo(value_info).type.get(); });
}

OrtStatusPtr ValueInfo_GetValueProducer(const OrtValueInfo* value_info, const OrtNode** producer_node,
                                        size_t* producer_output_index) noexcept {
  return Guarded([&] {
    const OrtValueInfo& value = ValueOfView(value_info);
    Given(producer_node, "out") = value.producer;
    if (producer_output_index != nullptr) *producer_output_index = value.output;
  });
}

OrtStatusPtr ValueInfo_GetValueNumConsumers(const OrtValueInfo* value_info, size_t* num_consumers) noexcept {
  return Guarded([&] { Given(num_consumers, "out") = ValueOfView(value_info).consumers.size(); });
}

OrtStatusPtr ValueInfo_GetValueConsumers(const OrtValueInfo* value_info, const OrtNode** nodes, int64_t* input_indices,
                                         size_t num_consumers) noexcept {
  return Guarded([&] {
    const std::vector<OrtValueInfo::Consumer>& consumers = ValueOfView(value_info).consumers;
    RequireRoom(nodes, num_consumers, consumers.size(), "consumers");
    RequireRoom(input_indices, num_consumers, consumers.size(), "input indices");
    for (size_t i = 0; i < consumers.size(); ++i) {
      nodes[i] = consumers[i].node;
      input_indices[i] = consumers[i].input;
    }
  });
}

OrtStatusPtr ValueInfo_GetInitializerValue(const OrtValueInfo* value_info, const OrtValue** initializer_value) noexcept {
  return Guarded([&] {
    const OrtValue& value = ReadableValue(value_info).initializer;
    Given(initializer_value, "out") = value.is_none() ? nullptr : &value;
  });
}

OrtStatusPtr ValueInfo_IsRequiredGraphInput(const OrtValueInfo* value_info, bool* is_required_graph_input) noexcept {
  return Answer(value_info, &OrtValueInfo::is_required_input, is_required_graph_input);
}

OrtStatusPtr ValueInfo_IsOptionalGraphInput(const OrtValueInfo* value_info, bool* is_optional_graph_input) noexcept {
  return Answer(value_info, &OrtValueInfo::is_optional_input, is_optional_graph_input);
}

OrtStatusPtr ValueInfo_IsGraphOutput(const OrtValueInfo* value_info, bool* is_graph_output) noexcept {
  return Answer(value_info, &OrtValueInfo::is_output, is_graph_output);
}

OrtStatusPtr ValueInfo_IsConstantInitializer(const OrtValueInfo* value_info, bool* is_constant_initializer) noexcept {
  return Answer(value_info, &OrtValueInfo::is_constant, is_constant_initializer);
}

OrtStatusPtr ValueInfo_IsFromOuterScope(const OrtValueInfo* value_info, bool* is_from_outer_scope) noexcept {
  return Answer(value_info, &OrtValueInfo::is_outer, is_from_outer_scope);
}

}  // namespace tessera::c_abi
