#include "plugin/operators/operator_kernel.h"

#include <algorithm>

#include "base/check.h"
#include "base/small_array.h"
#include "bindings/c/entry.h"
#include "plugin/call.h"
#include "plugin/run.h"
#include "plugin/stream.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::plugin {
namespace {

using c_abi::ThrowIfFailed;

// By the operator's version: which members of OrtCustomOp there are.
constexpr uint32_t kFirstWithMemory = 13, kFirstWithStatus = 16;

/// What the client made for a node, which may be null: it hears of its end all the same.
class OwnedKernel {
 public:
  OwnedKernel(const OrtCustomOp& op, void* kernel) noexcept : op_(&op), kernel_(kernel) {}
  OwnedKernel(OwnedKernel&& other) noexcept : op_(std::exchange(other.op_, nullptr)), kernel_(other.kernel_) {}
  OwnedKernel& operator=(OwnedKernel&&) = delete;
  ~OwnedKernel() {
    if (op_ != nullptr && op_->KernelDestroy != nullptr) Quietly([&] { op_->KernelDestroy(kernel_); });
  }
  void* get() const noexcept { return kernel_; }

 private:
  const OrtCustomOp* op_;
  void* kernel_;
};

/// What the client says ends the load with the code that ONNX Runtime gives it, whatever the client's own.
OwnedKernel MakeKernel(const OrtCustomOp& op, const OrtKernelInfo& info) try {
  const OrtApi* api = TesseraGetOrtApiBase()->GetApi(op.version);
  Require(api != nullptr, "operator {} is written for version {} of the interface, which is newer than this library's",
          op.GetName(&op), op.version);
  void* kernel = nullptr;
  if (op.version >= kFirstWithStatus && op.CreateKernelV2 != nullptr) {
    ThrowIfFailed(Call(op.CreateKernelV2, &op, api, &info, &kernel));
  } else {
    Require(op.CreateKernel != nullptr, "operator {} has no function that makes a kernel", op.GetName(&op));
    kernel = Call(op.CreateKernel, &op, api, &info);
  }
  const bool computes = (op.version >= kFirstWithStatus && op.KernelComputeV2 != nullptr) || op.KernelCompute != nullptr;
  OwnedKernel owned(op, kernel);
  Require(computes, "operator {} has no function that computes", op.GetName(&op));
  return owned;
} catch (const Error& error) {
  Fail(ErrorCode::kRuntimeException, "{}", error.what());
}

class OperatorKernel final : public Kernel {
 public:
  OperatorKernel(const ClientOperator& definition, std::unique_ptr<const KeptInfo> info,
                 const std::optional<OrtKernelDef>& places, std::shared_ptr<DataTransfer> transfer,
                 std::shared_ptr<const void> keep)
      : keep_(std::move(keep)),
        transfer_(std::move(transfer)),
        op_(*definition.op),
        info_(std::move(info)),
        kernel_(MakeKernel(op_, info_->shown)),
        outputs_(info_->graph(), NodeOf(info_->graph()).outputs, NodeOf(info_->graph()).Label(&info_->graph())),
        inputs_(IndicesOf(NodeOf(info_->graph()).inputs, info_->graph().inputs())) {
    if (places) operands_ = OperandsOf(*places, info_->graph());
    if (definition.aliases.empty()) return;
    aliases_.assign(outputs_.indices().size(), -1);
    for (const auto& [input, output] : definition.aliases) {
      if (output < aliases_.size() && input < inputs_.size()) aliases_[output] = static_cast<int32_t>(input);
    }
  }

  const KernelDef* PlacesOfOperands() const noexcept override { return operands_ ? &*operands_ : nullptr; }

  void Compute(KernelContext& context) override {
    SmallArray<const Value*> inputs(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) inputs[i] = info_->InputOf(context, inputs_, i);
    OrtKernelContext run(context, inputs.values(), outputs_.indices(), outputs_.types(), *info_->shown.services.logger,
                         SyncStreamOf(context.stream()));
    run.aliases = aliases_;
    run.transfer = transfer_.get();
    AtNode(info_->graph(), [&] {
      if (op_.version >= kFirstWithStatus && op_.KernelComputeV2 != nullptr) {
        ThrowIfFailed(Call(op_.KernelComputeV2, kernel_.get(), &run));
      } else {
        Call(op_.KernelCompute, kernel_.get(), &run);
      }
    });
    outputs_.Check(run);
  }

 private:
  const std::shared_ptr<const void> keep_;
  const std::shared_ptr<DataTransfer> transfer_;  // of the device's memory; null: the host's serves
  const OrtCustomOp& op_;
  const std::unique_ptr<const KeptInfo> info_;
  const OwnedKernel kernel_;
  const Outputs outputs_;
  const std::vector<int32_t> inputs_;  // by input, which of the part's it is
  std::vector<int32_t> aliases_;       // by output, the input that it begins as, -1: none; empty: of no output
  std::optional<KernelDef> operands_;
};

/// Storage is made by type: one that nothing tells before the run cannot be.
void RequireTypes(const GraphViewer& graph) {
  const Node& node = NodeOf(graph);
  for (const ValueIndex output : node.outputs) {
    if (output == kNone || graph.value(output).type.element != ElementType::kUndefined) continue;
    Fail(ErrorCode::kFail,
         "the element type of output '{}' is not known: let the operator's InferOutputShapeFn set it, or the model's "
         "value_info",
         graph.value(output).name);
  }
}

}  // namespace

OrtKernelDef PlacesFor(const ClientOperator& definition, const Node& node) {
  OrtKernelDef places;
  const OrtCustomOp& op = *definition.op;
  const bool on_host = definition.provider.empty();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const size_t declared = std::min(i, definition.inputs.size() - 1);
    const bool says = op.version >= kFirstWithMemory && op.GetInputMemoryType != nullptr;
    places.input_memory[i] = on_host ? OrtMemTypeCPUInput
                             : says  ? Call(op.GetInputMemoryType, &op, declared)
                                     : OrtMemTypeDefault;
  }
  for (size_t i = 0; on_host && i < node.outputs.size(); ++i) places.output_memory[i] = OrtMemTypeCPUOutput;
  return places;
}

std::unique_ptr<Kernel> MakeOperatorKernel(const ClientOperator& definition, std::unique_ptr<const KeptInfo> info,
                                           const std::optional<OrtKernelDef>& places,
                                           std::shared_ptr<DataTransfer> transfer, std::shared_ptr<const void> keep) {
  const GraphViewer graph = info->graph();
  std::unique_ptr<Kernel> kernel;
  AtNode(graph, [&] {
    RequireTypes(graph);
    kernel = std::make_unique<OperatorKernel>(definition, std::move(info), places, std::move(transfer), std::move(keep));
  });
  return kernel;
}

}  // namespace tessera::plugin
