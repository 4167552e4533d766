#include "model/functions.h"

#include <deque>
#include <limits>
#include <unordered_set>

#include "base/check.h"
#include "base/load_limits.h"
#include "base/shortened.h"
#include "graph/infer_types.h"
#include "graph/onnx_schemas.h"
#include "graph/operator_definitions.h"
#include "graph/private_names.h"
#include "graph/schema.h"
#include "model/convert.h"
#include "model/gradient/differentiate.h"
#include "onnx/defs/schema.h"
#include "tessera/printable.h"

namespace tessera {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::NodeProto;

/// Nodes that inlining may make: calls inside calls could otherwise double without end.
constexpr size_t kMostNodes = 4'000'000;
/// Calls in calls.
constexpr size_t kDeepestCalls = 1000;
/// Rounds of inlining ONNX's own functions, whose bodies nest a few deep.
constexpr int kMostRounds = 16;

using FunctionKey = std::array<std::string, 3>;
using Functions = std::map<FunctionKey, FunctionProto>;

FunctionKey KeyOf(const NodeProto& node) { return {NormalDomain(node.domain()), node.op_type(), node.overload()}; }

void ForEachNode(const onnx::GraphProto& graph, const std::function<void(const NodeProto&)>& visit);

template <class Nodes>
void ForEachNode(const Nodes& nodes, const std::function<void(const NodeProto&)>& visit) {
  for (const NodeProto& node : nodes) {
    visit(node);
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) ForEachNode(attribute.g(), visit);
    }
  }
}

void ForEachNode(const onnx::GraphProto& graph, const std::function<void(const NodeProto&)>& visit) {
  ForEachNode(graph.node(), visit);
}

/// Finds functions that call themselves, and functions whose calls multiply beyond all measure. Calls are followed without
/// recursion: how deep they go is the model's to say.
class CallCheck {
 public:
  explicit CallCheck(const Functions& functions) : functions_(functions) {}

  void Check() {
    for (auto function = functions_.begin(); function != functions_.end(); ++function) Follow(function);
  }

 private:
  using Function = Functions::const_iterator;

  struct Visit {
    bool open = true;
    size_t nodes = 0;
  };

  /// A function under way: its calls from `next` on are still to be followed.
  struct Open {
    Function function;
    std::vector<Function> calls = {};
    size_t next = 0;
    size_t nodes = 0;
  };

  void Follow(Function first) {
    if (!visits_.try_emplace(&first->first).second) return;
    std::vector<Open> open;
    open.push_back(Begin(first));
    while (!open.empty()) {
      Open& top = open.back();
      if (top.next == top.calls.size()) {
        visits_[&top.function->first] = {false, top.nodes};
        open.pop_back();
        continue;
      }
      const Function callee = top.calls[top.next];
      const auto [visit, is_new] = visits_.try_emplace(&callee->first);
      if (is_new) {
        if (open.size() == kDeepestCalls)
          Fail(ErrorCode::kInvalidGraph, "functions call each other more than {} deep", kDeepestCalls);
        open.push_back(Begin(callee));
        continue;
      }
      if (visit->second.open) {
        Fail(ErrorCode::kInvalidGraph, "function {} calls itself, directly or through others", callee->second.name());
      }
      ++top.next;
      Count(top, visit->second.nodes);
    }
  }

  Open Begin(Function function) {
    Open open{function};
    ForEachNode(function->second.node(), [&](const NodeProto& node) {
      CheckNames(node);
      const auto callee = functions_.find(KeyOf(node));
      callee == functions_.end() ? Count(open, 1) : open.calls.push_back(callee);
    });
    return open;
  }

  static void Count(Open& open, size_t nodes) {
    open.nodes += nodes;
    if (open.nodes > kMostNodes) {
      Fail(ErrorCode::kInvalidGraph, "function {} grows to more than {} nodes through the functions that it calls",
           open.function->second.name(), kMostNodes);
    }
  }

  const Functions& functions_;
  std::map<const FunctionKey*, Visit> visits_;  // by where the keys lie
};

