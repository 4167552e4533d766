#pragma once

// What the fuzzers share. An Error is a good outcome; whatever else ends a call is found by the sanitizers or by libFuzzer.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "../hostile_value.h"
#include "tessera/session.h"

namespace tessera::fuzz {

/// How a session is made, by one byte each: mostly on the CPU provider, seldom on OpenCL, whose compiler is slow; with or
/// without rewrites, the arena and planned memory. Memory is limited, and buffers lie so that an access beyond them is
/// seen.
SessionOptions OptionsOf(uint8_t provider, uint8_t flags);

/// Calls the function and swallows an Error; true where there was none.
bool Tolerate(const std::function<void()>& call);

/// Calls it with options that end what takes longer than a second; false where that was necessary.
bool WithDeadline(const std::function<void(const RunOptions&)>& run);

/// A value of a declared type. Sizes that are not declared are small. Elements are hostile, or such as models expect;
/// nothing where the type says too little or the value would be large.
std::optional<Value> RandomValue(const TypeInfo& type, Random& random);

/// Runs the session on random inputs. False where the run had to be cancelled.
bool RunOnRandomInputs(const Session& session, Random& random);

/// The fuzzer's own folder for files, empty at its start.
const std::filesystem::path& ScratchFolder();

inline std::span<const std::byte> Bytes(std::span<const uint8_t> bytes) { return std::as_bytes(bytes); }

}  // namespace tessera::fuzz
