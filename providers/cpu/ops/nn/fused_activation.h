#pragma once

#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/gemm/gemm.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// The activation that lowering (fuse_activations, fuse_linear) has fused into the node.
template <class C>
GemmEpilogue<C> FusedActivation(const KernelInfo& info) {
  const auto name = info.attribute<std::string>("activation", "");
  GemmEpilogue<C> epilogue;
  epilogue.alpha = static_cast<C>(info.attribute<float>("activation_alpha", 0));
  epilogue.beta = static_cast<C>(info.attribute<float>("activation_beta", 0));
  for (const auto& [known, activation] :
       {std::pair("Relu", GemmActivation::kRelu), std::pair("Clip", GemmActivation::kClip),
        std::pair("LeakyRelu", GemmActivation::kLeakyRelu), std::pair("HardSigmoid", GemmActivation::kHardSigmoid),
        std::pair("HardSwish", GemmActivation::kHardSwish)}) {
    if (name == known) epilogue.activation = activation;
  }
  Require(name.empty() || epilogue.activation != GemmActivation::kNone,
          "attribute 'activation' is '{}', which is not known", name);
  return epilogue;
}

}  // namespace tessera::cpu
