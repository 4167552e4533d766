// CumSum (11, 14), CumProd (26).

#include "ops/reduction/cum_sum.h"
#include "opencl/ops/lines.h"

namespace tessera::opencl {
namespace {

class Cumulate final : public Kernel {
 public:
  explicit Cumulate(const KernelInfo& info)
      : kernel_(DeviceOf(info), "cum_sum", LineDefines(info), "cumulate"),
        totals_(OfSlices(info, "cum_sum", "total_slices")),
        scan_(OfSlices(info, "cum_sum", "scan_totals")),
        slices_(OfSlices(info, "cum_sum", "cumulate_slices")),
        product_(info.node().op_type == "CumProd"),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view = CumSumAttributes::View(x.shape(), context.required_input(1));
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const cl_int exclusive{attributes_.exclusive}, reverse{attributes_.reverse};
    if (LineSlices::Pay(view)) {
      const LineSlices of(view);
      const DeviceScratch sums(context, LineSlices::Bytes(of.parts));
      totals_.Compile().Linear(context, of.parts, x, sums.range(), of.count, of.stride, of.slices, of.length, product_);
      scan_.Compile().Linear(context, of.lines, sums.range(), of.slices, product_, reverse);
      slices_.Compile().Linear(context, of.parts, x, sums.range(), y, of.count, of.stride, of.slices, of.length, product_,
                               exclusive, reverse);
      return;
    }
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner}, product_, exclusive,
                   reverse);
  }

 private:
  Launchable kernel_;
  LazyLaunchable totals_, scan_, slices_;
  cl_int product_;
  CumSumAttributes attributes_;
};

}  // namespace

void RegisterCumSum(KernelRegistry& registry) {
  constexpr TypeSet kSums =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("CumSum").Versions(11).Types(0, kSums).HostInput(1).Make<Cumulate>());
  registry.Add(Op("CumProd").Versions(26).Types(0, kSums).HostInput(1).Make<Cumulate>());
}

}  // namespace tessera::opencl
