#pragma once

// The step after a matmul of 8-bit quantized values: accumulators less what zero points add to them, as they are, as
// quantized values or as floats.

#include <optional>
#include <vector>

#include "onednn/program/program.h"

namespace tessera::onednn {

/// A matmul of uint8 by int8 as oneDNN gives it: `matrices` times [rows, depth] by [depth, columns].
struct OutputStageShape {
  int64_t matrices = 1, rows = 0, depth = 0, columns = 0;
};

/// A zero point that is read when the step runs: quantized values as the model has them, one or one a column.
struct ZeroPoint {
  bool is_signed = false;
  int64_t count = 1;
  /// What was added to the quantized values, and thus to the zero point, to make them the type that oneDNN multiplies.
  int32_t shift = 0;
};

/// Memories that a step reads and writes, by position; absent ones are -1.
struct OutputStageMemories {
  MemoryIndex accumulators = -1;
  MemoryIndex a = -1, b = -1;    // as oneDNN multiplies them, for sums of rows and columns
  MemoryIndex column_sums = -1;  // of b: a constant, or where the step puts them
  MemoryIndex a_zero = -1, b_zero = -1;
  MemoryIndex out = -1;                    // where it is not the accumulators
  MemoryIndex a_scale = -1, b_scale = -1;  // of floats
  MemoryIndex bias = -1;
};

class OutputStageStep final : public NativeStep {
 public:
  enum class Result : int8_t { kAccumulators, kUInt8, kInt8, kFloat };
  struct Settings {
    OutputStageShape shape;
    ZeroPoint a, b;
    bool adds_columns = false;  // whether column_sums are to be made from b
    Result result = Result::kAccumulators;
    std::vector<float> scales;  // of quantized values, one or one a column
    int32_t result_zero = 0;
    int64_t b_scales = 1;  // of floats
  };

  explicit OutputStageStep(Settings settings, const OutputStageMemories& memories);
  void Run(std::span<void* const> memories, ThreadPool& threads) const override;

  /// The memories that are there, in the order in which Run takes them.
  const std::vector<MemoryIndex>& arguments() const noexcept { return arguments_; }

 private:
  struct Pointers;
  Pointers Sort(std::span<void* const> memories) const;
  void AddColumns(const Pointers& p, ThreadPool& threads) const;
  void CorrectRow(const Pointers& p, int64_t row) const;
  void FinishRow(const Pointers& p, int64_t row) const;

  Settings settings_;
  std::vector<MemoryIndex> arguments_;
  std::vector<int> position_;  // of each member of OutputStageMemories among the arguments, or -1
};

/// Quantized values of the other signedness: each with its highest bit flipped.
class FlipSignStep final : public NativeStep {
 public:
  explicit FlipSignStep(int64_t count) : count_(count) {}
  /// From the first memory to the second.
  void Run(std::span<void* const> memories, ThreadPool& threads) const override;

 private:
  int64_t count_;
};

}  // namespace tessera::onednn
