#include "model/gradient/differentiate.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/load_limits.h"
#include "graph/infer_types.h"
#include "model/functions.h"
#include "model/gradient/rules.h"

namespace tessera {
namespace {

using gradient::Builder;
using gradient::Term;
using Gradients = std::unordered_map<ValueIndex, Term>;
using Values = std::unordered_set<ValueIndex>;

bool IsGradient(const Node& node) { return node.op_type == "Gradient" && node.domain == "ai.onnx.preview.training"; }

bool IsReal(const TypeInfo& type) {
  if (!type.is_tensor()) return false;
  switch (type.element) {
    case ElementType::kFloat:
    case ElementType::kDouble:
    case ElementType::kFloat16:
    case ElementType::kBFloat16: return true;
    default: return false;
  }
}

/// A value of one graph of the model.
struct Place {
  Graph* graph = nullptr;
  ValueIndex value = kNone;
};

/// The value that a name means in `graph`, in the graph that computes it.
Place Find(Graph& graph, const std::string& name) {
  for (Graph* holder = &graph; holder != nullptr; holder = holder->parent()) {
    ValueIndex value = holder->FindValue(name);
    if (value == kNone) continue;
    while (holder->value(value).outer != kNone) {
      value = holder->value(value).outer;
      holder = holder->parent();
    }
    return {holder, value};
  }
  Fail(ErrorCode::kInvalidGraph, "there is no tensor '{}'", name);
}

bool IsWithin(const Graph& graph, const Graph& holder) {
  return &graph == &holder || (graph.parent() != nullptr && IsWithin(*graph.parent(), holder));
}

/// The stand-in in `graph` for a value of one that holds it.
ValueIndex Import(Graph& graph, const Place& place) {
  return &graph == place.graph ? place.value : graph.Capture(Import(*graph.parent(), place));
}

template <class Visit>
void ForEachInput(const Node& node, Visit&& visit) {
  for (const auto* list : {&node.inputs, &node.implicit_inputs}) {
    for (ValueIndex input : *list) {
      if (input != kNone) visit(input);
    }
  }
}

/// The nodes that compute `roots` from `stops`, each after those that it reads. `replace` may rewrite a node on the way;
/// true when it did.
template <class Replace>
std::vector<NodeIndex> Ancestors(Graph& graph, std::vector<ValueIndex> roots, const Values& stops, Replace&& replace) {
  std::vector<NodeIndex> order;
  std::unordered_set<NodeIndex> seen, done;
  std::vector<NodeIndex> stack;
  const auto visit = [&](ValueIndex value) {
    if (stops.contains(value)) return;
    while (graph.value(value).producer != kNone && replace(graph.value(value).producer)) {
    }
    const NodeIndex producer = graph.value(value).producer;
    if (producer != kNone && !done.contains(producer)) stack.push_back(producer);
  };
  for (ValueIndex root : roots) {
    visit(root);
    while (!stack.empty()) {
      const NodeIndex index = stack.back();
      if (!seen.insert(index).second) {
        stack.pop_back();
        if (done.insert(index).second) order.push_back(index);
        continue;
      }
      ForEachInput(graph.node(index), visit);
    }
  }
  return order;
}

class Differentiation {
 public:
  explicit Differentiation(Graph& root) : root_(root) {}

  /// True when `graph` held a Gradient.
  bool Run(Graph& graph) {
    bool changed = false;
    for (NodeIndex index = 0; index < static_cast<NodeIndex>(graph.num_node_slots()); ++index) {
      if (graph.has_node(index) && IsGradient(graph.node(index))) {
        Rewrite(graph, index);
        changed = true;
      }
      if (!graph.has_node(index)) continue;
      bool inner_changed = false;
      for (const auto& [name, inner] : graph.Subgraphs(index)) inner_changed |= Run(*inner);
      if (inner_changed) graph.RefreshImplicitInputs(index);
      changed |= inner_changed;
    }
    return changed;
  }

 private:
  /// The function that a Gradient node names, mapped into its graph.
  struct Function {
    ValueIndex y = kNone;
    std::vector<ValueIndex> xs;  // kNone where y cannot depend on it
  };

  void Rewrite(Graph& graph, NodeIndex index) {
    const Node node = graph.node(index);  // outlives its place in the graph
    try {
      graph.limits().Check();
      if (open_.size() >= kMostOpen)
        Fail(ErrorCode::kInvalidGraph, "gradients of gradients are nested more than {} deep", kMostOpen);
      if (!open_.emplace(&graph, index).second) {
        Fail(ErrorCode::kInvalidGraph, "the tensor that it differentiates depends on its own outputs");
      }
      const Function function = Evaluate(graph, node);
      graph.RemoveNode(index);
      InferTypes(root_);
      const std::string name = node.name.empty() ? fmt::format("{}_{}", node.op_type, index) : node.name;
      Builder builder(graph, index, name + "/");
      const Term y = builder.Of(function.y);
      if (!IsReal(graph.value(function.y).type)) {
        Fail(ErrorCode::kInvalidGraph, "it differentiates '{}', which is {}", graph.value(function.y).name,
             graph.value(function.y).type.ToString());
      }
      const Values targets(function.xs.begin(), function.xs.end());
      const Gradients gradients =
          Sweep(builder, {{function.y, builder.Filled(builder.ShapeOf(y), 1, y.element)}}, targets, targets);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == kNone) continue;
        const auto found = gradients.find(function.xs[i]);
        const Term gradient = found != gradients.end() ? found->second : builder.ZerosLike(builder.Of(node.inputs[i]));
        Node copy;
        copy.op_type = "Identity";
        copy.name = builder.prefix() + copy.op_type;
        copy.since_version = 1;
        copy.inputs = {gradient.value};
        copy.outputs = {node.outputs[i]};
        graph.AddNode(std::move(copy), index);
      }
      InferTypes(root_);
      open_.erase({&graph, index});
    } catch (const Error& error) {
      throw error.At(node.Label());
    }
  }

