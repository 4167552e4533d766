#include "plugin/operators/operator_set.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/kernels/shape_infer_context.h"
#include "bindings/c/type_info.h"
#include "model/convert.h"
#include "plugin/call.h"
#include "tessera/providers/names.h"

namespace tessera::plugin {
namespace {

// By the operator's version: which members of OrtCustomOp there are.
constexpr uint32_t kFirstWithKinds = 8, kFirstWithVariadic = 14, kFirstWithInference = 17, kFirstWithAliases = 18;

/// Inputs that an operator may list, or outputs; of a variadic one a node has more.
constexpr size_t kMostParameters = size_t{1} << 16;

/// Throws Error for types that Tessera does not have.
ElementType TypeOf(ONNXTensorElementDataType type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? ElementType::kUndefined : c_abi::ElementOf(type);
}

/// What an operator says of its inputs, or of its outputs.
struct Side {
  decltype(OrtCustomOp::GetInputType) OrtCustomOp::* type;
  decltype(OrtCustomOp::GetInputCharacteristic) OrtCustomOp::* kind;
  decltype(OrtCustomOp::GetVariadicInputMinArity) OrtCustomOp::* least;
  decltype(OrtCustomOp::GetVariadicInputHomogeneity) OrtCustomOp::* homogeneity;
  std::string_view variadic;  // what a variadic one does not say
};
constexpr Side kInputs = {&OrtCustomOp::GetInputType, &OrtCustomOp::GetInputCharacteristic,
                          &OrtCustomOp::GetVariadicInputMinArity, &OrtCustomOp::GetVariadicInputHomogeneity,
                          "inputs it takes"};
constexpr Side kOutputs = {&OrtCustomOp::GetOutputType, &OrtCustomOp::GetOutputCharacteristic,
                           &OrtCustomOp::GetVariadicOutputMinArity, &OrtCustomOp::GetVariadicOutputHomogeneity,
                           "outputs it gives"};

Parameter ParameterAt(const OrtCustomOp& op, const Side& side, size_t i) {
  Parameter parameter{.type = TypeOf(Call(op.*side.type, &op, i))};
  if (op.version >= kFirstWithKinds && op.*side.kind != nullptr) parameter.kind = Call(op.*side.kind, &op, i);
  if (parameter.kind != INPUT_OUTPUT_VARIADIC || op.version < kFirstWithVariadic) return parameter;
  Require(op.*side.least != nullptr && op.*side.homogeneity != nullptr, "operator {} does not say how many variadic {}",
          op.GetName(&op), side.variadic);
  parameter.least = static_cast<size_t>(std::max(Call(op.*side.least, &op), 0));
  parameter.is_homogeneous = Call(op.*side.homogeneity, &op) != 0;
  return parameter;
}

void CheckParameters(const std::vector<Parameter>& parameters, std::string_view what, std::string_view name) {
  for (size_t i = 0; i + 1 < parameters.size(); ++i) {
    if (parameters[i].kind != INPUT_OUTPUT_VARIADIC) continue;
    Fail(ErrorCode::kFail, "operator {}: {} {} is variadic, which the last one alone may be", name, what, i);
  }
}

std::vector<std::pair<size_t, size_t>> AliasesOf(const OrtCustomOp& op, size_t inputs, size_t outputs) {
  std::vector<std::pair<size_t, size_t>> aliases;
  if (op.version < kFirstWithAliases || op.GetAliasMap == nullptr || op.ReleaseAliasMap == nullptr) return aliases;
  int *input = nullptr, *output = nullptr;
  const size_t count = Call(op.GetAliasMap, &input, &output);
  if (count == 0) return aliases;  // nothing was allocated
  bool good = input != nullptr && output != nullptr;
  for (size_t i = 0; good && i < count; ++i) {
    good = input[i] >= 0 && output[i] >= 0 && static_cast<size_t>(input[i]) < inputs &&
           static_cast<size_t>(output[i]) < outputs;
    if (good) aliases.emplace_back(input[i], output[i]);
  }
  Call(op.ReleaseAliasMap, input, output);
  Require(good, "operator {} names aliases of inputs or outputs that it does not have", op.GetName(&op));
  return aliases;
}

ClientOperator Described(const OrtCustomOp& op) {
  Require(op.GetName != nullptr && op.GetInputType != nullptr && op.GetInputTypeCount != nullptr &&
              op.GetOutputType != nullptr && op.GetOutputTypeCount != nullptr && op.GetExecutionProviderType != nullptr,
          "an operator of the client's is not filled in: version {}, and a function that is needed is null", op.version);
  ClientOperator described{.op = &op, .name = c_abi::TextOf(Call(op.GetName, &op))};
  Require(!described.name.empty(), "an operator of the client's says no name");
  described.provider = c_abi::TextOf(Call(op.GetExecutionProviderType, &op));
  if (described.provider == kCpuProvider) described.provider.clear();
  described.last_version = std::numeric_limits<int>::max();
  if (op.version >= kFirstWithInference && op.GetStartVersion != nullptr) {
    described.first_version = Call(op.GetStartVersion, &op);
    if (op.GetEndVersion != nullptr) described.last_version = Call(op.GetEndVersion, &op);
  }
  const size_t inputs = Call(op.GetInputTypeCount, &op), outputs = Call(op.GetOutputTypeCount, &op);
  Require(inputs <= kMostParameters && outputs <= kMostParameters,
          "operator {} says that it has {} inputs and {} outputs, {} of each are the most", described.name, inputs, outputs,
          kMostParameters);
  for (size_t i = 0; i < inputs; ++i) described.inputs.push_back(ParameterAt(op, kInputs, i));
  for (size_t i = 0; i < outputs; ++i) described.outputs.push_back(ParameterAt(op, kOutputs, i));
  CheckParameters(described.inputs, "input", described.name);
  CheckParameters(described.outputs, "output", described.name);
  described.aliases = AliasesOf(op, inputs, outputs);
  return described;
}

bool HaveOneForm(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  return std::ranges::equal(a, b, [](const Parameter& x, const Parameter& y) {
    return x.kind == y.kind && x.least == y.least && x.is_homogeneous == y.is_homogeneous;
  });
}

const Parameter& ParameterOf(const std::vector<Parameter>& parameters, size_t i) {
  return parameters[std::min(i, parameters.size() - 1)];
}

/// Why a node has another number of inputs or outputs; empty: it does not.
std::string WhyNotCount(const std::vector<Parameter>& parameters, const std::vector<ValueIndex>& values,
                        std::string_view what) {
  const bool variadic = !parameters.empty() && parameters.back().kind == INPUT_OUTPUT_VARIADIC;
  if (values.size() > parameters.size() && !variadic)
    return fmt::format("it has {} {}s, {} at most", values.size(), what, parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool given = i < values.size() && values[i] != kNone;
    if (parameters[i].kind == INPUT_OUTPUT_REQUIRED && !given) return fmt::format("{} {} is missing", what, i);
  }
  if (variadic && values.size() < parameters.size() - 1 + parameters.back().least)
    return fmt::format("it has {} {}s, {} at least", values.size(), what, parameters.size() - 1 + parameters.back().least);
  return {};
}

/// The element type of a value; undefined where it is not known.
ElementType ElementIn(const GraphViewer& graph, ValueIndex value) {
  return value == kNone || !graph.value(value).type.is_tensor() ? ElementType::kUndefined : graph.value(value).type.element;
}

std::string WhyNotTypes(const std::vector<Parameter>& parameters, const GraphViewer& graph,
                        const std::vector<ValueIndex>& values) {
  ElementType shared = ElementType::kUndefined;  // of a variadic parameter with one type
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNone) continue;
    const TypeInfo& type = graph.value(values[i]).type;
    if (type.kind != ValueKind::kNone && !type.is_tensor())
      return fmt::format("input {} is {}, and operators of clients take tensors", i, type.ToString());
    const Parameter& parameter = ParameterOf(parameters, i);
    const ElementType element = ElementIn(graph, values[i]);
    if (element == ElementType::kUndefined) continue;
    if (parameter.type != ElementType::kUndefined && parameter.type != element)
      return fmt::format("input {} is {}, {} is taken", i, ElementTypeName(element), ElementTypeName(parameter.type));
    if (parameter.kind != INPUT_OUTPUT_VARIADIC || !parameter.is_homogeneous) continue;
    if (shared != ElementType::kUndefined && shared != element)
      return fmt::format("input {} is {}, the others {}", i, ElementTypeName(element), ElementTypeName(shared));
    shared = element;
  }
  return {};
}

