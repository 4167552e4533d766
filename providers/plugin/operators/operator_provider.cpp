#include "plugin/operators/operator_provider.h"

#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "bindings/c/logger.h"
#include "graph/operator_definitions.h"
#include "plugin/operators/operator_kernel.h"
#include "plugin/session_view.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {
namespace {

/// What kernels are lent by the session that they are made for.
struct OperatorServices {
  OrtLogger logger;
  std::map<std::string, std::string, std::less<>> config;  // the session's entries
};

/// Operators, and what keeps the libraries that they lie in.
struct KeptOperators {
  std::vector<std::shared_ptr<const void>> libraries;
  OperatorSet operators;
};

class OperatorProvider final : public ExecutionProvider {
 public:
  OperatorProvider(std::shared_ptr<const KeptOperators> kept, OperatorServices lent)
      : kept_(std::move(kept)), lent_(std::move(lent)) {}

  std::string_view name() const noexcept override { return kOperatorProvider; }
  bool ClaimsModelAsWritten() const noexcept override { return true; }
  bool ClaimsOnlyAsWritten() const noexcept override { return true; }
  const KernelRegistry& kernels() const noexcept override { return none_; }

  bool Defines(std::string_view domain, std::string_view op_type, int opset) const override {
    return kept_->operators.Has(domain, op_type, opset);
  }
  void InferOutputs(const GraphViewer& graph, const Node& node, std::span<TypeInfo> outputs) const override {
    kept_->operators.InferOutputs(graph, node, {}, outputs);
  }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& /*kernels*/,
                                               RefusalSink& refusals) const override {
    std::vector<ComputeCapability> capabilities;
    for (const NodeIndex index : graph.nodes()) {
      const Node& node = graph.node(index);
      if (!node.provider.empty() || !IsOwn(*this, graph, node)) continue;
      const ClientOperator& definition = kept_->operators.DefinitionOf(graph, node, {});
      if (!definition.provider.empty()) {
        refusals.Refuse(index, fmt::format("the operator runs on {} only, which must be a provider of the session that "
                                           "takes it",
                                           definition.provider));
        continue;
      }
      capabilities.push_back({.nodes = {index}, .fuse = true, .name = node.op_type, .whole = true});
    }
    return capabilities;
  }

  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                               const CompileContext& context) override {
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const FusedSubgraph& part : subgraphs) {
      const ClientOperator& definition = kept_->operators.DefinitionOf(part.graph, NodeOf(part.graph), {});
      auto info = std::make_unique<const KeptInfo>(
          part.graph, *this, services_,
          c_abi::KernelServices{
              .logger = &lent_.logger, .config = &lent_.config, .since_version = definition.first_version});
      kernels.push_back(MakeOperatorKernel(definition, std::move(info), std::nullopt, nullptr, kept_));
    }
    if (context.context_nodes != nullptr) context.context_nodes->resize(subgraphs.size());
    return kernels;
  }

 private:
  const std::shared_ptr<const KeptOperators> kept_;
  const OperatorServices lent_;
  const KernelRegistry none_;  // its kernels are made by Compile
};

class OperatorSource final : public ProviderSource {
 public:
  explicit OperatorSource(std::shared_ptr<const KeptOperators> kept) : kept_(std::move(kept)) {
    factory_.name = kOperatorProvider;
    factory_.cli_name = kOperatorProvider;
    factory_.of_program = true;
  }

  const ProviderFactory& factory() const noexcept override { return factory_; }
  std::unique_ptr<ExecutionProvider> Create(const ProviderOptions& /*options*/, const SessionOptions& session) override {
    return std::make_unique<OperatorProvider>(kept_,
                                              OperatorServices{LoggerOf(session, "tessera"), ConfigEntriesOf(session)});
  }

 private:
  const std::shared_ptr<const KeptOperators> kept_;
  ProviderFactory factory_;
};

}  // namespace

ProviderRequest RequestFor(std::span<const OrtCustomOpDomain* const> domains,
                           std::vector<std::shared_ptr<const void>> libraries) {
  auto kept = std::make_shared<const KeptOperators>(KeptOperators{std::move(libraries), OperatorSet(domains)});
  return {
      .name = std::string(kOperatorProvider), .options = {}, .source = std::make_shared<OperatorSource>(std::move(kept))};
}

}  // namespace tessera::plugin
