#pragma once

#include <cstddef>
#include <cstdint>

/// Of libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace tessera::fuzz {

/// A serialized protobuf message with one change in its structure: a field removed, repeated, moved, given another number
/// or other content, at any depth; lengths around it are made to fit. Bytes that are no message are changed as bytes.
/// Returns the new size.
size_t MutateWire(uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace tessera::fuzz
