#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

class ThreadPool;

/// Finds damage, not forgery: any change inside one word changes it. About as fast as memory.
uint64_t Checksum(std::span<const std::byte> bytes) noexcept;

/// Of each part of kChecksumPart bytes (the last may be shorter), in parallel.
inline constexpr size_t kChecksumPart = size_t{1} << 20;
std::vector<uint64_t> PartChecksums(std::span<const std::byte> bytes, ThreadPool& threads);

}  // namespace tessera
