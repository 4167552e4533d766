#pragma once

// Models of any size, each of one shape that a stranger may choose: what grows is the number of nodes, of values, of
// readers of one value, of inputs of one node, and so on.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/session.h"

namespace tessera::scaling {

/// A model and what its runs are given.
struct Case {
  std::string model;  // serialized
  std::vector<std::string> names;
  std::vector<Value> inputs;
};

struct Kind {
  const char* name;
  Case (*make)(int n);
  int most = 1 << 20;         // larger ones would measure the arithmetic
  const char* provider = "";  // besides CPU
  std::map<std::string, std::string> provider_options = {};
};

/// Chains, fans and whatever else one graph is made of.
const std::vector<Kind>& FlatKinds();
/// Nested graphs, functions, sequences, strings, the border of a model.
const std::vector<Kind>& OtherKinds();

}  // namespace tessera::scaling
