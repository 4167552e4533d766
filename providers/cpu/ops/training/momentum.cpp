// Momentum of ai.onnx.preview.training (1).

#include <string>

#include "cpu/ops/training/optimizer.h"

namespace tessera::cpu {
namespace {

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

}  // namespace

void RegisterMomentum(KernelRegistry& registry) {
  registry.Add(Op("Momentum", "ai.onnx.preview.training").Make<Momentum>());
}

}  // namespace tessera::cpu