/// The element type of the last input that may have any: operators without a function of their own give it to outputs that
/// may have any, too.
ElementType Followed(const ClientOperator& definition, const GraphViewer& graph, const Node& node) {
  ElementType followed = ElementType::kUndefined;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ElementType element = ElementIn(graph, node.inputs[i]);
    if (element != ElementType::kUndefined && ParameterOf(definition.inputs, i).type == ElementType::kUndefined)
      followed = element;
  }
  return followed;
}

}  // namespace

std::string ClientOperator::WhyNot(const GraphViewer& graph, const Node& node) const {
  const int version = std::max(node.since_version, 1);
  if (version < first_version || version > last_version)
    return fmt::format("it is for versions {} to {}, the model imports {}", first_version, last_version, version);
  std::string why = WhyNotCount(inputs, node.inputs, "input");
  if (why.empty()) why = WhyNotCount(outputs, node.outputs, "output");
  return why.empty() ? WhyNotTypes(inputs, graph, node.inputs) : why;
}

OperatorSet::OperatorSet(std::span<const OrtCustomOpDomain* const> domains) {
  for (const OrtCustomOpDomain* domain : domains) {
    const std::string name = NormalDomain(domain->name);
    if (domain->operators.empty()) continue;
    Domain& operators = domains_[name];
    for (const OrtCustomOp* op : domain->operators) {
      ClientOperator described = Described(*op);
      std::vector<ClientOperator>& known = operators[described.name];
      Require(known.empty() || (HaveOneForm(known.front().inputs, described.inputs) &&
                                HaveOneForm(known.front().outputs, described.outputs)),
              "operator {} of domain '{}' is defined twice, and the definitions differ in more than types: in how many "
              "inputs or outputs there are, or which may be left out",
              described.name, name);
      known.push_back(std::move(described));
    }
  }
}

