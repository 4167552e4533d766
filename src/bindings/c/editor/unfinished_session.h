#pragma once

#include "bindings/c/editor/edited_model.h"
#include "bindings/c/session_options.h"
#include "onnxruntime/onnxruntime_c_api.h"

namespace tessera::c_abi {

/// What a session is to be made of, as long as its model is edited.
struct UnfinishedSession {
  const OrtEnv* env;
  OrtSessionOptions options;
  EditedModel model;
};

}  // namespace tessera::c_abi
