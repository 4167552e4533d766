#pragma once

// The files input_K.pb and output_K.pb of ONNX's test data.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/session.h"

namespace tessera {

struct NamedValues {
  std::vector<std::string> names;
  std::vector<Value> values;
};

/// Reads FOLDER/ROLE_K.pb for K = 0, 1, .... A file whose message names one of `declared` or `more` is that one's; any
/// other is the K-th of `declared` and then of `more`. Gives those that there are, in the order declared. Throws Error.
NamedValues ReadDataSet(const std::filesystem::path& folder, std::string_view role, std::span<const NamedType> declared,
                        std::span<const NamedType> more = {});

}  // namespace tessera
