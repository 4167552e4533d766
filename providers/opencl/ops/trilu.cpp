// Trilu (14).

#include "ops/movement/trilu.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Trilu final : public Kernel {
 public:
  explicit Trilu(const KernelInfo& info)
      : kernel_(DeviceOf(info), "trilu", Moved('X', info.input_type(0)), "triangle"),
        upper_(TriluAttributes(info.node()).upper) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto [rows, columns, k] = TriluAttributes::Diagonal(x.shape(), context.input(1));
    Tensor& y = *context.output(0, x.shape());
    kernel_.Linear(context, y.num_elements(), x, y, cl_long{rows}, cl_long{columns}, cl_long{k},
                   static_cast<cl_int>(upper_));
  }

 private:
  Launchable kernel_;
  bool upper_;
};

}  // namespace

void RegisterTrilu(KernelRegistry& registry) {
  registry.Add(Op("Trilu").Versions(14).Types(0, kMovable).HostInput(1).Make<Trilu>());
}

}  // namespace tessera::opencl