  /// Finds y as a function of the node's inputs: the nodes that are there where these are the tensors that the attributes
  /// name, copies of them where others take their places.
  Function Evaluate(Graph& graph, const Node& node) {
    const auto strings = [&](const char* name) {
      const AttributeValue* value = node.FindAttribute(name);
      const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
      return list == nullptr ? std::vector<std::string>() : *list;
    };
    std::vector<std::string> names = strings("xs");
    const size_t num_xs = names.size();
    for (std::string& name : strings("zs")) names.push_back(std::move(name));
    if (names.size() != node.inputs.size() || node.outputs.size() > num_xs) {
      Fail(ErrorCode::kInvalidGraph, "it has {} inputs and {} outputs, but xs names {} tensors and zs {}",
           node.inputs.size(), node.outputs.size(), num_xs, names.size() - num_xs);
    }
    const auto* y_name = std::get_if<std::string>(node.FindAttribute("y"));
    if (y_name == nullptr) Fail(ErrorCode::kInvalidGraph, "attribute 'y' names no tensor");
    const Place y = Find(graph, *y_name);

    std::map<ValueIndex, ValueIndex> local;  // of the graph of y: what stands for it in `graph`
    Values substituted, active, stops;
    std::vector<ValueIndex> originals;
    for (size_t i = 0; i < names.size(); ++i) {
      const Place x = Find(graph, names[i]);
      // What a graph inside that of y computes cannot reach y.
      originals.push_back(IsWithin(*y.graph, *x.graph) ? Import(*y.graph, x) : kNone);
      const ValueIndex original = originals.back();
      if (original == kNone) continue;
      if (!local.emplace(original, node.inputs[i]).second && local[original] != node.inputs[i]) {
        Fail(ErrorCode::kInvalidGraph, "it gives two values to '{}'", names[i]);
      }
      stops.insert(original);
      if (i < num_xs) active.insert(original);
      if (Import(graph, {y.graph, original}) != node.inputs[i]) substituted.insert(original);
    }
    Copy(graph, node.index, y, stops, local, substituted, active);

    Function function;
    const auto mapped = [&](ValueIndex value) {
      if (value == kNone) return kNone;
      const auto found = local.find(value);
      return found != local.end() ? found->second : Import(graph, {y.graph, value});
    };
    function.y = mapped(y.value);
    for (size_t i = 0; i < num_xs; ++i) function.xs.push_back(mapped(originals[i]));
    return function;
  }

  /// Copies into `graph` what depends on a substituted value, and what is to be differentiated but lies in another graph.
  void Copy(Graph& graph, NodeIndex place, const Place& y, const Values& stops, std::map<ValueIndex, ValueIndex>& local,
            Values& substituted, Values& active) {
    Graph& source = *y.graph;
    const auto rewrite = [&](NodeIndex producer) {
      if (!IsGradient(source.node(producer))) return false;
      Rewrite(source, producer);
      return true;
    };
    for (NodeIndex index : Ancestors(source, {y.value}, stops, rewrite)) {
      const Node& original = source.node(index);
      bool is_substituted = false, is_active = false;
      ForEachInput(original, [&](ValueIndex input) {
        is_substituted |= substituted.contains(input);
        is_active |= active.contains(input);
      });
      if (is_active) active.insert(original.outputs.begin(), original.outputs.end());
      if (!is_substituted && !(is_active && &source != &graph)) continue;
      if (!original.implicit_inputs.empty() || !source.Subgraphs(index).empty()) {
        Fail(ErrorCode::kNotImplemented, "{} would have to be computed anew for other inputs, but holds a graph",
             original.Label());
      }
      Node copy = original;
      for (ValueIndex& input : copy.inputs) {
        if (input == kNone) continue;
        const auto found = local.find(input);
        input = found != local.end() ? found->second : Import(graph, {&source, input});
      }
      for (ValueIndex& output : copy.outputs) {
        if (output == kNone) continue;
        TypeInfo type = source.value(output).type;
        type.shape.reset();  // other inputs may have other shapes
        const ValueIndex made = graph.AddValue({}, std::move(type));
        local.emplace(output, made);
        if (is_substituted) substituted.insert(output);
        output = made;
      }
      const size_t before = graph.num_node_slots();
      copy.index = kNone;  // it may be of another graph
      graph.AddNode(std::move(copy), place);
      Count(graph, before);
    }
  }

