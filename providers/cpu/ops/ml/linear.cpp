// LinearClassifier and LinearRegressor, ai.onnx.ml, version 1.

#include "base/checked.h"
#include "cpu/engine/arg_extreme.h"
#include "cpu/engine/softmax.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ml/post_transform.h"
#include "cpu/ops/ops.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {
namespace {

/// X * W' + b.
class LinearModel {
 public:
  LinearModel(const KernelInfo& info, int64_t targets)
      : coefficients_(info.attribute<std::vector<float>>("coefficients", {})),
        intercepts_(info.attribute<std::vector<float>>("intercepts", {})),
        targets_(targets) {
    Require(targets_ >= 1, "the model has {} targets, one at least is expected", targets_);
    Require(static_cast<int64_t>(coefficients_.size()) % targets_ == 0, "{} coefficients are not a multiple of {} targets",
            coefficients_.size(), targets_);
    Require(intercepts_.empty() || static_cast<int64_t>(intercepts_.size()) == targets_,
            "{} intercepts are given for {} targets", intercepts_.size(), targets_);
  }

  int64_t targets() const noexcept { return targets_; }

  void Compute(KernelContext& context, const Tensor& x, const Rows& rows, float* scores) const {
    // Some exporters leave more of them behind those that count; ONNX Runtime takes the first ones, too.
    Require(CheckedMul(rows.features, targets_) <= static_cast<int64_t>(coefficients_.size()),
            "X has {} features, the model has {} coefficients for {} targets", rows.features, coefficients_.size(),
            targets_);
    GemmProblem<float> args;
    args.m = rows.count;
    args.n = targets_;
    args.k = rows.features;
    args.lhs = {.data = ElementsAs<float>(context, x), .row = rows.features};
    args.rhs = {.data = coefficients_.data(), .k = 1, .col = rows.features};
    args.out = {.data = scores, .row = targets_};
    args.epilogue.bias = intercepts_.empty() ? nullptr : intercepts_.data();
    if (args.m == 0) return;
    Gemm(context.threads(), args, context.scratch<float>(GemmWorkspaceSize(args, context.threads().num_threads())).data());
  }

 private:
  std::vector<float> coefficients_;  // [targets, features] at least
  std::vector<float> intercepts_;
  int64_t targets_;
};

class LinearClassifier final : public Kernel {
 public:
  explicit LinearClassifier(const KernelInfo& info)
      : labels_(info, "classlabels_ints"),
        model_(info, Targets(info, labels_)),
        transform_(ParsePostTransform(info.attribute<std::string>("post_transform", "NONE"))) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    const int64_t targets = model_.targets();
    const bool two = targets == 1 && labels_.size() == 2;
    Tensor* y = labels_.Output(context, rows.count);
    Tensor* z = context.output(1, ElementType::kFloat, Shape{rows.count, two ? 2 : targets});
    float* scores = z != nullptr && !two ? z->mutable_data<float>()
                                         : context.scratch<float>(static_cast<size_t>(rows.count * targets)).data();
    model_.Compute(context, x, rows, scores);
    if (targets > 1) return Choose(context, rows.count, scores, y, z);
    PacedCancellationPoint look(20);
    for (int64_t row = 0; row < rows.count; ++row) {
      look.Pass();
      const std::span<float> of_row(scores + row, 1);
      if (two) {
        labels_.Set(y, row, of_row[0] > 0 ? 1 : 0);
      } else {
        labels_.SetSign(y, row, of_row[0] > 0);
      }
      if (z == nullptr) continue;
      if (two) {
        // Without LOGISTIC the score counts as the positive class's share.
        TwoScores(transform_, transform_ != PostTransform::kLogistic, of_row[0],
                  std::span<float, 2>(z->mutable_data<float>() + 2 * row, 2));
      } else {
        Transform(transform_, of_row);
      }
    }
  }

 private:
  /// The label of the highest score; z, where asked for, holds the scores.
  void Choose(KernelContext& context, int64_t rows, float* scores, Tensor* y, Tensor* z) const {
    const AxisView view(rows, model_.targets(), 1);
    if (y != nullptr && rows > 0) {
      const auto best = context.scratch<int64_t>(static_cast<size_t>(rows));
      ArgExtreme<float>(context, view, scores, false, false, best.data());
      PacedCancellationPoint look(20);
      for (int64_t row = 0; row < rows; ++row) {
        look.Pass();
        labels_.Set(y, row, static_cast<size_t>(best[static_cast<size_t>(row)]));
      }
    }
    if (z == nullptr || transform_ == PostTransform::kNone) return;
    if (transform_ == PostTransform::kSoftmax) return SoftmaxAlong(context, view, scores, scores, false);
    PacedCancellationPoint look(20);
    for (int64_t row = 0; row < rows; ++row) {
      look.Pass(view.count);
      Transform(transform_, std::span(scores + row * view.count, static_cast<size_t>(view.count)));
    }
  }

  static int64_t Targets(const KernelInfo& info, const ClassLabels& labels) {
    const size_t intercepts = info.attribute<std::vector<float>>("intercepts", {}).size();
    return static_cast<int64_t>(intercepts > 0 ? intercepts : std::max<size_t>(labels.size(), 1));
  }

  ClassLabels labels_;
  LinearModel model_;
  PostTransform transform_;
};

class LinearRegressor final : public Kernel {
 public:
  explicit LinearRegressor(const KernelInfo& info)
      : model_(info, info.attribute<int64_t>("targets", 1)),
        transform_(ParsePostTransform(info.attribute<std::string>("post_transform", "NONE"))) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    const int64_t targets = model_.targets();
    Tensor* y = context.output(0, ElementType::kFloat, Shape{rows.count, targets});
    if (y == nullptr) return;
    float* scores = y->mutable_data<float>();
    model_.Compute(context, x, rows, scores);
    if (transform_ == PostTransform::kNone) return;
    PacedCancellationPoint look(20);
    for (int64_t row = 0; row < rows.count; ++row) {
      look.Pass(targets);
      TransformRegression(transform_, std::span(scores + row * targets, static_cast<size_t>(targets)));
    }
  }

 private:
  LinearModel model_;
  PostTransform transform_;
};

}  // namespace

void RegisterLinearClassifier(KernelRegistry& registry) {
  registry.Add(Op("LinearClassifier", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<LinearClassifier>());
}

void RegisterLinearRegressor(KernelRegistry& registry) {
  registry.Add(Op("LinearRegressor", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<LinearRegressor>());
}

}  // namespace tessera::cpu
