#pragma once

#include <string_view>

#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

namespace tessera::c_abi {

/// Adds a provider by its name, short or long. Throws Error for what is not built in.
void AppendProvider(OrtSessionOptions& options, std::string_view name, const ProviderOptions& given);
ProviderOptions OptionsFrom(const char* const* keys, const char* const* values, size_t count);

}  // namespace tessera::c_abi