  /// From the gradients of `seeds` to those of `targets`; looks no further than `stops`.
  Gradients Sweep(Builder& builder, Gradients gradients, const Values& targets, const Values& stops) {
    Graph& graph = builder.graph();
    std::vector<ValueIndex> roots;
    for (const auto& [value, gradient] : gradients) roots.push_back(value);
    std::sort(roots.begin(), roots.end());
    const auto order = Ancestors(graph, roots, stops, [](NodeIndex) { return false; });
    Values active = targets;
    std::vector<NodeIndex> path;
    for (NodeIndex index : order) {
      bool reached = false;
      ForEachInput(graph.node(index), [&](ValueIndex input) { reached |= active.contains(input); });
      if (!reached) continue;
      path.push_back(index);
      for (ValueIndex output : graph.node(index).outputs) {
        if (output != kNone && IsReal(graph.value(output).type)) active.insert(output);
      }
    }
    for (; !path.empty(); path.pop_back()) Derive(builder, graph.node(path.back()), active, gradients);
    return gradients;
  }

  /// A gradient of a gradient triples its function, one of that triples it again.
  void Count(const Graph& graph, size_t before) {
    made_ += graph.num_node_slots() - before;
    if (made_ > kMostNodes) {
      Fail(ErrorCode::kInvalidGraph,
           "the model's gradients take more than {} nodes; ask for fewer derivatives of derivatives", kMostNodes);
    }
  }

  /// Adds what one node's inputs contribute to their gradients.
  void Derive(Builder& builder, const Node& node, const Values& active, Gradients& gradients) {
    std::vector<Term> of_outputs;
    bool reached = false;
    for (ValueIndex output : node.outputs) {
      const auto found = output == kNone ? gradients.end() : gradients.find(output);
      of_outputs.push_back(found == gradients.end() ? Term() : found->second);
      reached |= found != gradients.end();
    }
    if (!reached) return;
    std::vector<bool> wanted;
    wanted.reserve(node.inputs.size());
    for (ValueIndex input : node.inputs) wanted.push_back(input != kNone && active.contains(input));
    std::vector<Term> of_inputs;
    if (const gradient::Rule rule = gradient::FindRule(node)) {
      const size_t before = builder.graph().num_node_slots();
      gradient::Step step(builder, node, of_outputs, wanted);
      rule(step);
      of_inputs = step.gradients();
      Count(builder.graph(), before);
    } else {
      of_inputs = DeriveFunction(builder, node, of_outputs, wanted);
    }
    for (size_t i = 0; i < of_inputs.size(); ++i) {
      if (!of_inputs[i]) continue;
      const auto [held, first] = gradients.emplace(node.inputs[i], of_inputs[i]);
      if (!first) held->second = held->second + of_inputs[i];
    }
  }

  /// An operator that is a function of others: computes it anew as these, and differentiates them.
  std::vector<Term> DeriveFunction(Builder& builder, const Node& node, const std::vector<Term>& of_outputs,
                                   const std::vector<bool>& wanted) {
    Graph& graph = builder.graph();
    const size_t before = graph.num_node_slots();
    Node copy = node;
    copy.name = builder.prefix() + node.op_type;
    Gradients seeds;
    for (size_t i = 0; i < copy.outputs.size(); ++i) {
      if (copy.outputs[i] == kNone) continue;
      copy.outputs[i] = graph.AddValue({}, graph.value(node.outputs[i]).type);
      if (of_outputs[i]) seeds.emplace(copy.outputs[i], of_outputs[i]);
    }
    if (!node.implicit_inputs.empty() || !graph.Subgraphs(node.index).empty() ||
        !InlineFunction(graph, graph.AddNode(std::move(copy), builder.place()))) {
      Fail(ErrorCode::kNotImplemented, "no derivative is known for {}", node.Label());
    }
    Count(graph, before);
    InferTypes(root_);
    Values targets, stops;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNone) stops.insert(node.inputs[i]);
      if (wanted[i]) targets.insert(node.inputs[i]);
    }
    const Gradients found = Sweep(builder, std::move(seeds), targets, stops);
    std::vector<Term> of_inputs(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      // An input that is there twice: the first place takes all.
      if (!wanted[i] || !targets.erase(node.inputs[i])) continue;
      const auto gradient = found.find(node.inputs[i]);
      if (gradient != found.end()) of_inputs[i] = gradient->second;
    }
    return of_inputs;
  }

  /// Of all gradients of a model: ten times what training of the largest networks takes.
  static constexpr size_t kMostNodes = 200'000;
  static constexpr size_t kMostOpen = 32;

  Graph& root_;
  std::set<std::pair<Graph*, NodeIndex>> open_;
  size_t made_ = 0;
};

}  // namespace

void DifferentiateGraph(Graph& graph) { Differentiation(graph).Run(graph); }

}  // namespace tessera