/// What the builder of a body may ask about the call.
class CallContext final : public onnx::FunctionBodyBuildContext {
 public:
  CallContext(const Graph& graph, const Node& node) : node_(node) {
    for (ValueIndex input : node.inputs) {
      types_.push_back(input == kNone ? onnx::TypeProto() : ToProto(graph.value(input).type));
    }
    for (const Attribute& attribute : node.attributes) {
      const auto* nested = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
      AttributeProto& proto = attributes_[attribute.name];
      if (nested == nullptr) {
        proto = ToProto(attribute);
        continue;
      }
      proto.set_name(attribute.name);
      proto.set_type(AttributeProto::GRAPH);
      *proto.mutable_g() = ToProto(**nested, CapturedName);
    }
  }

  const AttributeProto* getAttribute(const std::string& name) const override {
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? nullptr : &found->second;
  }
  bool hasInput(int i) const override { return Has(node_.inputs, i); }
  bool hasOutput(int i) const override { return Has(node_.outputs, i); }
  const onnx::TypeProto* getInputType(int i) const override {
    if (!hasInput(i)) return nullptr;
    const onnx::TypeProto& type = types_[static_cast<size_t>(i)];
    return type.value_case() == onnx::TypeProto::VALUE_NOT_SET ? nullptr : &type;
  }

 private:
  static bool Has(const std::vector<ValueIndex>& values, int i) {
    return i >= 0 && static_cast<size_t>(i) < values.size() && values[static_cast<size_t>(i)] != kNone;
  }
  const Node& node_;
  std::vector<onnx::TypeProto> types_;
  std::map<std::string, AttributeProto> attributes_;
};

bool InputTypesAreKnown(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueIndex input) {
    if (input == kNone) return true;
    const TypeInfo& type = graph.value(input).type;
    return type.kind != ValueKind::kNone && !(type.is_tensor() && type.element == ElementType::kUndefined);
  });
}

/// The body that ONNX gives for a node's operator.
std::optional<FunctionProto> SchemaBody(const Graph& graph, const Node& node, const onnx::OpSchema& schema) {
  if (schema.HasContextDependentFunction()) {
    if (!InputTypesAreKnown(graph, node)) return std::nullopt;
    FunctionProto body;
    const CallContext context(graph, node);
    try {
      if (schema.BuildContextDependentFunction(context, body, node.since_version)) return body;
    } catch (const std::exception& error) {
      Fail(ErrorCode::kInvalidGraph, "{}: its function body cannot be built: {}", node.Label(), error.what());
    }
  }
  if (const FunctionProto* body = schema.GetFunction(node.since_version)) return *body;
  return std::nullopt;
}

/// The call's attributes, and the defaults of those that it leaves out.
GraphConversion::Bindings BindAttributes(const Node& node, const FunctionProto& body, const onnx::OpSchema* schema,
                                         GraphConversion& defaults, Scope& scope) {
  GraphConversion::Bindings bindings;
  for (const Attribute& attribute : node.attributes) bindings.emplace(attribute.name, attribute.value);
  for (const AttributeProto& attribute : body.attribute_proto()) {
    const auto given = bindings.find(attribute.name());
    if (given == bindings.end()) {
      bindings.emplace(attribute.name(), defaults.ConvertAttribute(attribute, scope));
      continue;
    }
    const AttributeProto::AttributeType type = TypeOf(given->second), declared = TypeOf(attribute);
    if (type != declared && type != AttributeProto::UNDEFINED && declared != AttributeProto::UNDEFINED) {
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' is {}; the function declares it as {}", attribute.name(),
           AttributeProto::AttributeType_Name(type), AttributeProto::AttributeType_Name(declared));
    }
  }
  if (schema == nullptr) return bindings;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.default_value.type() == AttributeProto::UNDEFINED || bindings.contains(name)) continue;
    bindings.emplace(name, defaults.ConvertAttribute(attribute.default_value, scope));
  }
  return bindings;
}

/// Replaces `node`, already taken out of the graph, by the body's nodes.
class BodyInsertion {
 public:
  BodyInsertion(Graph& graph, const Node& node, const FunctionProto& body) : node_(node), body_(body), scope_(graph) {
    scope_.prefix = (node.name.empty() ? fmt::format("{}_{}", node.op_type, node.index) : node.name) + "/";
    scope_.place = node.index;
    for (int i = 0; i < body.input_size(); ++i) {
      scope_.values.emplace(body.input(i), At(node.inputs, i));
    }
    for (const Attribute& attribute : node.attributes) NameCaptures(attribute);
  }

