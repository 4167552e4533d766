#include "opencl/claims/fusion.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "graph/graph.h"
#include "opencl/device/sources.h"
#include "opencl/ops/elementwise.h"
#include "runtime/inner_context.h"

namespace tessera::opencl {
namespace {

bool IsAnchor(const Node& node) {
  return node.domain.empty() &&
         (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "MatMul" || node.op_type == "Gemm");
}

/// Equal whatever the inputs are.
bool SameDimension(const Dimension& x, const Dimension& y) {
  return x.known() || y.known() ? x.value == y.value : !x.symbol.empty() && x.symbol == y.symbol;
}
bool SameShape(const TypeInfo& a, const TypeInfo& b) {
  return a.shape && b.shape && std::ranges::equal(*a.shape, *b.shape, SameDimension);
}

/// The product of dimensions, nothing where one is unknown.
std::optional<int64_t> KnownElements(std::span<const Dimension> dims) {
  int64_t elements = 1;
  for (const Dimension& dim : dims) {
    if (!dim.known() || __builtin_mul_overflow(elements, dim.value, &elements)) return std::nullopt;
  }
  return elements;
}

/// Where an operand that broadcasts to a result is read; nothing where its dimensions are not neighbours in the result.
std::optional<Epilogue::Broadcast> BroadcastOf(const TypeInfo& operand, const TypeInfo& result) {
  if (!operand.shape || !result.shape || operand.shape->size() > result.shape->size()) return std::nullopt;
  const std::span<const Dimension> has(*operand.shape), all(*result.shape);
  const size_t skipped = all.size() - has.size();
  const auto is_one = [](const Dimension& dim) { return dim.value == 1; };
  size_t first = all.size(), last = 0;  // the result's dimensions that the operand has
  for (size_t i = 0; i < has.size(); ++i) {
    if (is_one(has[i])) continue;
    if (!SameDimension(has[i], all[skipped + i])) return std::nullopt;
    first = std::min(first, skipped + i);
    last = skipped + i + 1;
  }
  if (first >= last) return Epilogue::Broadcast{1, 1};
  for (size_t i = first; i < last; ++i) {
    if (is_one(has[i - skipped]) && !is_one(all[i])) return std::nullopt;
  }
  const auto inner = KnownElements(all.subspan(last));
  if (!inner || *inner == 0) return std::nullopt;
  if (std::ranges::all_of(all.first(first), is_one)) return Epilogue::Broadcast{*inner, 0};
  const auto count = KnownElements(all.subspan(first, last - first));
  if (!count || *count == 0) return std::nullopt;
  return Epilogue::Broadcast{*inner, *count};
}

/// The element of operand `number` that belongs to element i of the result.
std::string ElementOf(size_t number, const Epilogue::Broadcast& broadcast) {
  std::string index = broadcast.inner == 1 && broadcast.count == 0 ? "i" : "(ulong)i";
  if (broadcast.inner != 1) index += fmt::format(" / {}UL", broadcast.inner);
  if (broadcast.count != 0) index += fmt::format(" % {}UL", broadcast.count);
  return fmt::format("GET_A(e{0}_ + e{0}o, {1})", number, index);
}

/// A finite number as a literal of TA, or nothing.
std::string Literal(const Tensor& tensor, size_t rank) {
  if (tensor.num_elements() != 1 || tensor.shape().rank() > rank) return {};
  double value = 0;
  if (tensor.is(ElementType::kFloat)) {
    value = tensor.data<float>()[0];
  } else if (tensor.is(ElementType::kDouble)) {
    value = tensor.data<double>()[0];
  } else if (tensor.is(ElementType::kFloat16)) {
    value = static_cast<float>(tensor.data<Float16>()[0]);
  } else if (tensor.is(ElementType::kBFloat16)) {
    value = static_cast<float>(tensor.data<BFloat16>()[0]);
  } else {
    return {};
  }
  if (!std::isfinite(value)) return {};
  return fmt::format("((TA){:a}{})", value, tensor.is(ElementType::kDouble) ? "" : "f");
}

/// Follows a value, the results of an anchor or of any node, through the elementwise operators that read nothing else of
/// its kind.
class Chain {
 public:
  Chain(const GraphViewer& graph, const Node& anchor) : graph_(graph), anchor_(&anchor), value_(anchor.outputs[0]) {}
  Chain(const GraphViewer& graph, ValueIndex first) : graph_(graph), value_(first) {}

