// SVMClassifier and SVMRegressor, ai.onnx.ml, version 1.

#include "base/checked.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ml/post_transform.h"
#include "cpu/ops/ops.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {
namespace {

enum class SvmKernel : int8_t { kLinear, kPoly, kRbf, kSigmoid };

SvmKernel ParseSvmKernel(const std::string& name) {
  if (name == "LINEAR") return SvmKernel::kLinear;
  if (name == "POLY") return SvmKernel::kPoly;
  if (name == "RBF") return SvmKernel::kRbf;
  if (name == "SIGMOID") return SvmKernel::kSigmoid;
  Fail(ErrorCode::kInvalidGraph, "kernel_type is '{}', one of LINEAR, POLY, RBF, SIGMOID is expected", name);
}

/// K(x, v) for rows of X and of a constant matrix V.
class KernelMatrix {
 public:
  KernelMatrix(const KernelInfo& info, std::vector<float> vectors, int64_t count, SvmKernel kernel)
      : kernel_(kernel), vectors_(std::move(vectors)), count_(count) {
    Require(count_ >= 1 && static_cast<int64_t>(vectors_.size()) % count_ == 0,
            "{} values are not a multiple of {} vectors", vectors_.size(), count_);
    features_ = static_cast<int64_t>(vectors_.size()) / count_;
    const auto parameters = info.attribute<std::vector<float>>("kernel_params", {});
    Require(parameters.empty() || parameters.size() >= 3, "kernel_params has {} elements, 3 are expected",
            parameters.size());
    if (!parameters.empty()) {
      gamma_ = parameters[0];
      coef0_ = parameters[1];
      degree_ = parameters[2];
    }
    if (kernel_ == SvmKernel::kRbf) {
      for (int64_t i = 0; i < count_; ++i) norms_.push_back(SquaredNorm(vectors_.data() + i * features_));
    }
  }

  int64_t count() const noexcept { return count_; }

  /// `out` is [rows, count()].
  void Compute(KernelContext& context, const float* x, const Rows& rows, float* out) const {
    Require(rows.features == features_, "X has {} features, the model {}", rows.features, features_);
    if (rows.count == 0) return;
    if (kernel_ == SvmKernel::kRbf && features_ <= 32) {
      // Few features: the distance itself is cheap and keeps all digits.
      context.threads().ParallelFor(rows.count, static_cast<double>(count_ * (features_ + 12)),
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t row = begin; row < end; ++row)
                                        Distances(x + row * features_, out + row * count_);
                                    });
      return;
    }
    GemmProblem<float> args;
    args.m = rows.count;
    args.n = count_;
    args.k = features_;
    args.lhs = {.data = x, .row = features_};
    args.rhs = {.data = vectors_.data(), .k = 1, .col = features_};
    args.out = {.data = out, .row = count_};
    Gemm(context.threads(), args, context.scratch<float>(GemmWorkspaceSize(args, context.threads().num_threads())).data());
    if (kernel_ == SvmKernel::kLinear) return;
    context.threads().ParallelFor(rows.count, static_cast<double>(count_ * 12), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Finish(x + row * features_, out + row * count_);
    });
  }

 private:
  float SquaredNorm(const float* vector) const {
    float sum = 0;
    for (int64_t f = 0; f < features_; ++f) sum += vector[f] * vector[f];
    return sum;
  }

  void Distances(const float* x, float* out) const {
    for (int64_t i = 0; i < count_; ++i) {
      const float* vector = vectors_.data() + i * features_;
      float sum = 0;
      for (int64_t f = 0; f < features_; ++f) sum += (x[f] - vector[f]) * (x[f] - vector[f]);
      out[i] = std::exp(-gamma_ * sum);
    }
  }

  void Finish(const float* x, float* out) const {
    switch (kernel_) {
      case SvmKernel::kLinear: return;
      case SvmKernel::kPoly:
        for (int64_t i = 0; i < count_; ++i) {
          const float base = gamma_ * out[i] + coef0_;
          out[i] = degree_ == 2 ? base * base : degree_ == 3 ? base * base * base : std::pow(base, degree_);
        }
        return;
      case SvmKernel::kSigmoid:
        for (int64_t i = 0; i < count_; ++i) out[i] = std::tanh(gamma_ * out[i] + coef0_);
        return;
      case SvmKernel::kRbf: {
        const float norm = SquaredNorm(x);
        for (int64_t i = 0; i < count_; ++i) {
          const float distance = norm + norms_[static_cast<size_t>(i)] - 2 * out[i];
          out[i] = std::exp(-gamma_ * (distance < 0 ? 0 : distance));
        }
        return;
      }
    }
  }

  SvmKernel kernel_;
  std::vector<float> vectors_;
  std::vector<float> norms_;
  int64_t count_;
  int64_t features_ = 0;
  float gamma_ = 0, coef0_ = 0, degree_ = 0;
};

