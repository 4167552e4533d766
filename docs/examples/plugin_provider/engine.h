#pragma once

#include <string>
#include <vector>

#include "api.h"
#include "graph.h"

namespace teaching {

/// Stands in for your engine: it reads an ONNX model and computes it. Here it is the runtime itself, on its processor
/// provider; the rest of the library knows only what this header says.
class Engine {
 public:
  struct Result {
    TensorView tensor;
    Owned<OrtValue> memory;
  };

  Engine(const Api& api, const std::string& model, std::vector<std::string> inputs, std::vector<std::string> outputs);

  /// In the order of the names given above. Any number of threads may call it at once.
  std::vector<Result> Run(const std::vector<TensorView>& inputs) const;

 private:
  const Api api_;
  const std::vector<std::string> inputs_, outputs_;
  Owned<OrtEnv> environment_;  // goes last
  Owned<OrtMemoryInfo> memory_;
  Owned<OrtSession> session_;
};

}  // namespace teaching
