#pragma once

// Runs of operators that scale and shift each channel by constants: BatchNormalization, and Add, Sub, Mul, Div of a vector.

#include <memory>
#include <string>
#include <vector>

#include "onednn/program/program.h"
#include "tessera/provider/graph.h"

namespace tessera::onednn {

/// y = scale * x + shift in each channel, as the nodes that say so. The weights that they scale are made only when nothing
/// holds them yet.
class ChannelAffine {
 public:
  /// Takes up `node`, which reads `x` of these dimensions, when it is such an operator; leaves everything as it was
  /// otherwise.
  bool Append(const GraphViewer& graph, const Node& node, ValueIndex x, const Dims& dims);

  bool empty() const noexcept { return steps_.empty(); }

  /// One scale and one shift a channel.
  struct Numbers {
    std::vector<double> scale, shift;
  };
  Numbers Compute(int64_t channels) const;

  /// Equal for equal results while `sources` live.
  std::string Key() const;
  std::vector<Tensor> sources() const;

 private:
  enum class Kind : uint8_t { kBatchNorm, kAdd, kSub, kSubFrom, kMul, kDiv };
  struct Step {
    Kind kind;
    float epsilon = 0;
    std::vector<Tensor> constants;
  };
  /// Takes up a step unless it makes numbers that are absurdly large.
  bool Keep(Step step, int64_t channels);

  std::vector<Step> steps_;
};

}  // namespace tessera::onednn
