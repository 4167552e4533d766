#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/model.h"
#include "runtime/executor.h"
#include "runtime/resources.h"
#include "session/environment.h"
#include "tessera/session.h"

namespace tessera {

struct Session::State {
  std::shared_ptr<Environment::State> environment;
  SessionOptions options;
  Model model;
  SessionResources resources;
  PlacementReport placement;
  std::unique_ptr<Executor> executor;  // destroyed first

  std::vector<NamedType> inputs;
  std::vector<NamedType> outputs;
  std::vector<NamedType> overridable;
  std::vector<size_t> required;  // positions of `inputs` among the graph's inputs
  std::unordered_map<std::string, size_t> input_position;   // among the graph's inputs
  std::unordered_map<std::string, size_t> output_position;
  std::vector<size_t> all_outputs;  // 0, 1, ...

  /// One run: inputs by graph input position (null: not given), outputs wanted by position.
  struct Request {
    std::span<const Value* const> inputs;
    std::span<const size_t> wanted;
    std::span<Value> results;
  };
  void Run(const Request& request, const RunOptions& options);
};

}  // namespace tessera
