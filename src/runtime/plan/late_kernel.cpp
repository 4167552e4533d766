#include "runtime/plan/late_kernel.h"

#include <algorithm>

#include "base/check.h"
#include "base/value_type.h"
#include "graph/check_types.h"
#include "graph/copy_node.h"
#include "graph/infer_types.h"
#include "runtime/kernel_info.h"
#include "runtime/step_context.h"

namespace tessera {
namespace {

/// Of one node; who brings more types than these makes kernels anew.
constexpr size_t kMostForms = 16;

/// The type that is seen, in the words of the one that is stated: an optional is known to be one though it holds its
/// element.
TypeInfo SeenAs(const TypeInfo& stated, const Value& value) {
  TypeInfo seen = RunTimeType(value);
  if (stated.kind != ValueKind::kOptional) return seen;
  return {ValueKind::kOptional, ElementType::kUndefined, std::nullopt, std::make_shared<const TypeInfo>(std::move(seen))};
}

bool IsGiven(const Value* value) noexcept { return value != nullptr && !value->is_none(); }

}  // namespace

struct LateKernel::Form {
  Graph graph;                  // the node alone
  std::vector<TypeInfo> types;  // by open input; of kind kNone where there is no value
  std::vector<ElementType> output_types;
  std::unique_ptr<Kernel> own;
  Kernel* kernel = nullptr;
};

LateKernel::LateKernel(const Node& node, const Graph& graph, const ExecutionProvider& provider,
                       const SessionResources& resources, std::unique_ptr<Kernel> kernel)
    : node_(node), graph_(graph), provider_(provider), resources_(resources), kernel_(std::move(kernel)) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNone && !IsComplete(graph.value(node.inputs[i]).type)) open_.push_back(i);
  }
}

LateKernel::~LateKernel() = default;

void LateKernel::Compute(KernelContext& context) {
  const std::shared_ptr<const Form> form = FormFor(context);
  // The executor makes every context that a kernel of a session sees.
  auto& step = static_cast<StepContext&>(context);
  const struct LateTypes {
    LateTypes(StepContext& step_in, std::span<const ElementType> types) : step(step_in) { step.set_late_types(types); }
    ~LateTypes() { step.set_late_types({}); }
    StepContext& step;
  } scope(step, form->output_types);
  form->kernel->Compute(context);
}

std::shared_ptr<const LateKernel::Form> LateKernel::FormFor(const KernelContext& context) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(forms_, [&](const auto& form) { return Suits(*form, context); });
    if (known != forms_.end()) return *known;
  }
  // Without the lock: a kernel may share its making out to threads that are at this node in other runs.
  std::shared_ptr<const Form> made = Make(context);
  const std::lock_guard lock(mutex_);
  if (forms_.size() == kMostForms) forms_.clear();
  forms_.push_back(made);
  return made;
}

bool LateKernel::Suits(const Form& form, const KernelContext& context) const {
  for (size_t k = 0; k < open_.size(); ++k) {
    const Value* value = context.input_value(open_[k]);
    const TypeInfo& type = form.types[k];
    if (!IsGiven(value)) {
      if (type.kind != ValueKind::kNone) return false;
    } else if (const Tensor* tensor = value->tensor_if(); tensor != nullptr) {
      if (!type.is_tensor() || type.element != tensor->type()) return false;
    } else if (!SameType(type, RunTimeType(*value))) {
      return false;
    }
  }
  return true;
}

std::shared_ptr<const LateKernel::Form> LateKernel::Make(const KernelContext& context) const {
  auto form = std::make_shared<Form>();
  Graph& graph = form->graph;
  const NodeIndex index = CopyNode(graph_, node_, graph);
  const Node& node = graph.node(index);
  for (const size_t input : open_) {
    const Value* value = context.input_value(input);
    form->types.push_back(IsGiven(value) ? RunTimeType(*value) : TypeInfo());
    TypeInfo& type = graph.value(node.inputs[input]).type;
    if (IsGiven(value)) type = SeenAs(type, *value);
  }
  if (graph.Subgraphs(index).empty()) {
    InferNodeTypes(graph, node);
  } else {
    CheckTypes(graph, node);
  }
  for (const ValueIndex output : node.outputs) {
    const bool tensor = output != kNone && graph.value(output).type.is_tensor();
    form->output_types.push_back(tensor ? graph.value(output).type.element : ElementType::kUndefined);
  }
  const GraphViewer viewer(graph);
  std::string why;
  const KernelDef* def = provider_.kernels().Find(viewer, node, &why);
  if (def == nullptr)
    Fail(ErrorCode::kNotImplemented, "{} has no kernel for the types that came: {}", provider_.name(), why);
  if (kernel_ != nullptr) {
    form->kernel = kernel_.get();
  } else {
    form->own = def->factory()(NodeKernelInfo(node, viewer, provider_, resources_, {}));
    form->kernel = form->own.get();
  }
  return form;
}

}  // namespace tessera
