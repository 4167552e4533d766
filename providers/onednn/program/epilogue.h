#pragma once

// What a step of our own does to its results: the operators that follow it, as far as it can apply them.

#include "kernels/elementwise/activation.h"
#include "onednn/program/builder.h"

namespace tessera::onednn {

struct Epilogue {
  ProgramBuilder::Fusion fusion;
  cpu::Activation<float> activation;
  MemoryIndex destination;
  std::optional<MemoryIndex> residual;  // laid out as the destination, or the destination itself
};

/// Takes up an addition and then an activation after `value`, whose dimensions are `dims` and whose layout will be
/// `layout`. `read`: what the step reads while it writes.
Epilogue TakeEpilogue(ProgramBuilder& builder, ValueIndex value, const Dims& dims, const Desc& layout,
                      const std::vector<MemoryIndex>& read);

}  // namespace tessera::onednn
