// EyeLike (9, 22).

#include "ops/movement/eye_like.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class EyeLike final : public Kernel {
 public:
  explicit EyeLike(const KernelInfo& info)
      : kernel_(DeviceOf(info), "eye_like", Computed('X', info.output_type(0)), "diagonal"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const DiagonalOfMatrix diagonal = attributes_.Diagonal(dims);
    Tensor& y = *context.output(0, dims);
    kernel_.Linear(context, y.num_elements(), y, cl_long{diagonal.columns}, cl_long{diagonal.k});
  }

 private:
  Launchable kernel_;
  EyeLikeAttributes attributes_;
};

}  // namespace

void RegisterEyeLike(KernelRegistry& registry) {
  constexpr TypeSet kMade = kNumbers | TypeSet{ElementType::kBool};
  registry.Add(Op("EyeLike").Versions(9).OutputTypes(0, kMade).Make<EyeLike>());
}

}  // namespace tessera::opencl
