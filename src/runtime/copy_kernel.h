#pragma once

#include "runtime/resources.h"
#include "tessera/kernel.h"

namespace tessera {

/// Brings a tensor to another memory of the session.
class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const SessionResources& resources) : resources_(resources) {}
  void Compute(KernelContext& context) override;

 private:
  const SessionResources& resources_;
};

}  // namespace tessera
