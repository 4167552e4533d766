#pragma once

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "tessera/value.h"

namespace tessera::fuzz {

/// A model that works, small enough to be loaded thousands of times, and inputs of two sizes that it runs on.
struct FixedModel {
  std::string name;
  onnx::ModelProto proto;
  std::vector<Value> inputs, other_inputs;
};

/// The four kinds: a convolution net, a transformer's layer, a quantized net, and control flow with strings and sequences.
std::vector<FixedModel> FixedModels();

}  // namespace tessera::fuzz
