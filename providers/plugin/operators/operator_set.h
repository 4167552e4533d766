#pragma once

// Operators that a client defines, as ONNX Runtime's interface has them (OrtCustomOp).

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/c/custom_ops.h"
#include "tessera/provider/graph.h"

namespace tessera::plugin {

/// What an input or output of an operator takes. Several definitions of one operator differ in it.
struct Parameter {
  ElementType type = ElementType::kUndefined;  // undefined: any
  OrtCustomOpInputOutputCharacteristic kind = INPUT_OUTPUT_REQUIRED;
  size_t least = 1;            // of a variadic one: how many there are at least
  bool is_homogeneous = true;  // all of them have one type
};

/// One definition: a name, types, and the kernel that computes with them.
struct ClientOperator {
  const OrtCustomOp* op;
  std::string name, provider;  // no provider: the processor
  int first_version = 1, last_version = 0;
  std::vector<Parameter> inputs, outputs;
  std::vector<std::pair<size_t, size_t>> aliases;  // input and output: the output begins as the input

  /// Empty: it computes such a node, as far as the node's types are known; else why it does not.
  std::string WhyNot(const GraphViewer& graph, const Node& node) const;
};

/// The operators of some domains. Clients keep what they are made of.
class OperatorSet {
 public:
  OperatorSet() = default;
  /// Throws Error for operators that say what cannot be: functions are missing, only the last of the inputs or outputs may
  /// be variadic, and definitions of one operator differ in more than types.
  explicit OperatorSet(std::span<const OrtCustomOpDomain* const> domains);

  bool empty() const noexcept { return domains_.empty(); }
  bool Has(std::string_view domain, std::string_view op_type, int opset) const;
  /// The first definition that computes the node on the processor or by `provider` (empty: no other); where there is none,
  /// the first one of another provider's. Throws Error(kInvalidGraph) that says why each one does not compute it.
  const ClientOperator& DefinitionOf(const GraphViewer& graph, const Node& node, std::string_view provider) const;
  /// What follows for the node's outputs from its inputs, and what the operator's own function says.
  void InferOutputs(const GraphViewer& graph, const Node& node, std::string_view provider,
                    std::span<TypeInfo> outputs) const;

 private:
  using Domain = std::map<std::string, std::vector<ClientOperator>, std::less<>>;  // by name

  /// Null: there are none.
  const std::vector<ClientOperator>* Find(std::string_view domain, std::string_view op_type) const;

  std::map<std::string, Domain, std::less<>> domains_;
};

}  // namespace tessera::plugin
