#pragma once

// The activation that lowering has fused into a node of ai.tessera: how its attributes say so.

#include "base/check.h"
#include "kernels/elementwise/activation.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Of a node that has none yet.
void SetActivation(Node& node, const Activation<float>& activation);
bool HasActivation(const Node& node);

/// The node's, or none. Throws Error where the name is not known.
Activation<float> FusedActivation(const KernelInfo& info);

/// The same for kernels that apply activations in registers: throws Error where they do not apply it.
template <class T>
Activation<T> FusedActivationInRegisters(const KernelInfo& info) {
  const Activation<float> activation = FusedActivation(info);
  Require(AppliesInRegisters(activation.kind), "the fused activation is one of NCHW8c alone");
  return {activation.kind, static_cast<T>(activation.alpha), static_cast<T>(activation.beta)};
}

}  // namespace tessera::cpu
