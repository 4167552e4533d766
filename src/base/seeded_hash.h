#pragma once

// Hashes of what a model or a caller chooses: names, strings, contents of tensors. std::hash has a fixed seed, so that a
// stranger can write a model whose names all fall into one bucket; the seed of these differs in each process.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tessera/export.h"

namespace tessera {

/// Equal for equal bytes, within one process. `state`: a hash of what goes before.
TESSERA_API uint64_t SeededHash(const void* bytes, size_t size, uint64_t state = 0) noexcept;

inline uint64_t SeededHash(std::string_view text, uint64_t state = 0) noexcept {
  return SeededHash(text.data(), text.size(), state);
}

/// Of a number, after others.
inline uint64_t SeededHash(uint64_t number, uint64_t state) noexcept { return SeededHash(&number, sizeof(number), state); }

/// For the standard's containers; strings are found by views.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept { return SeededHash(text); }
};

template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;
/// The same of strings that live elsewhere.
template <class T>
using StringViewMap = std::unordered_map<std::string_view, T, StringHash, std::equal_to<>>;
using StringSet = std::unordered_set<std::string, StringHash, std::equal_to<>>;
using StringViewSet = std::unordered_set<std::string_view, StringHash, std::equal_to<>>;

}  // namespace tessera
