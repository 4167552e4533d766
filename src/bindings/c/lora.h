#pragma once

#include <span>
#include <vector>

#include "base/seeded_hash.h"
#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "session/loaded_model.h"
#include "tessera/value.h"

struct OrtLoraAdapter {
  tessera::c_abi::Mark<OrtLoraAdapter> mark;
  tessera::StringMap<tessera::Value> tensors;
};

namespace tessera::c_abi {

/// Gives a run the adapters' tensors for the inputs that have their names and that the client gave nothing for.
void LayOver(const std::vector<const OrtLoraAdapter*>& adapters, const LoadedModel& model, std::span<const Value*> given);

}  // namespace tessera::c_abi
