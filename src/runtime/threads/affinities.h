#pragma once

#include <string_view>
#include <vector>

namespace tessera {

/// Processors, numbered from 0 as the system does.
using Processors = std::vector<int>;

/// Those of each thread, from text that numbers them from 1: "1,2;5-8" for two threads. Throws Error for what is no number,
/// no range, or not a number that processors have.
std::vector<Processors> ParseAffinities(std::string_view text);

/// The same for a pool of so many threads beside the caller's, none where the text is empty. Throws Error naming the
/// option.
std::vector<Processors> AffinitiesOf(std::string_view option, std::string_view text, size_t threads);

/// The calling thread runs on these alone. Where the system has none of them or does not let it, it runs where it did.
void StayOn(const Processors& processors) noexcept;

}  // namespace tessera