  void Insert(const TensorDataSource& source, const onnx::OpSchema* schema) {
    for (int i = 0; i < body_.output_size(); ++i) {
      const ValueIndex actual = At(node_.outputs, i);
      if (actual == kNone) continue;
      // An input that leaves as it is, or a value that leaves twice, takes an Identity.
      const bool direct =
          !scope_.values.contains(body_.output(i)) && scope_.results.emplace(body_.output(i), actual).second;
      if (!direct) copies_.emplace_back(body_.output(i), actual);
    }
    OpsetImports imports = ImportsOf(body_);
    const OpsetImports& outer = scope_.graph.opsets();
    if (schema != nullptr && !outer.contains(""))
      imports.emplace("", onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second);
    GraphConversion defaults(source, imports, nullptr, &outer);
    const auto bindings = BindAttributes(node_, body_, schema, defaults, scope_);
    GraphConversion conversion(source, std::move(imports), &bindings, &outer);
    conversion.ConvertNodes(body_.node(), scope_);
    if (!scope_.results.empty()) {
      Fail(ErrorCode::kInvalidGraph, "output '{}' of function {} is never computed", scope_.results.begin()->first,
           body_.name());
    }
    for (const auto& [name, actual] : copies_) {
      const ValueIndex from = scope_.values.at(name);
      if (from == kNone)
        Fail(ErrorCode::kInvalidGraph, "function {} returns an input that the call leaves out", body_.name());
      AddIdentity(from, actual, scope_);
    }
  }

 private:
  static ValueIndex At(const std::vector<ValueIndex>& values, int i) {
    return static_cast<size_t>(i) < values.size() ? values[static_cast<size_t>(i)] : kNone;
  }

  /// Nested graphs that the call gives read values around the call; inside the body they go by CapturedName.
  void NameCaptures(const Attribute& attribute) {
    const auto* nested = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
    if (nested == nullptr) return;
    for (size_t i = 0; i < (*nested)->num_values(); ++i) {
      const ValueIndex outer = (*nested)->value(static_cast<ValueIndex>(i)).outer;
      if (outer != kNone)
        scope_.values.emplace(names_.emplace_back(CapturedName(**nested, static_cast<ValueIndex>(i))), outer);
    }
  }

  const Node& node_;
  const FunctionProto& body_;
  Scope scope_;
  std::deque<std::string> names_;
  std::vector<std::pair<std::string, ValueIndex>> copies_;
};

/// Calls `visit(graph, node)` for every node that is there now, or also for those that it adds, then for those in its
/// nested graphs: bodies that ONNX builds around a nested graph expect it as the model wrote it.
template <class Visit>
void ForEachNode(Graph& graph, bool added, const Visit& visit) {
  const auto slots = static_cast<NodeIndex>(graph.num_node_slots());
  for (NodeIndex index = 0; index < (added ? static_cast<NodeIndex>(graph.num_node_slots()) : slots); ++index) {
    if (!graph.has_node(index)) continue;
    graph.limits().Check();
    visit(graph, index);
    if (!graph.has_node(index)) continue;
    const auto nested = graph.Subgraphs(index);
    for (const auto& [name, inner] : nested) ForEachNode(*inner, added, visit);
    if (!nested.empty()) graph.RefreshImplicitInputs(index);
  }
}

size_t CountNodes(const Graph& graph) {
  size_t count = graph.num_node_slots();
  for (size_t i = 0; i < graph.num_node_slots(); ++i) {
    if (!graph.has_node(static_cast<NodeIndex>(i))) continue;
    for (const auto& [name, nested] : graph.Subgraphs(static_cast<NodeIndex>(i))) count += CountNodes(*nested);
  }
  return count;
}

