#pragma once

#include "onnxruntime/onnxruntime_c_api.h"

namespace tessera::c_abi {

// The tables, with a function at each place.
extern const OrtApi kOrtApi;
extern const OrtModelEditorApi kModelEditorApi;
extern const OrtCompileApi kCompileApi;
extern const OrtEpApi kEpApi;
extern const OrtInteropApi kInteropApi;
extern const OrtModelPackageApi kModelPackageApi;

}  // namespace tessera::c_abi