  /// Takes the node in if it can follow.
  bool Append(const Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == kNone) return false;
    const TypeInfo &from = graph_.value(value_).type, &to = graph_.value(node.outputs[0]).type;
    if (from.element != to.element || !SameShape(from, to)) return false;
    const std::string function = fmt::format("follow_{}", nodes_.size());
    if (!AppendUnary(node, function) && !AppendClip(node, function) && !AppendBias(node) && !AppendBinary(node, function))
      return false;
    nodes_.push_back(node.index);
    value_ = node.outputs[0];
    return true;
  }

  /// The one node that reads the results so far; null where there are several, or the graph gives them out.
  const Node* Reader() const {
    const GraphValue& value = graph_.value(value_);
    if (value.is_output || value.consumers.empty()) return nullptr;
    const NodeIndex reader = value.consumers.front();
    if (std::ranges::any_of(value.consumers, [&](NodeIndex other) { return other != reader; })) return nullptr;
    const Node& node = graph_.node(reader);
    return graph_.graph().ReadsOnce(reader, value_) && node.implicit_inputs.empty() ? &node : nullptr;
  }

  std::span<const NodeIndex> nodes() const { return nodes_; }
  ValueIndex bias() const { return bias_; }
  std::span<const ValueIndex> operands() const { return operands_; }

  Epilogue Finish() const {
    const ElementType type = graph_.value(value_).type.element;
    Epilogue epilogue;
    epilogue.broadcasts = broadcasts_;
    std::string parameters, names, passed;
    for (size_t i = 0; i < operands_.size(); ++i) {
      parameters += fmt::format(", __global uchar* e{0}_, ulong e{0}o", i);
      passed += fmt::format(", e{0}_, e{0}o", i);
    }
    epilogue.defines = fmt::format(
        "#define INLINE static inline __attribute__((always_inline))\n{}{}{}#define EPILOGUE_PARAMETERS {}\nINLINE TA "
        "follow(TA v, long i{}) {{\n  v = ROUND_A(v);\n{}  return v;\n}}\n"
        "#define EPILOGUE_ARGUMENTS {}\n#define EPILOGUE(value, index) follow((value), (index){})\n",
        Computed('A', type), KernelSource("functions"), functions_, parameters, parameters, steps_, passed, passed);
    return epilogue;
  }

 private:
  void AddFunction(const std::string& name, std::string_view expression, float alpha = 0, float beta = 0) {
    functions_ += fmt::format("INLINE TA {}(TA a, TA b) {{ const float alpha = {:a}f, beta = {:a}f; return {}; }}\n", name,
                              alpha, beta, expression);
  }
  void AddStep(const std::string& function, std::string_view a, std::string_view b) {
    steps_ += fmt::format("  v = ROUND_A({}({}, {}));\n", function, a, b);
  }

  bool AppendUnary(const Node& node, const std::string& function) {
    const auto unary = UnaryExpressionOf(node);
    if (!unary || !std::isfinite(unary->alpha) || !std::isfinite(unary->beta)) return false;
    AddFunction(function, unary->text, unary->alpha, unary->beta);
    AddStep(function, "v", "v");
    return true;
  }

  /// Keeps NaN.
  bool AppendClip(const Node& node, const std::string& function) {
    if (node.op_type != "Clip" || !node.domain.empty() || node.since_version < 11 || node.inputs[0] != value_) return false;
    std::string steps;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      const Tensor* bound = graph_.constant(node.inputs[i]);
      const std::string literal = bound == nullptr ? "" : Literal(*bound, bound->shape().rank());
      if (literal.empty()) return false;
      steps += fmt::format("  v = {}({}, v);\n", function + (i == 1 ? "_low" : "_high"), literal);
    }
    AddFunction(function + "_low", "b < a ? a : b");
    AddFunction(function + "_high", "b > a ? a : b");
    steps_ += steps;
    return true;
  }

