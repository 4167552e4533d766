#include "partition/untaken_node.h"

#include "base/check.h"
#include "graph/microsoft/compiled.h"
#include "graph/operator_definitions.h"
#include "graph/private_names.h"
#include "graph/schema.h"
#include "partition/early_claims.h"
#include "tessera/providers/names.h"

namespace tessera {
namespace {

void Append(const PlacementReport::Refusals& refusals, std::string& reasons) {
  for (const auto& [name, reason] : refusals) reasons += fmt::format("; {}: {}", name, reason);
}

/// Those of providers that were asked for the model as written come first.
std::string ReasonsOf(NodeOrigin origin, const PlacementReport::Refusals& refusals, const PartitionOptions& options) {
  std::string reasons;
  if (options.early != nullptr && origin.index != kNone) {
    const auto early = options.early->refusals.find(origin.index);
    if (early != options.early->refusals.end()) Append(early->second, reasons);
  }
  Append(refusals, reasons);
  if (options.disable_cpu_fallback) reasons += fmt::format("; {}: not asked (disable_cpu_fallback)", kCpuProvider);
  return reasons;
}

std::string RemedyFor(const Node& node, bool is_known) {
  if (node.domain == "com.microsoft" && node.op_type == kCompiledPart) {
    const AttributeValue* value = node.FindAttribute("source");
    const auto* source = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return fmt::format("it holds what {} compiled: register that provider's library, and name the provider",
                       source == nullptr || source->empty() ? "a provider" : *source);
  }
  // Domains that ONNX Runtime keeps to itself get into a file only when it saves a model after its last optimizations.
  if (node.domain == "com.microsoft.nchwc" || node.domain == kChannelsLastDomain) {
    return "ONNX Runtime lays tensors out so for its own kernels: load the original model, or save the optimized one at "
           "its "
           "level 'extended'";
  }
  if (!is_known)
    return "it is no operator of ONNX or com.microsoft: register the library that has it (OperatorLibraries, "
           "RegisterCustomOpsLibrary), name a provider that knows it, or export the model without it";
  return "name a provider that does, or export the model without this operator";
}

}  // namespace

void FailForUntaken(const Graph& graph, NodeIndex index, const std::string& path, const PlacementReport::Refusals& refusals,
                    const PartitionOptions& options) {
  const Node& node = graph.node(index);
  const GraphViewer viewer(graph);
  // What nobody knows is no operator; clients of the C ABI tell that from one that has no kernel here.
  const bool is_known = FindSchemaBehindLayout(node) != nullptr || DefinerOf(graph, node) != nullptr;
  Fail(is_known ? ErrorCode::kNotImplemented : ErrorCode::kFail, "{}{} (version {}): no provider runs it{}; {}", path,
       node.Label(&viewer), node.since_version, ReasonsOf(graph.origin(index), refusals, options),
       RemedyFor(node, is_known));
}

}  // namespace tessera
