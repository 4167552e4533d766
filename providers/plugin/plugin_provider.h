#pragma once

// A library's provider as the session knows providers.

#include <memory>
#include <string>
#include <vector>

#include "bindings/c/views/graph_view.h"
#include "plugin/claims.h"
#include "plugin/ep.h"
#include "plugin/memory.h"
#include "plugin/operators/operator_set.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

class PluginProvider final : public ExecutionProvider {
 public:
  /// `strict`: a claim that breaks a rule is an error.
  PluginProvider(std::shared_ptr<Ep> ep, bool strict);

  std::string_view name() const noexcept override { return name_; }
  bool ClaimsModelAsWritten() const noexcept override { return true; }
  bool ClaimsOnlyAsWritten() const noexcept override { return true; }
  bool PrefersChannelsLast() const override { return channels_last_; }
  bool ChannelsLastFor(const Node& node) const override;
  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& kernels,
                                               RefusalSink& refusals) const override;
  const KernelRegistry& kernels() const noexcept override { return none_; }
  bool Defines(std::string_view domain, std::string_view op_type, int opset) const override;
  void InferOutputs(const GraphViewer& graph, const Node& node, std::span<TypeInfo> outputs) const override;
  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                               const CompileContext& context) override;
  std::string CompatibilityInfo(const GraphViewer& compiled) const override;

  std::unique_ptr<ProviderProfiler> StartProfile(std::chrono::steady_clock::time_point zero) override;
  Recording RecordsRuns() const noexcept override;
  bool HasRecorded(int number) const override;
  void Replay(int number) override;
  void ForgetRecording(int number) override;

  MemoryInfo memory() const noexcept override { return memory_; }
  std::unique_ptr<Allocator> CreateAllocator() override;
  std::unique_ptr<DataTransfer> CreateDataTransfer() override;
  std::unique_ptr<Stream> CreateStream() override;
  std::string DeviceName() const override;

  void OnModel(const ModelMetadata& metadata, const std::filesystem::path& file) override;
  void OnLoaded() override;
  bool WatchesRuns() const noexcept override;
  void OnRunStart(const RunOptions& options) override;
  void OnRunEnd(const RunOptions& options, bool synchronize) override;
  bool AllowsConcurrentRuns() const noexcept override { return concurrent_; }
  void SetDynamicOptions(std::span<const std::pair<std::string_view, std::string_view>> options) override;

 private:
  void RefuseBroken(const Claim& claim, RefusalSink& refusals) const;
  void RequireMayCompile(const GraphViewer& graph) const;

  const std::shared_ptr<Ep> ep_;
  const std::string name_;
  const bool strict_;
  /// By a kernel of its own: an operator that it defines, and has a kernel for.
  bool RunsOwn(const GraphViewer& graph, NodeIndex node) const;
  void Offer(const GraphViewer& graph, Claim claim, std::vector<ComputeCapability>& capabilities) const;
  std::unique_ptr<Kernel> KernelOfOwn(const GraphViewer& graph, const DeviceMemory& memory) const;

  const OperatorSet operators_;  // that the library defines
  const KernelRegistry none_;    // it has kernels for nodes as written, made by Compile
  const OrtMemoryInfo* device_memory_ = nullptr;
  MemoryInfo memory_;
  bool concurrent_ = true;
  bool channels_last_ = false;
  std::shared_ptr<const c_abi::ModelFacts> facts_ = std::make_shared<c_abi::ModelFacts>();
  mutable std::vector<Claim> claims_;  // by tag
};

}  // namespace tessera::plugin