  /// MatMul and a vector with an element for each column. Fp16 is rounded in between, which the matmul does not do.
  bool AppendBias(const Node& node) {
    if (BitWidth(graph_.value(value_).type.element) == 16) return false;
    if (anchor_ == nullptr || anchor_->op_type != "MatMul" || !nodes_.empty() || node.op_type != "Add" ||
        !node.domain.empty())
      return false;
    const ValueIndex other = node.inputs[node.inputs[0] == value_ ? 1 : 0];
    const Tensor* bias = graph_.constant(other);
    const TypeInfo& result = graph_.value(value_).type;
    if (bias == nullptr || bias->shape().rank() != 1 || !result.shape || result.shape->empty()) return false;
    const TypeInfo& b = graph_.value(anchor_->inputs[1]).type;
    if (!b.shape || b.shape->size() < 2 || !b.shape->back().known() || b.shape->back().value != bias->shape()[0])
      return false;
    if (result.shape->back() != b.shape->back() || bias->type() != result.element) return false;
    bias_ = other;
    return true;
  }

  bool AppendBinary(const Node& node, const std::string& function) {
    const std::string_view expression = ArithmeticExpressionOf(node);
    if (expression.empty() || node.inputs.size() != 2) return false;
    const bool first = node.inputs[0] == value_;
    const ValueIndex other = node.inputs[first ? 1 : 0];
    if (other == kNone) return false;
    const TypeInfo& result = graph_.value(value_).type;
    const Tensor* constant = graph_.constant(other);
    std::string operand = constant == nullptr ? "" : Literal(*constant, result.shape->size());
    if (operand.empty()) {
      const TypeInfo& type = graph_.value(other).type;
      const auto broadcast = BroadcastOf(type, result);
      if (!broadcast || operands_.size() == Epilogue::kMostInputs || type.element != result.element) return false;
      operand = ElementOf(operands_.size(), *broadcast);
      operands_.push_back(other);
      broadcasts_.push_back(*broadcast);
    }
    AddFunction(function, expression);
    AddStep(function, first ? "v" : operand, first ? operand : "v");
    return true;
  }

  const GraphViewer& graph_;
  const Node* anchor_ = nullptr;
  ValueIndex value_;  // the results so far
  std::vector<NodeIndex> nodes_;
  ValueIndex bias_ = kNone;
  std::vector<ValueIndex> operands_;
  std::vector<Epilogue::Broadcast> broadcasts_;
  std::string functions_, steps_;
};

/// What a chain that starts with this elementwise operator follows: an input of the result's shape that no constant is.
ValueIndex FirstOf(const GraphViewer& graph, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] == kNone || !node.implicit_inputs.empty()) return kNone;
  for (const ValueIndex input : node.inputs) {
    if (input == kNone || graph.constant(input) != nullptr) continue;
    if (SameShape(graph.value(input).type, graph.value(node.outputs[0]).type)) return input;
  }
  return kNone;
}

/// A chain of elementwise operators without an anchor, in one pass over memory.
class ElementwiseChain final : public Kernel {
 public:
  explicit ElementwiseChain(const KernelInfo& info)
      : epilogue_(EpilogueOf(info)), kernel_(DeviceOf(info), "elementwise", epilogue_.defines, "chain") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Epilogue::Operands storage;
    const auto operands = epilogue_.Collect(context, x.shape(), storage);
    kernel_.Linear(context, x.num_elements(), x, *context.output(0, x.shape()), operands);
  }

 private:
  const Epilogue epilogue_;
  Launchable kernel_;
};

