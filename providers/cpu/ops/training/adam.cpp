// Adam of ai.onnx.preview.training (1).

#include <cmath>

#include "cpu/ops/training/optimizer.h"

namespace tessera::cpu {
namespace {

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

}  // namespace

void RegisterAdam(KernelRegistry& registry) { registry.Add(Op("Adam", "ai.onnx.preview.training").Make<Adam>()); }

}  // namespace tessera::cpu
