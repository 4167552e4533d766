#pragma once

// What RNN, GRU and LSTM share: attributes, shapes, the matmul with the inputs of all steps at once, and the loop over
// steps.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/rounding.h"
#include "cpu/types.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/rnn/recurrent.h"
#include "ops/rnn/recurrent.h"
#include "tessera/provider/function_ref.h"

namespace tessera::cpu {

/// Sizes of one run.
struct RecurrentSizes {
  int64_t steps, batch, input, hidden, directions;
};

/// One direction of one run, for some of the batch, at work.
template <class F>
struct RecurrentRun {
  ThreadPool* threads;
  RecurrentSizes sizes;  // batch: entries of this run
  int64_t direction;
  int64_t first;  // of them in the whole batch
  int64_t whole_batch;
  const int32_t* lengths;  // null: all steps
  const F* bias;           // [2 * gates, hidden]: of W, then of R; null: none
  const F* peepholes;      // null: none
  const void* const* packed_r;
  std::byte* state_workspace;  // StateWorkspace() for each entry: where matmuls round the state
  F* h;                        // [batch, hidden]
  F* c;                        // the same; null: the operator has none
  F* temp;                     // [2, batch, hidden]
  // Where this step's gates lie: rows of batch entries.
  F* gates;
  int64_t gates_row;
  int64_t step;

  bool active(int64_t b) const { return lengths == nullptr || step < lengths[b]; }
  double row_cost() const { return static_cast<double>(sizes.hidden) * 6; }
};

/// T is the element type; half types are computed in float.
template <class T>
class Recurrent : public Kernel {
 public:
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;

  void Compute(KernelContext& context) final;

 protected:
  /// `splits` are the numbers of gates in each separate matmul with R.
  Recurrent(const KernelInfo& info, std::vector<int64_t> splits, bool has_cell);

  /// Gates of the step hold X * W (and its share of the bias): adds what depends on the state and replaces the state.
  virtual void Step(RecurrentRun<F>& run) const = 0;
  /// True when R's bias of gate `g` goes with W's.
  virtual bool folds_bias(int64_t) const { return true; }

  /// out (+)= state * R's part transposed (+ bias).
  virtual void AddMatMul(const RecurrentRun<F>& run, size_t part, const F* state, F* out, int64_t out_row, bool accumulate,
                         const F* bias) const;
  /// gates[direction, position of X, gate] = X * W + bias, for all steps; X has numbers.
  virtual void InputMatMuls(KernelContext& context, const RecurrentSizes& sizes, const F* bias, F* gates) const;
  /// What AddMatMul finds in RecurrentRun::packed_r, [direction, part].
  virtual std::span<const void* const> StateWeights(KernelContext& context, const RecurrentSizes& sizes) const;
  /// Bytes, in whole lines of a cache where there are any.
  virtual size_t StateWorkspace(const RecurrentSizes& sizes) const;
  virtual int64_t HiddenOf(const Shape& r) const { return r[2]; }
  virtual void CheckWeights(const KernelContext& context, const RecurrentSizes& sizes) const;
  static void CheckInput(const KernelContext& context, size_t input, const char* name, ElementType type,
                         const Shape& expected);

  /// Of one direction, whose biases are at `bias`: what goes with W's. Empty: none.
  std::span<const F> InputBias(KernelContext& context, const RecurrentSizes& sizes, const F* bias) const;

  const RecurrentActivation& activation(int64_t direction, size_t i) const {
    return attributes_.ActivationsOf(direction)[i];
  }

  /// What InputMatMuls leaves where X has no numbers: the bias.
  void FillGates(KernelContext& context, const RecurrentSizes& sizes, const F* bias, F* gates) const;

  const RecurrentAttributes attributes_;
  int64_t gates_ = 0;
  int64_t directions_;
  F clip_;

 private:
  /// Panels of F, or of floats the narrowest that hold them; pairs of bfloat16 where operands are rounded.
  struct Packed {
    std::shared_ptr<const Tensor> panels;  // null: the weights are no constants
    std::vector<size_t> offsets;           // [direction, part], and the end
    PanelType type = PanelType::kWhole;

    size_t element_size() const { return panels == nullptr ? sizeof(F) : panels->byte_size() / offsets.back(); }
    const void* part(size_t i) const { return static_cast<const std::byte*>(panels->raw()) + offsets[i] * element_size(); }
  };

  RecurrentSizes Sizes(const KernelContext& context) const;
  void CheckShapes(const KernelContext& context, const RecurrentSizes& sizes) const;
  const F* Numbers(KernelContext& context, size_t input) const;
  std::vector<size_t> PanelOffsets(int64_t inner, std::span<const int64_t> splits) const;
  size_t PanelSize(int64_t inner, int64_t rows) const;
  std::span<const ElementType> PanelElements(size_t size) const;
  void Pack(ThreadPool& threads, const T* weights, int64_t inner, std::span<const int64_t> splits,
            std::span<const size_t> offsets, Tensor& packed) const;
  void PackPart(ThreadPool& threads, int64_t inner, int64_t rows, const T* weights, size_t offset, Tensor& packed) const;
  Packed PackConstant(const KernelInfo& info, size_t input, const std::string& key, std::span<const int64_t> splits) const;
  const BFloat16* RoundedInput(KernelContext& context, const RecurrentSizes& sizes, const F* x) const;
  /// Row of entry `b` in a tensor of states.
  int64_t StateRow(const RecurrentRun<F>& run, int64_t b) const {
    return batch_first_ ? (run.first + b) * directions_ + run.direction : run.direction * run.whole_batch + run.first + b;
  }
  /// Entries of the batch do not depend on each other: parts of it run side by side without meeting at every step, and so
  /// do two directions.
  void ForEachPart(ThreadPool& threads, const RecurrentSizes& s,
                   FunctionRef<void(int64_t direction, int64_t first, int64_t count)> run_part) const;
  int64_t BatchParts(const RecurrentSizes& sizes, int threads) const;
  void FillState(const RecurrentRun<F>& run, const F* initial, F* state) const;
  void RunDirection(RecurrentRun<F> run, F* gates, const F* initial_h, const F* initial_c, T* y, T* y_h, T* y_c) const;
  void StoreState(const RecurrentRun<F>& run, const F* state, T* out) const;

  std::vector<int64_t> splits_;
  bool has_cell_;
  bool reverse_ = false;
  bool batch_first_ = false;
  int64_t hidden_ = 0;  // 0: as R says
  const Rounding rounding_;
  const bool rounds_;  // both operands
  Packed packed_w_, packed_r_;
};

extern template class Recurrent<float>;
extern template class Recurrent<double>;
extern template class Recurrent<Float16>;
extern template class Recurrent<BFloat16>;

}  // namespace tessera::cpu
