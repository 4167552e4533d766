// Operators along one axis, a work item for each line, or for each slice of a long one: ArgMax, ArgMin (1-13), Hardmax
// (1-13), CumSum (11, 14), CumProd (26), LpNormalization (1, 22).

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "ops/normalization/lp_normalization.h"
#include "ops/normalization/softmax.h"
#include "ops/reduction/arg_max.h"
#include "ops/reduction/cum_sum.h"

namespace tessera::opencl {
namespace {

/// A kernel of the file, compiled when the first long line comes.
LazyLaunchable OfSlices(const KernelInfo& info, const char* name) {
  return {DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), name};
}

/// How lines are divided: into about as many slices as a slice has elements, so that to join them takes no longer.
struct LineSlices {
  static constexpr int64_t kShortest = 4096;
  static bool Pay(const AxisView& view) { return view.count >= 4 * kShortest; }

  explicit LineSlices(const AxisView& view)
      : lines(view.outer * view.inner),
        count(view.count),
        stride(view.inner),
        length(std::max(kShortest, CeilDiv(view.count, kShortest))),
        slices(CeilDiv(view.count, length)),
        parts(CheckedMul(lines, slices)) {}

  /// Room on the device for numbers of 8 bytes.
  static size_t Bytes(int64_t numbers) { return static_cast<size_t>(CheckedMul(numbers, int64_t{8})); }

  int64_t lines;
  cl_long count, stride, length, slices;
  int64_t parts;
};

/// The position of each line's largest or smallest element.
class ArgOfLongLines {
 public:
  explicit ArgOfLongLines(const KernelInfo& info)
      : slices_(OfSlices(info, "arg_slices")), join_(OfSlices(info, "arg_join")) {}

  template <class Result>
  void Run(KernelContext& context, const LineSlices& of, const Tensor& x, const Result& y, cl_int smallest, cl_int last) {
    const DeviceScratch best(context, LineSlices::Bytes(of.parts)), at(context, LineSlices::Bytes(of.parts));
    slices_.Compile().Linear(context, of.parts, x, best.range(), at.range(), of.count, of.stride, of.slices, of.length,
                             smallest, last);
    join_.Compile().Linear(context, of.lines, best.range(), at.range(), y, of.slices, smallest, last);
  }

 private:
  LazyLaunchable slices_, join_;
};

class ArgExtreme final : public Kernel {
 public:
  explicit ArgExtreme(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "arg"),
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

class Hardmax final : public Kernel {
 public:
  explicit Hardmax(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "hardmax"),
        long_lines_(info),
        place_(OfSlices(info, "hardmax_place")),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view = attributes_.View(x.shape());
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    if (LineSlices::Pay(view)) {
      const LineSlices of(view);
      const DeviceScratch at(context, LineSlices::Bytes(of.lines));
      long_lines_.Run(context, of, x, at.range(), cl_int{0}, cl_int{0});
      place_.Compile().Linear(context, x.num_elements(), at.range(), y, of.count, of.stride);
      return;
    }
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner});
  }

 private:
  Launchable kernel_;
  ArgOfLongLines long_lines_;
  LazyLaunchable place_;
  SoftmaxAttributes attributes_;
};

class Cumulate final : public Kernel {
 public:
  explicit Cumulate(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "cumulate"),
        totals_(OfSlices(info, "total_slices")),
        scan_(OfSlices(info, "scan_totals")),
        slices_(OfSlices(info, "cumulate_slices")),
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

class LpNormalization final : public Kernel {
 public:
  explicit LpNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "lp_normalize"),
        slices_(OfSlices(info, "norm_slices")),
        join_(OfSlices(info, "join_norms")),
        divide_(OfSlices(info, "divide_by_norm")),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view(x.shape(), NormalizeAxis(attributes_.axis, x.shape().rank()));
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const auto p = static_cast<cl_int>(attributes_.p);
    if (LineSlices::Pay(view)) {
      const LineSlices of(view);
      const DeviceScratch sums(context, LineSlices::Bytes(of.parts)), norms(context, LineSlices::Bytes(of.lines));
      slices_.Compile().Linear(context, of.parts, x, sums.range(), of.count, of.stride, of.slices, of.length, p);
      join_.Compile().Linear(context, of.lines, sums.range(), norms.range(), of.slices, p);
      divide_.Compile().Linear(context, x.num_elements(), x, norms.range(), y, of.count, of.stride);
      return;
    }
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner}, p);
  }

 private:
  Launchable kernel_;
  LazyLaunchable slices_, join_, divide_;
  LpNormalizationAttributes attributes_;
};

}  // namespace

void RegisterRowOperators(KernelRegistry& registry) {
  registry.Add(Op("ArgMax").Versions(1).Types(0, kNumbers).Make<ArgExtreme>());
  registry.Add(Op("ArgMin").Versions(1).Types(0, kNumbers).Make<ArgExtreme>());
  registry.Add(Op("Hardmax").Versions(1).Types(0, kReals).Make<Hardmax>());
  constexpr TypeSet kSums =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("CumSum").Versions(11).Types(0, kSums).HostInput(1).Make<Cumulate>());
  registry.Add(Op("CumProd").Versions(26).Types(0, kSums).HostInput(1).Make<Cumulate>());
  registry.Add(Op("LpNormalization").Versions(1).Types(0, kReals).Make<LpNormalization>());
}

}  // namespace tessera::opencl
