#pragma once

// What tests of loading share.

#include <string>
#include <vector>

#include "error_of.h"
#include "model_builder.h"

namespace tessera::testing {

inline SessionOptions OnCpu() {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = 1;
  return options;
}

inline std::string LoadError(const ModelBuilder& model) {
  return ErrorOf([&] { model.Session(OnCpu()); });
}

inline std::vector<float> RunOnce(const Session& session, std::vector<Value> inputs) {
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return ToVector(results[0]);
}

}  // namespace tessera::testing
