#include "model/unknown_attributes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/edit_distance.h"
#include "base/shortened.h"
#include "graph/microsoft/compiled.h"
#include "graph/schema.h"
#include "model/convert.h"
#include "onnx/defs/schema.h"
#include "tessera/printable.h"

namespace tessera {
namespace {

/// Further ones are counted: a model of a million nodes must not fill the log.
constexpr size_t kMostSentences = 64;
constexpr size_t kLongestMisspelt = 64;  // nothing longer is taken for a misspelt name

using Names = std::set<std::string>;

/// Of `known`, names of attributes, the one that was probably meant; empty when none is close.
template <class Known>
std::string Closest(const std::string& name, const Known& known) {
  constexpr size_t kMostKnown = 64;  // a function may have any number
  if (name.size() > kLongestMisspelt || known.size() > kMostKnown) return {};
  std::string closest;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& other : known) {
    const size_t distance = other.size() > kLongestMisspelt ? least : EditDistance(name, other);
    if (distance < least) {
      least = distance;
      closest = other;
    }
  }
  return closest;
}

class AttributeCheck {
 public:
  AttributeCheck(const onnx::ModelProto& model, const LoadLimits& limits) : limits_(limits), of_model_(ImportsOf(model)) {
    for (const onnx::FunctionProto& function : model.functions()) {
      limits_.Check();
      Names& names = functions_[{NormalDomain(function.domain()), function.name()}];
      names.insert(function.attribute().begin(), function.attribute().end());
      for (const onnx::AttributeProto& attribute : function.attribute_proto()) names.insert(attribute.name());
    }
    CheckNodes(model.graph().node(), "");
    for (const onnx::FunctionProto& function : model.functions()) {
      const OpsetImports own = ImportsOf(function);
      imports_ = own.empty() ? &of_model_ : &own;
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
    if (const auto function = functions_.find({domain, node.op_type()}); function != functions_.end()) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (!IsInternal(attribute.name()) && !function->second.contains(attribute.name()))
          Add(node, attribute.name(), nullptr, function->second, place);
      }
      return;
    }
    const auto import = imports_->find(domain);
    const int opset = import == imports_->end() ? std::numeric_limits<int>::max() : import->second;
    const onnx::OpSchema* schema = FindSchema(node.op_type(), opset, domain);
    if (schema == nullptr || TakesAnyAttribute(node.op_type())) return;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (IsInternal(attribute.name()) || schema->attributes().contains(attribute.name())) continue;
      Add(node, attribute.name(), schema, std::views::keys(schema->attributes()), place);
    }
  }

  /// ONNX's own checker lets these through, too.
  static bool IsInternal(std::string_view name) { return name.starts_with("__"); }

  /// `schema`: of the operator that the node calls; null: a function. `known`: the attributes that it has.
  template <class Known>
  void Add(const onnx::NodeProto& node, const std::string& name, const onnx::OpSchema* schema, const Known& known,
           const std::string& place) {
    if (++found_ > kMostSentences) return;
    std::string hint;
    const onnx::OpSchema* newest = FindSchema(node.op_type(), std::numeric_limits<int>::max(), NormalDomain(node.domain()));
    if (newest != nullptr && newest->attributes().contains(name)) {
      hint = "; later versions have it: import a newer opset";
    } else if (const std::string meant = Closest(name, known); !meant.empty()) {
      hint = fmt::format("; did you mean '{}'?", meant);
    }
    const std::string label = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    const std::string type = Shortened(node.op_type());
    const std::string callee = schema == nullptr ? fmt::format("function {}", type)
                                                 : fmt::format("{} of version {}", type, schema->SinceVersion());
    sentences_.push_back(Printable(fmt::format("{}{} '{}': {} has no attribute '{}', it is ignored{}", place, type,
                                               Shortened(label), callee, Shortened(name), hint)));
  }

  const LoadLimits& limits_;
  const OpsetImports of_model_;
  const OpsetImports* imports_ = &of_model_;                        // of what is looked at
  std::map<std::pair<std::string, std::string>, Names> functions_;  // domain, name: attributes of all overloads
  std::vector<std::string> sentences_;
  size_t found_ = 0;
};

}  // namespace

std::vector<std::string> UnknownAttributes(const onnx::ModelProto& model, const LoadLimits& limits) {
  return AttributeCheck(model, limits).TakeSentences();
}

}  // namespace tessera
