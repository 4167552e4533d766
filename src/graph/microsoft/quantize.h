#pragma once

// What the bodies of quantized operators share.

#include <string>

#include "graph/microsoft/define.h"

namespace tessera {

/// `to` = QuantizeLinear of `from` to the type of input 0.
inline void AddQuantize(const Define::Context& context, onnx::FunctionBuilder& body, const std::string& to,
                        const std::string& from, const std::string& scale, const std::string& zero, int zero_input) {
  if (context.hasInput(zero_input)) {
    body.Add((to + " = QuantizeLinear (" + from + ", " + scale + ", " + zero + ")").c_str());
  } else {
    body.Add((to + " = QuantizeLinear (" + from + ", " + scale + ")").c_str(), "output_dtype",
             int64_t{ElementTypeOfInput(context, 0)});
  }
}

}  // namespace tessera
