#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

namespace tessera {

/// A serialized ModelProto without the raw_data of its large tensors, and where that data lies.
struct StrippedModel {
  std::string message;
  /// By a key that took the data's place: raw_data of a stripped tensor is kStrippedMark followed by its number.
  std::unordered_map<std::string, std::span<const std::byte>> raw_data;
};

inline constexpr std::string_view kStrippedMark = "\x01tessera raw data ";

/// Walks the wire format down to every TensorProto (encoding: protobuf.dev/programming-guides/encoding), so that the parser
/// never sees, nor copies, weights of `threshold` bytes or more. Damaged input is passed on for the parser to refuse.
StrippedModel StripRawData(std::span<const std::byte> model, size_t threshold = 1024);

}  // namespace tessera
