#pragma once

#include "runtime/executor.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// SubgraphRunner over a plan of its own.
class PlannedSubgraph final : public SubgraphRunner {
 public:
  PlannedSubgraph(std::unique_ptr<Plan> plan, const SessionResources& resources)
      : executor_(std::move(plan), resources, true) {}

  size_t num_inputs() const noexcept override { return executor_.plan().graph_inputs.size(); }
  size_t num_outputs() const noexcept override { return executor_.plan().graph_outputs.size(); }
  const TypeInfo& output_type(size_t i) const noexcept override { return executor_.plan().output_types[i]; }
  const TypeInfo& input_type(size_t i) const noexcept override { return executor_.plan().input_types[i]; }
  void Run(KernelContext& context, std::span<const Value> inputs, std::span<Value> outputs) override;
  void RunTaking(KernelContext& context, std::span<Value> inputs, std::span<Value> outputs) override;

  /// Gives the memory of idle frames back.
  void ReleaseIdle() noexcept { executor_.ReleaseIdle(); }

 private:
  /// Given is const Value where the frame shares the inputs, and Value where they move into it.
  template <class Given>
  void RunWith(KernelContext& context, std::span<Given> inputs, std::span<Value> outputs);

  Executor executor_;
};

}  // namespace tessera
