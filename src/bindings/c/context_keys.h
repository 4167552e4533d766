#pragma once

// Entries by which clients of the C ABI have compiled models written, and by which providers of libraries are told of it.

namespace tessera::c_abi {

inline constexpr const char* kWriteCompiled = "ep.context_enable";
inline constexpr const char* kCompiledPath = "ep.context_file_path";
inline constexpr const char* kEmbedCompiled = "ep.context_embed_mode";
inline constexpr const char* kCompiledWeights = "ep.context_model_external_initializers_file_name";

}  // namespace tessera::c_abi
