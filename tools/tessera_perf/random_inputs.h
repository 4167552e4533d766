#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/session.h"

namespace tessera::perf {

/// Seeded values for every input of a session: floats in [-1, 1), integers in [0, 2) (valid as masks, token types and most
/// indices), strings "a". Unknown dimensions take `dims[symbol]`, else 1. Throws Error for inputs that are not tensors and
/// for names that no input's dimension has. `ones`, where given, gets the dimensions that became 1.
std::vector<Value> RandomInputs(const Session& session, const std::map<std::string, int64_t>& dims,
                                std::vector<std::string>* ones = nullptr, uint32_t seed = 0);

}  // namespace tessera::perf