/// KernelInfo of the anchor of a fused subgraph, or of the first node of a chain without one.
class AnchorInfo final : public KernelInfo, public HasEpilogue {
 public:
  AnchorInfo(const GraphViewer& graph, const Node& node, const FusionServices& services, Epilogue epilogue)
      : HasEpilogue(std::move(epilogue)), graph_(graph), node_(node), services_(services) {}
  const Node& node() const noexcept override { return node_; }
  const GraphViewer& graph() const noexcept override { return graph_; }
  const ExecutionProvider& provider() const noexcept override { return services_.provider; }
  ThreadPool& threads() const noexcept override { return services_.threads; }
  Allocator& allocator() const noexcept override { return services_.memory; }
  SubgraphRunner& subgraph(std::string_view attribute) const override {
    Fail(ErrorCode::kInvalidGraph, "{} has no nested graph '{}'", node_.op_type, attribute);
  }
  std::shared_ptr<const void> SharedPrepack(const Tensor&, std::string_view,
                                            const std::function<std::shared_ptr<const void>()>& make) const override {
    return make();
  }
  void ReleaseConstant(size_t input) const override { released_.push_back(input); }
  void AcceptUnaligned(size_t) const override {}
  bool releases(size_t input) const { return std::ranges::find(released_, input) != released_.end(); }

 private:
  mutable std::vector<size_t> released_;
  const GraphViewer& graph_;
  const Node& node_;
  const FusionServices& services_;
};

/// The run of a fused node as its anchor sees it.
class AnchorContext final : public InnerContext {
 public:
  AnchorContext(KernelContext& outer, std::span<const Value* const> inputs) : InnerContext(outer) {
    inputs_ = inputs;
    num_outputs_ = 1;
  }
  bool has_output(size_t i) const noexcept override { return i == 0; }
};

class FusedKernel final : public Kernel {
 public:
  /// Where an input of the anchor comes from: an input of the fused node, a constant of this kernel, or nowhere.
  struct Source {
    int input = -1, constant = -1;
  };

  void Compute(KernelContext& context) override {
    const auto inputs = context.scratch<const Value*>(sources.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      const Source& source = sources[i];
      inputs[i] = source.input >= 0      ? context.input_value(static_cast<size_t>(source.input))
                  : source.constant >= 0 ? &constants[static_cast<size_t>(source.constant)]
                                         : nullptr;
    }
    AnchorContext inner(context, std::span<const Value* const>(inputs));
    anchor->Compute(inner);
  }

  std::vector<Source> sources;
  std::vector<Value> constants;  // on the device
  std::unique_ptr<Kernel> anchor;
};

}  // namespace

std::vector<ComputeCapability> FuseElementwise(const GraphViewer& graph, std::vector<ComputeCapability> claims) {
  std::vector<int> claim_of;  // by node, -1: not single or not claimed
  for (size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].fuse || claims[i].nodes.size() != 1) continue;
    const auto node = static_cast<size_t>(claims[i].nodes[0]);
    if (claim_of.size() <= node) claim_of.resize(node + 1, -1);
    claim_of[node] = static_cast<int>(i);
  }
  const auto computes = [&](const Node& node) {
    const ElementType type =
        node.outputs.empty() || node.outputs[0] == kNone ? ElementType{} : graph.value(node.outputs[0]).type.element;
    return kReals.contains(type);
  };
  const auto extend = [&](Chain& chain, std::string& name) {
    for (const Node* next = chain.Reader(); next != nullptr; next = chain.Reader()) {
      const auto index = static_cast<size_t>(next->index);
      if (index >= claim_of.size() || claim_of[index] < 0) break;
      if (claims[static_cast<size_t>(claim_of[index])].nodes.size() != 1 || !chain.Append(*next)) break;
      name += "+" + next->op_type;
    }
  };
  const auto merge = [&](ComputeCapability& claim, std::vector<NodeIndex> nodes) {
    for (const NodeIndex taken : nodes) claims[static_cast<size_t>(claim_of[static_cast<size_t>(taken)])].nodes.clear();
    claim.fuse = true;
    claim.nodes = std::move(nodes);
  };
  for (ComputeCapability& claim : claims) {
    if (claim.fuse || claim.nodes.size() != 1 || !IsAnchor(graph.node(claim.nodes[0]))) continue;
    const Node& anchor = graph.node(claim.nodes[0]);
    if (!computes(anchor)) continue;
    Chain chain(graph, anchor);
    claim.name = anchor.op_type;
    extend(chain, claim.name);
    // Alone too: then constants that it has in a form of its own need not be on the device a second time.
    if (chain.nodes().empty() && (anchor.inputs.size() < 2 || graph.constant(anchor.inputs[1]) == nullptr)) continue;
    std::vector<NodeIndex> nodes = {anchor.index};
    nodes.insert(nodes.end(), chain.nodes().begin(), chain.nodes().end());
    merge(claim, std::move(nodes));
  }
  // What no matmul or convolution took in, earliest first.
  for (ComputeCapability& claim : claims) {
    if (claim.fuse || claim.nodes.size() != 1 || !computes(graph.node(claim.nodes[0]))) continue;
    const Node& first = graph.node(claim.nodes[0]);
    const ValueIndex value = FirstOf(graph, first);
    if (value == kNone) continue;
    Chain chain(graph, value);
    std::string name = first.op_type;
    if (!chain.Append(first)) continue;
    extend(chain, name);
    if (chain.nodes().size() < 2) continue;
    claim.name = std::move(name);
    merge(claim, {chain.nodes().begin(), chain.nodes().end()});
  }
  std::erase_if(claims, [](const ComputeCapability& claim) { return claim.nodes.empty(); });
  return claims;
}