/// One round; true when anything was replaced.
bool InlineRound(Graph& graph, const KeepFunction& keep, bool local) {
  bool changed = false;
  size_t made = CountNodes(graph);
  // The model's own functions may call each other a thousand deep: what their bodies call is replaced in the same round.
  ForEachNode(graph, local, [&](Graph& holder, NodeIndex index) {
    const Node& node = holder.node(index);
    if ((FindLocalFunction(holder, node) != nullptr) != local) return;
    if (!local) {
      const onnx::OpSchema* schema = keep ? FindSchema(holder, node) : nullptr;
      if (schema == nullptr || (!schema->HasFunction() && !schema->HasContextDependentFunction())) return;
    }
    if (keep && keep(holder, node)) return;
    const size_t before = holder.num_node_slots();
    changed |= InlineFunction(holder, index);
    made += holder.num_node_slots() - before;
    if (made > kMostNodes) Fail(ErrorCode::kInvalidGraph, "functions grow the model to more than {} nodes", kMostNodes);
  });
  return changed;
}

}  // namespace

std::shared_ptr<const FunctionLibrary> MakeFunctionLibrary(onnx::ModelProto& model, TensorDataSource source,
                                                           MemoryCharge charge) {
  auto library = std::make_shared<FunctionLibrary>();
  library->source = std::move(source);
  library->charge = std::move(charge);
  for (FunctionProto& function : *model.mutable_functions()) {
    FunctionKey key = {NormalDomain(function.domain()), function.name(), function.overload()};
    const std::string name = function.name();
    if (IsPrivateDomain(function.domain())) {
      Fail(ErrorCode::kInvalidGraph,
           "function {} is of domain '{}', which is private to Tessera: give it a domain of its own", name,
           function.domain());
    }
    if (!library->functions.emplace(std::move(key), std::move(function)).second) {
      Fail(ErrorCode::kInvalidGraph, "function {} is defined twice", name);
    }
  }
  CallCheck(library->functions).Check();
  return library;
}

std::vector<std::string> ShadowedFunctions(const onnx::ModelProto& model) {
  constexpr size_t kMost = 16;
  std::vector<std::string> sentences;
  for (const FunctionProto& function : model.functions()) {
    const std::string domain = NormalDomain(function.domain());
    if (!IsStandardDomain(domain) || FindSchema(function.name(), std::numeric_limits<int>::max(), domain) == nullptr)
      continue;
    sentences.push_back(
        Printable(fmt::format("function {}: {} has an operator of this name, whose kernels are used where there are any",
                              Shortened(function.name()), domain.empty() ? "ai.onnx" : domain)));
    if (sentences.size() == kMost) break;
  }
  return sentences;
}

const FunctionProto* FindLocalFunction(const Graph& graph, const Node& node) {
  const auto& library = graph.functions();
  if (library == nullptr || DefinerOf(graph, node) != nullptr) return nullptr;
  const auto found = library->functions.find({node.domain, node.op_type, node.overload});
  return found == library->functions.end() ? nullptr : &found->second;
}

std::string CapturedName(const Graph& nested, ValueIndex local) { return fmt::format("#{}", nested.value(local).outer); }

bool InlineFunction(Graph& graph, NodeIndex call) {
  const Node node = graph.node(call);  // outlives its place in the graph
  const FunctionProto* local = FindLocalFunction(graph, node);
  const onnx::OpSchema* schema = local == nullptr ? FindSchema(graph, node) : nullptr;
  std::optional<FunctionProto> body;
  if (schema != nullptr) body = SchemaBody(graph, node, *schema);
  if (local == nullptr && !body) return false;
  graph.RemoveNode(call);
  try {
    BodyInsertion insertion(graph, node, local != nullptr ? *local : *body);
    insertion.Insert(local != nullptr ? graph.functions()->source : TensorDataSource(), schema);
  } catch (const Error& error) {
    throw error.At(node.Label());
  }
  return true;
}

void ResolveGraph(Graph& graph, const KeepFunction& keep) {
  // Functions do not call themselves, so that this ends.
  while (InlineRound(graph, keep, /*local=*/true)) {
  }
  graph.TopologicalOrder();
  InferTypes(graph);
  DifferentiateGraph(graph);
  for (int round = 0; InlineRound(graph, keep, /*local=*/false); ++round) {
    if (round == kMostRounds) Fail(ErrorCode::kInvalidGraph, "operators' function bodies nest without end");
    InferTypes(graph);
  }
}

}  // namespace tessera
