#pragma once

// Telling files apart whose sizes and times are equal, as those of reproducible archives are.

#include <cstddef>
#include <filesystem>
#include <string>

namespace tessera {

/// How much of a file tells it from others: all of a file that is no larger than `whole`; else its first and last `edge`
/// bytes, and `samples` pages evenly spread between these.
struct Sampling {
  size_t whole;
  size_t edge;
  size_t samples;
};

/// Less than a few milliseconds for a file of any size; the graph of a model stands before its weights.
inline constexpr Sampling kSamplingOfModel{.whole = size_t{8} << 20, .edge = size_t{4} << 20, .samples = 256};
/// For files of which there may be hundreds.
inline constexpr Sampling kSamplingOfWeights{.whole = size_t{1} << 18, .edge = size_t{1} << 16, .samples = 32};

/// FileStamp and a checksum of what is looked at; FileStamp alone where the file cannot be read, empty where there is none.
std::string ContentStamp(const std::filesystem::path& file, const Sampling& sampling);

}  // namespace tessera
