#pragma once

// One rewrite on a model made in the test: what nodes are there afterwards, and whether the results are the same.

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "model_builder.h"
#include "optimizer/optimizer.h"

namespace tessera::testing {

class Rewriting {
 public:
  /// Runs the named passes of the optimizer (all of them without names) on the model, for a session of this precision.
  explicit Rewriting(const ModelBuilder& model, std::vector<std::string> passes, Precision precision = Precision::kFloat32);

  /// "Relu Add": operators in execution order; nested graphs in parentheses behind their node.
  const std::string& before() const noexcept { return before_; }
  const std::string& after() const noexcept { return after_; }
  const OptimizationReport& report() const noexcept { return report_; }
  const Graph& graph() const noexcept { return *model_.graph; }

  /// Results for some inputs made up from `seed`, and what differs between the model and the rewritten one; "" when nothing
  /// does. Symbolic dimensions are `size`. Tolerances are for float rounding where `rounding`, else results are the same
  /// bits.
  std::string Difference(int seed = 1, int64_t size = 3, bool rounding = false) const;
  /// The same for these inputs.
  std::string Difference(const std::vector<Value>& inputs, bool rounding = false) const;

 private:
  std::string original_;  // serialized
  /// As a context has it: no model file may hold what the optimizer keeps to itself.
  std::vector<std::byte> rewritten_;
  std::vector<Tensor> tensors_;
  std::string before_, after_;
  Model model_;
  OptimizationReport report_;
};

/// Weights that differ from each other, around `first`.
std::vector<float> Numbers(size_t count, float first = 0.5f);

/// Adds a Transpose.
void Transpose(ModelBuilder& model, const std::string& from, const std::string& to, const std::vector<int64_t>& perm);

/// Tensors with values in [-2, 2) (integers 0 to 4) for each input.
std::vector<Value> MakeInputs(const Session& session, int seed, int64_t size);

/// What a model gives for its only input at a level of optimization on the CPU provider, and the operators that are left
/// there.
struct LevelResults {
  std::vector<Value> values;
  std::multiset<std::string> operators;
};
LevelResults RunAt(const ModelBuilder& model, OptimizationLevel level, const Tensor& x, size_t outputs);

}  // namespace tessera::testing