float Dot(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return static_cast<float>(sum);
}

/// Couples pairwise probabilities (Wu, Lin and Weng, second approach). `r` is [k,k], `q` [k,k], `qp` [k] scratch.
void CoupleProbabilities(int64_t k, const float* r, float* q, float* qp, float* p) {
  for (int64_t t = 0; t < k; ++t) {
    p[t] = 1.0f / static_cast<float>(k);
    q[t * k + t] = 0;
    for (int64_t j = 0; j < t; ++j) {
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = q[j * k + t];
    }
    for (int64_t j = t + 1; j < k; ++j) {
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = -r[j * k + t] * r[t * k + j];
    }
  }
  const float eps = 0.005f / static_cast<float>(k);
  for (int64_t round = 0; round < std::max<int64_t>(100, k); ++round) {
    float pqp = 0;
    for (int64_t t = 0; t < k; ++t) {
      qp[t] = 0;
      for (int64_t j = 0; j < k; ++j) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    float worst = 0;
    for (int64_t t = 0; t < k; ++t) worst = std::max(worst, std::abs(qp[t] - pqp));
    if (worst < eps) break;
    for (int64_t t = 0; t < k; ++t) {
      const float diff = (pqp - qp[t]) / q[t * k + t];
      p[t] += diff;
      pqp = (pqp + diff * (diff * q[t * k + t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
      for (int64_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + diff * q[t * k + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
}

class SvmClassifier final : public Kernel {
 public:
  explicit SvmClassifier(const KernelInfo& info)
      : labels_(info, "classlabels_ints"),
        counts_(info.attribute<std::vector<int64_t>>("vectors_per_class", {})),
        coefficients_(info.attribute<std::vector<float>>("coefficients", {})),
        rho_(info.attribute<std::vector<float>>("rho", {})),
        prob_a_(info.attribute<std::vector<float>>("prob_a", {})),
        prob_b_(info.attribute<std::vector<float>>("prob_b", {})),
        transform_(ParsePostTransform(info.attribute<std::string>("post_transform", "NONE"))),
        classes_(static_cast<int64_t>(std::max<size_t>(labels_.size(), 1))),
        pairwise_(SumOfCounts() > 0),
        matrix_(MakeMatrix(info)) {
    Require(!coefficients_.empty(), "attribute 'coefficients' is required");
    Require(prob_a_.size() == prob_b_.size(), "prob_a has {} elements, prob_b {}", prob_a_.size(), prob_b_.size());
    if (pairwise_) {
      const int64_t pairs = Pairs();
      Require(static_cast<int64_t>(counts_.size()) == classes_, "vectors_per_class has {} entries, there are {} classes",
              counts_.size(), classes_);
      Require(static_cast<int64_t>(rho_.size()) >= pairs, "rho has {} elements, {} are expected", rho_.size(), pairs);
      Require(prob_a_.empty() || static_cast<int64_t>(prob_a_.size()) >= pairs, "prob_a has {} elements, {} are expected",
              prob_a_.size(), pairs);
      Require(static_cast<int64_t>(coefficients_.size()) >= CheckedMul(classes_ - 1, matrix_.count()),
              "there are {} coefficients, {} are expected", coefficients_.size(), (classes_ - 1) * matrix_.count());
    } else {
      Require(!rho_.empty(), "attribute 'rho' is required");
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    const int64_t raw = pairwise_ ? Pairs() : classes_;
    const bool two = pairwise_ && prob_a_.empty() && classes_ == 2;
    const int64_t width = two ? 2 : pairwise_ && prob_a_.empty() ? raw : classes_;
    Tensor* y = labels_.Output(context, rows.count);
    Tensor* z = context.output(1, ElementType::kFloat, Shape{rows.count, width});
    float* kernels = context.scratch<float>(static_cast<size_t>(CheckedMul(rows.count, matrix_.count()))).data();
    matrix_.Compute(context, ElementsAs<float>(context, x), rows, kernels);
    float* results =
        z != nullptr ? z->mutable_data<float>() : context.scratch<float>(static_cast<size_t>(rows.count * width)).data();
    context.threads().ParallelFor(
        rows.count, static_cast<double>(classes_ * matrix_.count() + 50),
        [&](int64_t begin, int64_t end) { ScoreRows(context, begin, end, kernels, y, results, width); });
  }

 private:
  int64_t Pairs() const noexcept { return classes_ * (classes_ - 1) / 2; }

  int64_t SumOfCounts() {
    int64_t sum = 0;
    for (const int64_t count : counts_) {
      Require(count >= 0, "vectors_per_class holds {}", count);
      starts_.push_back(sum);
      sum = CheckedAdd(sum, count);
    }
    return sum;
  }

  KernelMatrix MakeMatrix(const KernelInfo& info) {
    const SvmKernel kernel = ParseSvmKernel(info.attribute<std::string>("kernel_type", "LINEAR"));
    int64_t vectors = 0;
    for (const int64_t count : counts_) vectors += count;
    if (pairwise_) return {info, info.attribute<std::vector<float>>("support_vectors", {}), vectors, kernel};
    return {info, coefficients_, classes_, SvmKernel::kLinear};
  }

  void ScoreRows(KernelContext& context, int64_t begin, int64_t end, const float* kernels, Tensor* y, float* results,
                 int64_t width) const {
    const auto k = static_cast<size_t>(classes_);
    const std::span<float> scores = context.scratch<float>(pairwise_ ? static_cast<size_t>(Pairs()) : k);
    const std::span<float> votes = context.scratch<float>(k);
    const std::span<float> coupling = context.scratch<float>(prob_a_.empty() ? 0 : 2 * k * k + k);
    for (int64_t row = begin; row < end; ++row) {
      const float* of_row = kernels + row * matrix_.count();
      const std::span<float> result(results + row * width, static_cast<size_t>(width));
      if (pairwise_) {
        Vote(of_row, scores, votes);
        labels_.Set(y, row, static_cast<size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin()));
        if (!prob_a_.empty()) {
          Probabilities(scores, coupling, result);
          Transform(transform_, result);
        } else if (classes_ == 2) {
          const bool share = transform_ == PostTransform::kSoftmax || transform_ == PostTransform::kSoftmaxZero;
          TwoScores(transform_, share, scores[0], std::span<float, 2>(result.data(), 2));
        } else {
          std::copy(scores.begin(), scores.end(), result.begin());
          Transform(transform_, result);
        }
        continue;
      }
      for (size_t i = 0; i < k; ++i) result[i] = of_row[i] + rho_[0];
      labels_.Set(y, row, static_cast<size_t>(std::max_element(result.begin(), result.end()) - result.begin()));
      TransformRegression(transform_, result);
    }
  }

  void Vote(const float* kernels, std::span<float> scores, std::span<float> votes) const {
    std::fill(votes.begin(), votes.end(), 0.0f);
    size_t pair = 0;
    for (size_t i = 0; i < votes.size(); ++i) {
      for (size_t j = i + 1; j < votes.size(); ++j, ++pair) {
        const float* of_i = coefficients_.data() + (j - 1) * static_cast<size_t>(matrix_.count()) + starts_[i];
        const float* of_j = coefficients_.data() + i * static_cast<size_t>(matrix_.count()) + starts_[j];
        const float score =
            Dot(of_i, kernels + starts_[i], counts_[i]) + Dot(of_j, kernels + starts_[j], counts_[j]) + rho_[pair];
        scores[pair] = score;
        votes[score > 0 ? i : j] += 1;
      }
    }
  }

  void Probabilities(std::span<const float> scores, std::span<float> scratch, std::span<float> result) const {
    const auto k = static_cast<size_t>(classes_);
    float* r = scratch.data();
    size_t pair = 0;
    for (size_t i = 0; i < k; ++i) {
      r[i * k + i] = 0;
      for (size_t j = i + 1; j < k; ++j, ++pair) {
        const float share = std::clamp(1 - Logistic(scores[pair] * prob_a_[pair] + prob_b_[pair]), 1e-7f, 1 - 1e-7f);
        r[i * k + j] = share;
        r[j * k + i] = 1 - share;
      }
    }
    CoupleProbabilities(classes_, r, r + k * k, r + 2 * k * k, result.data());
  }

  ClassLabels labels_;
  std::vector<int64_t> counts_;
  std::vector<int64_t> starts_;
  std::vector<float> coefficients_, rho_, prob_a_, prob_b_;
  PostTransform transform_;
  int64_t classes_;
  bool pairwise_;
  KernelMatrix matrix_;
};

class SvmRegressor final : public Kernel {
 public:
  explicit SvmRegressor(const KernelInfo& info)
      : supports_(info.attribute<int64_t>("n_supports", 0)),
        coefficients_(info.attribute<std::vector<float>>("coefficients", {})),
        one_class_(info.attribute<int64_t>("one_class", 0) != 0),
        matrix_(MakeMatrix(info)) {
    ParsePostTransform(info.attribute<std::string>("post_transform", "NONE"));
    const auto rho = info.attribute<std::vector<float>>("rho", {});
    Require(!rho.empty(), "attribute 'rho' is required");
    rho_ = rho[0];
    Require(supports_ <= 0 || static_cast<int64_t>(coefficients_.size()) >= supports_,
            "{} coefficients for {} support vectors", coefficients_.size(), supports_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    Tensor* y = context.output(0, ElementType::kFloat, Shape{rows.count, 1});
    if (y == nullptr) return;
    float* scores = y->mutable_data<float>();
    const int64_t count = matrix_.count();
    float* kernels = context.scratch<float>(static_cast<size_t>(CheckedMul(rows.count, count))).data();
    matrix_.Compute(context, ElementsAs<float>(context, x), rows, kernels);
    for (int64_t row = 0; row < rows.count; ++row) {
      const float sum = (supports_ > 0 ? Dot(coefficients_.data(), kernels + row * count, count) : kernels[row]) + rho_;
      scores[row] = !one_class_ ? sum : sum > 0 ? 1.0f : -1.0f;
    }
  }

 private:
  KernelMatrix MakeMatrix(const KernelInfo& info) const {
    if (supports_ <= 0) return {info, coefficients_, 1, SvmKernel::kLinear};
    return {info, info.attribute<std::vector<float>>("support_vectors", {}), supports_,
            ParseSvmKernel(info.attribute<std::string>("kernel_type", "LINEAR"))};
  }

  int64_t supports_;
  std::vector<float> coefficients_;
  bool one_class_;
  KernelMatrix matrix_;
  float rho_ = 0;
};

}  // namespace

void RegisterSVMClassifier(KernelRegistry& registry) {
  registry.Add(Op("SVMClassifier", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<SvmClassifier>());
}

void RegisterSVMRegressor(KernelRegistry& registry) {
  registry.Add(Op("SVMRegressor", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<SvmRegressor>());
}

}  // namespace tessera::cpu
