#pragma once

// 3x3 convolutions by Winograd's transform inside a program, on the layout that oneDNN's own convolutions use. oneDNN 2.6
// has the transform for AVX-512 only, and not among what it chooses by itself.

#include <string_view>

#include "onednn/program/builder.h"

namespace tessera::onednn {

/// A convolution's shapes: `out` as it results, `window` with oneDNN's dilations from 0.
struct ConvolutionShape {
  Dims in, weights, out;
  int64_t group;
  const Window& window;
};

/// Whether the transform computes this convolution faster than oneDNN does, or the node's hint asks for it.
bool SuitsWinograd(const ConvolutionShape& shape, std::string_view hint);

/// `bias` may be null. Takes up what the transform can apply to its results of the operators after `value`.
void LowerWinograd(ProgramBuilder& builder, const ConvolutionShape& shape, ValueIndex value, MemoryIndex source,
                   const std::shared_ptr<const dnnl::memory>& weights, const MemoryIndex* bias);

}  // namespace tessera::onednn
