#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/load_limits.h"
#include "base/seeded_hash.h"

namespace tessera {

/// A serialized ModelProto without the raw_data of its large tensors and the large lists of its attributes, and where they
/// lie.
struct StrippedModel {
  std::string message;
  /// By a key that took the data's place. raw_data of a stripped tensor is kStrippedMark followed by its number; an
  /// attribute without its list has a tensor of such raw_data, and the key leads to the attribute's whole message.
  StringMap<std::span<const std::byte>> data;
};

inline constexpr std::string_view kStrippedMark = "\x01tessera raw data ";

/// Walks the wire format down to every TensorProto and AttributeProto, so that the parser never sees, nor copies, what is
/// large. Damaged input is passed on for the parser to refuse. Throws Error where the load is stopped.
StrippedModel StripLargeData(std::span<const std::byte> model, const LoadLimits& limits);

}  // namespace tessera
