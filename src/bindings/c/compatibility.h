#pragma once

#include <span>

#include "onnxruntime/onnxruntime_c_api.h"
#include "onnxruntime/onnxruntime_ep_c_api.h"

namespace tessera::c_abi {

/// What a library's provider says of something that was compiled, by its compatibility text, on the devices; not applicable
/// where it cannot say, and where there is none. A status that the provider answers is the caller's to release.
OrtStatus* AskCompatibility(OrtEpFactory* factory, std::span<const OrtHardwareDevice* const> hardware, const char* info,
                            OrtCompiledModelCompatibility& answer);

}  // namespace tessera::c_abi