std::unique_ptr<Kernel> CompileElementwise(const GraphViewer& subgraph, const FusionServices& services) {
  Require(!subgraph.nodes().empty() && subgraph.outputs().size() == 1, "the subgraph has {} outputs; one is expected",
          subgraph.outputs().size());
  const Node& anchor = subgraph.node(subgraph.nodes().front());
  const bool has_anchor = IsAnchor(anchor);
  Chain chain = has_anchor ? Chain(subgraph, anchor) : Chain(subgraph, FirstOf(subgraph, anchor));
  for (const NodeIndex index : subgraph.nodes().subspan(has_anchor ? 1 : 0)) {
    Require(chain.Append(subgraph.node(index)), "{} cannot follow {}", subgraph.node(index).op_type, anchor.op_type);
  }
  std::string why;
  const KernelDef* def = services.provider.kernels().Find(subgraph, anchor, &why);
  if (def == nullptr) Fail(ErrorCode::kNotImplemented, "{}: {}", anchor.op_type, why);
  auto kernel = std::make_unique<FusedKernel>();
  std::vector<ValueIndex> operands;
  if (has_anchor) operands.assign(anchor.inputs.begin(), anchor.inputs.end());
  if (!has_anchor) operands = {FirstOf(subgraph, anchor)};
  operands.resize(Epilogue::kFirstInput, kNone);
  if (chain.bias() != kNone) operands[Epilogue::kFirstInput - 1] = chain.bias();
  operands.insert(operands.end(), chain.operands().begin(), chain.operands().end());
  const AnchorInfo info(subgraph, anchor, services, chain.Finish());
  kernel->anchor = has_anchor ? def->factory()(info) : std::make_unique<ElementwiseChain>(info);
  for (size_t i = 0; i < operands.size(); ++i) {
    const ValueIndex operand = operands[i];
    FusedKernel::Source source;
    if (operand == kNone) {
    } else if (const Tensor* constant = subgraph.constant(operand); constant != nullptr) {
      source.constant = static_cast<int>(kernel->constants.size());
      // Of a constant that the kernel has in a form of its own, it reads the shape only.
      kernel->constants.push_back(Value(info.releases(i) ? *constant : services.constants.OnDevice(*constant)));
    } else {
      const auto found = std::ranges::find(subgraph.inputs(), operand);
      Require(found != subgraph.inputs().end(), "an operand of {} is not an input of the subgraph", anchor.op_type);
      source.input = static_cast<int>(found - subgraph.inputs().begin());
    }
    kernel->sources.push_back(source);
  }
  return kernel;
}

}  // namespace tessera::opencl
