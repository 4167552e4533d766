#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "graph/graph.h"
#include "runtime/resources.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// Runs a node of whose inputs the graph does not tell all types. What load checks of other nodes is checked when the types
/// are seen: that the operator takes them together, that its outputs are what the graph states, that the provider has a
/// kernel for them. The kernel is made then, for these types, and kept for the next run. Models whose types are known have
/// none of this.
class LateKernel final : public Kernel {
 public:
  /// Of a node that holds graphs, which were planned without the types: `kernel`, once they are checked.
  LateKernel(const Node& node, const Graph& graph, const ExecutionProvider& provider, const SessionResources& resources,
             std::unique_ptr<Kernel> kernel);
  ~LateKernel() override;

  void Compute(KernelContext& context) override;

 private:
  struct Form;  // for certain types

  std::shared_ptr<const Form> FormFor(const KernelContext& context);
  bool Suits(const Form& form, const KernelContext& context) const;
  std::shared_ptr<const Form> Make(const KernelContext& context) const;

  const Node& node_;
  const Graph& graph_;
  const ExecutionProvider& provider_;
  const SessionResources& resources_;
  const std::unique_ptr<Kernel> kernel_;
  std::vector<size_t> open_;  // inputs whose types are seen at run time
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Form>> forms_;
};

}  // namespace tessera
