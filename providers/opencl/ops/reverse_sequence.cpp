// ReverseSequence (10). Lengths are checked on the host and sent from there.

#include "ops/movement/reverse_sequence.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

class ReverseSequence final : public Kernel {
 public:
  explicit ReverseSequence(const KernelInfo& info)
      : kernel_(DeviceOf(info), "slices", Moved('X', info.input_type(0)), "reverse_sequence"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& dims = x.shape();
    const auto lengths = attributes_.Lengths(dims, context.required_input(1));
    const Tensor& y = *context.output(0, dims);
    if (y.num_elements() == 0) return;
    const SentData sent(context, lengths.data(), lengths.size_bytes());
    kernel_.Linear(context, y.num_elements(), x, sent.range(), y, cl_long{dims[1]},
                   cl_long{dims.SizeOfRange(2, dims.rank())}, cl_int{attributes_.time_first});
  }

 private:
  Launchable kernel_;
  ReverseSequenceAttributes attributes_;
};

}  // namespace

void RegisterReverseSequence(KernelRegistry& registry) {
  registry.Add(Op("ReverseSequence").Versions(10).Types(0, kMovable).HostInput(1).Make<ReverseSequence>());
}

}  // namespace tessera::opencl
