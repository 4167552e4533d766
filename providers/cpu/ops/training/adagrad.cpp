// Adagrad of ai.onnx.preview.training (1).

#include <cmath>

#include "cpu/ops/training/optimizer.h"

namespace tessera::cpu {
namespace {

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

}  // namespace

void RegisterAdagrad(KernelRegistry& registry) { registry.Add(Op("Adagrad", "ai.onnx.preview.training").Make<Adagrad>()); }

}  // namespace tessera::cpu
