#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

class ThreadPool;

/// XXH3 of 64 bits, which finds damage, not forgery, and stays as it is from version to version. About as fast as memory.
uint64_t Checksum(std::span<const std::byte> bytes) noexcept;

/// Of each part of kChecksumPart bytes (the last may be shorter), in parallel.
inline constexpr size_t kChecksumPart = size_t{1} << 20;
std::vector<uint64_t> PartChecksums(std::span<const std::byte> bytes, ThreadPool& threads);

}  // namespace tessera
