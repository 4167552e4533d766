// ArgMax, ArgMin (1-13).

#include "ops/reduction/arg_max.h"
#include "opencl/ops/arg_of_long_lines.h"

namespace tessera::opencl {
namespace {

class ArgExtreme final : public Kernel {
 public:
  explicit ArgExtreme(const KernelInfo& info)
      : kernel_(DeviceOf(info), "arg_max", LineDefines(info), "arg"),
        long_lines_(info),
        attributes_(info.node()),
        smallest_(info.node().op_type == "ArgMin") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, attributes_.ResultShape(x.shape()));
    const AxisView view(x.shape(), NormalizeAxis(attributes_.axis, x.shape().rank()));
    if (y.num_elements() > 0 && LineSlices::Pay(view))
      return long_lines_.Run(context, LineSlices(view), x, y, smallest_, cl_int{attributes_.select_last_index});
    kernel_.Linear(context, y.num_elements(), x, y, cl_long{view.count}, cl_long{view.inner}, smallest_,
                   cl_int{attributes_.select_last_index});
  }

 private:
  Launchable kernel_;
  ArgOfLongLines long_lines_;
  ArgMaxAttributes attributes_;
  cl_int smallest_;
};

}  // namespace

void RegisterArgMax(KernelRegistry& registry) {
  for (const char* op : {"ArgMax", "ArgMin"}) registry.Add(Op(op).Versions(1).Types(0, kNumbers).Make<ArgExtreme>());
}

}  // namespace tessera::opencl