const std::vector<ClientOperator>* OperatorSet::Find(std::string_view domain, std::string_view op_type) const {
  const auto held = domains_.find(domain);
  if (held == domains_.end()) return nullptr;
  const auto found = held->second.find(op_type);
  return found == held->second.end() ? nullptr : &found->second;
}

bool OperatorSet::Has(std::string_view domain, std::string_view op_type, int opset) const {
  const std::vector<ClientOperator>* definitions = Find(domain, op_type);
  const int version = std::max(opset, 1);
  return definitions != nullptr && std::ranges::any_of(*definitions, [&](const ClientOperator& definition) {
           return version >= definition.first_version && version <= definition.last_version;
         });
}

const ClientOperator& OperatorSet::DefinitionOf(const GraphViewer& graph, const Node& node,
                                                std::string_view provider) const {
  const std::vector<ClientOperator>* definitions = Find(node.domain, node.op_type);
  Require(definitions != nullptr, "operator {} of domain '{}' is none of the client's", node.op_type, node.domain);
  std::string reasons;
  const ClientOperator* elsewhere = nullptr;
  for (const ClientOperator& definition : *definitions) {
    const std::string why = definition.WhyNot(graph, node);
    if (!why.empty()) {
      reasons += (reasons.empty() ? "" : "; or ") + why;
    } else if (definition.provider.empty() || definition.provider == provider) {
      return definition;
    } else if (elsewhere == nullptr) {
      elsewhere = &definition;
    }
  }
  if (elsewhere != nullptr) return *elsewhere;
  Fail(ErrorCode::kInvalidGraph, "no definition of operator {} of domain '{}' fits: {}", node.op_type, node.domain,
       reasons);
}

void OperatorSet::InferOutputs(const GraphViewer& graph, const Node& node, std::string_view provider,
                               std::span<TypeInfo> outputs) const {
  const ClientOperator& definition = DefinitionOf(graph, node, provider);
  const ElementType followed = Followed(definition, graph, node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Parameter& parameter = ParameterOf(definition.outputs, i);
    const ElementType any = parameter.is_homogeneous ? followed : ElementType::kUndefined;  // else its function says it
    const ElementType element = parameter.type == ElementType::kUndefined ? any : parameter.type;
    if (element != ElementType::kUndefined) outputs[i] = TypeInfo::OfTensor(element);
  }
  const OrtCustomOp& op = *definition.op;
  if (op.version < kFirstWithInference || op.InferOutputShapeFn == nullptr) return;
  OrtShapeInferContext context(graph, node, outputs);
  // What it cannot tell is not known before the node runs.
  if (const OrtStatusPtr status = Call(op.InferOutputShapeFn, &op, &context); status != nullptr)
    c_abi::ReleaseStatus(status);
  // Kernels write what the operator says, whatever type its function copied from an input.
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ElementType own = ParameterOf(definition.outputs, i).type;
    if (own != ElementType::kUndefined && outputs[i].is_tensor()) outputs[i].element = own;
  }
}

}  // namespace tessera::plugin
