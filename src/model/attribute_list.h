#pragma once

// Lists of attributes, read from where they lie in a model's file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The elements of field `number` of a serialized message, packed or not. T is float, int64_t or std::string.
template <class T>
std::vector<T> ReadList(std::span<const std::byte> message, uint32_t number);

extern template std::vector<float> ReadList(std::span<const std::byte>, uint32_t);
extern template std::vector<int64_t> ReadList(std::span<const std::byte>, uint32_t);
extern template std::vector<std::string> ReadList(std::span<const std::byte>, uint32_t);

}  // namespace tessera
