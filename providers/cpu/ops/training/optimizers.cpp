// Adagrad, Adam, Momentum of ai.onnx.preview.training (1): one step of gradient descent for any number of tensors. Inputs
// are R (learning rate), T (update count), then the tensors, their gradients and their states, each list in turn.

#include <cmath>

#include "base/check.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

using OptimizedTypes = TypeList<float, double>;

double Rate(const Tensor& tensor) {
  Require(tensor.num_elements() == 1, "the learning rate is {}, expected one number", tensor.shape());
  double rate = 0;
  VisitType(OptimizedTypes{}, tensor.type(), [&]<class T>() { rate = static_cast<double>(tensor.data<T>()[0]); });
  return rate;
}

int64_t UpdateCount(const Tensor& tensor) {
  Require(tensor.num_elements() == 1 && tensor.is(ElementType::kInt64), "the update count is {} {}, expected one int64",
          ElementTypeName(tensor.type()), tensor.shape());
  return tensor.data<int64_t>()[0];
}

/// Runs `step(x, g, states...)` over every element of every optimized tensor. States: 1 or 2.
template <size_t States, class Step>
void ForEachElement(KernelContext& context, Step step) {
  constexpr size_t kLists = 2 + States;
  Require(context.num_inputs() > 2 && (context.num_inputs() - 2) % kLists == 0,
          "{} inputs are not R, T and {} lists of equal length", context.num_inputs(), kLists);
  const size_t count = (context.num_inputs() - 2) / kLists;
  for (size_t i = 0; i < count; ++i) {
    const Tensor* in[kLists];
    for (size_t list = 0; list < kLists; ++list) {
      in[list] = &context.required_input(2 + list * count + i);
      Require(in[list]->shape() == in[0]->shape() && in[list]->type() == in[0]->type(),
              "tensor {} is {}, its gradient or state {}", i, in[0]->shape(), in[list]->shape());
    }
    Tensor* out[1 + States];
    for (size_t list = 0; list < 1 + States; ++list) out[list] = context.output(list * count + i, in[0]->shape());
    VisitType(OptimizedTypes{}, in[0]->type(), [&]<class T>() {
      constexpr double kCostNs = 3;
      context.threads().ParallelFor(in[0]->num_elements(), kCostNs, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          T x = in[0]->template data<T>()[j], state[States];
          for (size_t s = 0; s < States; ++s) state[s] = in[2 + s]->template data<T>()[j];
          step(x, in[1]->template data<T>()[j], state);
          if (out[0] != nullptr) out[0]->template mutable_data<T>()[j] = x;
          for (size_t s = 0; s < States; ++s) {
            if (out[1 + s] != nullptr) out[1 + s]->template mutable_data<T>()[j] = state[s];
          }
        }
      });
    });
  }
}

class Adagrad final : public Kernel {
 public:
  explicit Adagrad(const KernelInfo& info)
      : decay_(info.attribute<float>("decay_factor", 0.0f)),
        epsilon_(info.attribute<float>("epsilon", 1e-6f)),
        norm_(info.attribute<float>("norm_coefficient", 0.0f)) {}

  void Compute(KernelContext& context) override {
    const double rate =
        Rate(context.required_input(0)) / (1.0 + static_cast<double>(UpdateCount(context.required_input(1))) * decay_);
    ForEachElement<1>(context, [&]<class T>(T& x, T g, T(&state)[1]) {
      const T regularized = static_cast<T>(norm_) * x + g;
      state[0] += regularized * regularized;
      x -= static_cast<T>(rate) * regularized / (std::sqrt(state[0]) + static_cast<T>(epsilon_));
    });
  }

 private:
  float decay_, epsilon_, norm_;
};

class Adam final : public Kernel {
 public:
  explicit Adam(const KernelInfo& info)
      : alpha_(info.attribute<float>("alpha", 0.9f)),
        beta_(info.attribute<float>("beta", 0.999f)),
        epsilon_(info.attribute<float>("epsilon", 1e-6f)),
        norm_(info.attribute<float>("norm_coefficient", 0.0f)),
        norm_post_(info.attribute<float>("norm_coefficient_post", 0.0f)) {}

  void Compute(KernelContext& context) override {
    double rate = Rate(context.required_input(0));
    const auto updates = static_cast<double>(UpdateCount(context.required_input(1)));
    if (updates > 0) {
      rate *= std::sqrt(1.0 - std::pow(static_cast<double>(beta_), updates)) /
              (1.0 - std::pow(static_cast<double>(alpha_), updates));
    }
    ForEachElement<2>(context, [&]<class T>(T& x, T g, T(&state)[2]) {
      const T regularized = static_cast<T>(norm_) * x + g;
      state[0] = static_cast<T>(alpha_) * state[0] + static_cast<T>(1.0f - alpha_) * regularized;
      state[1] = static_cast<T>(beta_) * state[1] + static_cast<T>(1.0f - beta_) * (regularized * regularized);
      x -= static_cast<T>(rate) * (state[0] / (std::sqrt(state[1]) + static_cast<T>(epsilon_)));
      x *= static_cast<T>(1.0f - norm_post_);
    });
  }

 private:
  float alpha_, beta_, epsilon_, norm_, norm_post_;
};

class Momentum final : public Kernel {
 public:
  explicit Momentum(const KernelInfo& info)
      : alpha_(info.attribute<float>("alpha")),
        beta_(info.attribute<float>("beta")),
        norm_(info.attribute<float>("norm_coefficient")),
        nesterov_(info.attribute<std::string>("mode") == "nesterov") {}

  void Compute(KernelContext& context) override {
    const double rate = Rate(context.required_input(0));
    // The gradient's coefficient is 1 in the first step.
    const float beta = UpdateCount(context.required_input(1)) > 0 ? beta_ : 1.0f;
    ForEachElement<1>(context, [&]<class T>(T& x, T g, T(&state)[1]) {
      const T regularized = static_cast<T>(norm_) * x + g;
      state[0] = static_cast<T>(alpha_) * state[0] + static_cast<T>(beta) * regularized;
      x -= static_cast<T>(rate) * (nesterov_ ? regularized + static_cast<T>(alpha_) * state[0] : state[0]);
    });
  }

 private:
  float alpha_, beta_, norm_;
  bool nesterov_;
};

constexpr const char* kDomain = "ai.onnx.preview.training";

}  // namespace

void RegisterOptimizers(KernelRegistry& registry) {
  registry.Add(Op("Adagrad", kDomain).Make<Adagrad>());
  registry.Add(Op("Adam", kDomain).Make<Adam>());
  registry.Add(Op("Momentum", kDomain).Make<Momentum>());
}

}  // namespace tessera::cpu
