#include "model/unknown_attributes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/edit_distance.h"
#include "base/shortened.h"
#include "graph/microsoft/compiled.h"
#include "graph/schema.h"
#include "model/convert.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

/// Further ones are counted: a model of a million nodes must not fill the log.
constexpr size_t kMostSentences = 64;
constexpr size_t kLongestMisspelt = 64;  // nothing longer is taken for a misspelt name

/// The attribute of the operator that was probably meant; empty when none is close.
std::string Closest(const std::string& name, const onnx::OpSchema& schema) {
  if (name.size() > kLongestMisspelt) return {};
  std::string closest;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const auto& [known, attribute] : schema.attributes()) {
    const size_t distance = EditDistance(name, known);
    if (distance < least) {
      least = distance;
      closest = known;
    }
  }
  return closest;
}

class AttributeCheck {
 public:
  AttributeCheck(const onnx::ModelProto& model, const LoadLimits& limits) : limits_(limits), imports_(ImportsOf(model)) {
    for (const onnx::FunctionProto& function : model.functions())
      functions_.emplace(NormalDomain(function.domain()), function.name());
    CheckNodes(model.graph().node(), "");
    for (const onnx::FunctionProto& function : model.functions()) {
      if (function.opset_import_size() > 0) imports_ = ImportsOf(function);
      CheckNodes(function.node(), fmt::format("function {}: ", Shortened(function.name())));
    }
    if (found_ > kMostSentences)
      sentences_.push_back(fmt::format("{} more attributes are unknown", found_ - kMostSentences));
  }

  std::vector<std::string> TakeSentences() { return std::move(sentences_); }

 private:
  void CheckNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& place) {
    for (const onnx::NodeProto& node : nodes) {
      limits_.Check();
      if (node.attribute_size() > 0) CheckNode(node, place);
    }
  }

  void CheckNode(const onnx::NodeProto& node, const std::string& place) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CheckNodes(attribute.g().node(), place);
      for (const onnx::GraphProto& graph : attribute.graphs()) CheckNodes(graph.node(), place);
    }
    const std::string domain = NormalDomain(node.domain());
    if (functions_.contains({domain, node.op_type()})) return;
    const auto import = imports_.find(domain);
    const int opset = import == imports_.end() ? std::numeric_limits<int>::max() : import->second;
    const onnx::OpSchema* schema = FindSchema(node.op_type(), opset, domain);
    if (schema == nullptr || node.op_type() == kCompiledPart) return;  // of those, providers make what they like
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const bool internal = attribute.name().starts_with("__");  // ONNX's own checker lets these through, too
      if (!internal && !schema->attributes().contains(attribute.name())) Add(node, attribute.name(), *schema, place);
    }
  }

  void Add(const onnx::NodeProto& node, const std::string& name, const onnx::OpSchema& schema, const std::string& place) {
    if (++found_ > kMostSentences) return;
    std::string hint;
    const onnx::OpSchema* newest = FindSchema(node.op_type(), std::numeric_limits<int>::max(), NormalDomain(node.domain()));
    if (newest != nullptr && newest->attributes().contains(name)) {
      hint = "; later versions have it: import a newer opset";
    } else if (const std::string meant = Closest(name, schema); !meant.empty()) {
      hint = fmt::format("; did you mean '{}'?", meant);
    }
    const std::string type = Shortened(node.op_type());
    const std::string label = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    sentences_.push_back(fmt::format("{}{} '{}': {} of version {} has no attribute '{}', it is ignored{}", place, type,
                                     Shortened(label), type, schema.SinceVersion(), Shortened(name), hint));
  }

  const LoadLimits& limits_;
  OpsetImports imports_;
  std::set<std::pair<std::string, std::string>> functions_;  // domain, name
  std::vector<std::string> sentences_;
  size_t found_ = 0;
};

}  // namespace

std::vector<std::string> UnknownAttributes(const onnx::ModelProto& model, const LoadLimits& limits) {
  return AttributeCheck(model, limits).TakeSentences();
}

}  // namespace tessera
