// ReduceSum, ReduceMean, ReduceProd, ReduceMax, ReduceMin, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum,
// ReduceLogSumExp (1-20); axes are an attribute or a host input.

#include <span>

#include "base/checked.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "opencl/ops/row_slices.h"
#include "ops/reduction/reduce.h"

namespace tessera::opencl {
namespace {

constexpr size_t kReduceLanes = 64;

/// Of no elements: what ONNX says for integers, too.
std::string Lowest(ElementType type) {
  switch (type) {
    case ElementType::kInt8: return "CHAR_MIN";
    case ElementType::kInt32: return "INT_MIN";
    case ElementType::kInt64: return "LONG_MIN";
    default: return kReals.contains(type) ? "-INFINITY" : "0";
  }
}
std::string Highest(ElementType type) {
  switch (type) {
    case ElementType::kInt8: return "CHAR_MAX";
    case ElementType::kUInt8: return "UCHAR_MAX";
    case ElementType::kInt32: return "INT_MAX";
    case ElementType::kUInt32: return "UINT_MAX";
    case ElementType::kInt64: return "LONG_MAX";
    case ElementType::kUInt64: return "ULONG_MAX";
    default: return kReals.contains(type) ? "INFINITY" : "1";
  }
}

std::string FoldDefines(const KernelInfo& info) {
  const std::string& op = info.node().op_type;
  const ElementType type = info.input_type(0);
  const bool real = kReals.contains(type);
  const auto make = [](std::string_view initial, std::string_view step, std::string_view join, std::string_view finish) {
    return fmt::format("#define INITIAL {}\n#define STEP {}\n#define JOIN {}\n#define FINISH {}\n", initial, step, join,
                       finish);
  };
  const char* add = real ? "value + other" : "(TX)((WX)value + (WX)other)";
  const char* step = real ? "value + element" : "(TX)((WX)value + (WX)element)";
  const char* square = real ? "value + element * element" : "(TX)((WX)value + (WX)element * (WX)element)";
  if (op == "ReduceMean") return make("0", step, add, "value / (TX)count");
  if (op == "ReduceProd") {
    return real ? make("1", "value * element", "value * other", "value")
                : make("1", "(TX)((WX)value * (WX)element)", "(TX)((WX)value * (WX)other)", "value");
  }
  // A NaN is the result.
  if (op == "ReduceMax") {
    return make(Lowest(type), "value != value || value > element ? value : element",
                "value != value || value > other ? value : other", "value");
  }
  if (op == "ReduceMin") {
    return make(Highest(type), "value != value || value < element ? value : element",
                "value != value || value < other ? value : other", "value");
  }
  if (op == "ReduceL1")
    return make("0",
                real ? "value + fabs(element)" : "(TX)(element < 0 ? (WX)value - (WX)element : (WX)value + (WX)element)",
                add, "value");
  if (op == "ReduceL2") return make("0", square, add, "sqrt(value)");
  if (op == "ReduceSumSquare") return make("0", square, add, "value");
  if (op == "ReduceLogSum") return make("0", step, add, "log(value)");
  if (op == "ReduceLogSumExp")
    return "#define SHIFTED\n" + make("0", "value + exp(element - shift)", add, "log(value) + shift");
  return make("0", step, add, "value");
}

class Reduce final : public Kernel {
 public:
  explicit Reduce(const KernelInfo& info)
      : node_defines_(Computed('X', info.input_type(0)) + FoldDefines(info)),
        alone_(DeviceOf(info), "reduce", node_defines_ + "#define LANES 1\n", "reduce"),
        together_(DeviceOf(info), "reduce", node_defines_ + fmt::format("#define LANES {}\n", kReduceLanes), "reduce"),
        slices_(DeviceOf(info), "reduce", SliceDefines(), "reduce_slices"),
        join_(DeviceOf(info), "reduce", SliceDefines(), "join_slices"),
        part_bytes_((info.input_type(0) == ElementType::kDouble || BitWidth(info.input_type(0)) == 64 ? 8 : 4) *
                    (info.node().op_type == "ReduceLogSumExp" ? 2 : 1)),
        attributes_(info.node()) {
    const auto shape = KnownShape(info.input_info(0));
    if (!shape || !RowSlices::Pay(shape->num_elements())) return;  // compiled when one comes
    slices_.Compile();
    join_.Compile();
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* given = context.input(1);
    const Shape axes = given != nullptr ? HostIntegers(*given) : Shape(attributes_.axes);
    const Shape& shape = x.shape();
    Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", shape.rank(), kMostDims);
    const Shape reduces = attributes_.Reduced(shape, axes.dims());
    Strided kept, reduced;
    const auto strides = RowMajor(shape);
    int64_t count = 1;
    for (size_t i = 0; i < shape.rank(); ++i) {
      Strided& side = reduces[i] != 0 ? reduced : kept;
      side.dims[static_cast<size_t>(side.rank)] = shape[i];
      side.a[static_cast<size_t>(side.rank++)] = strides[i];
      if (reduces[i] != 0) count *= shape[i];
    }
    kept.Coalesce();
    reduced.Coalesce();
    Tensor& y = *context.output(0, ReducedShape(shape, reduces, attributes_.keepdims));
    const auto total = static_cast<cl_ulong>(y.num_elements());
    if (RowSlices::Pay(count)) {
      InSlices(context, x, y, kept, reduced, count);
    } else if (count >= 4 * static_cast<int64_t>(kReduceLanes)) {
      together_.Groups(context, y.num_elements(), kReduceLanes, total, x, y, kept, reduced, cl_long{count});
    } else {
      alone_.Linear(context, y.num_elements(), x, y, kept, reduced, cl_long{count});
    }
  }

 private:
  std::string SliceDefines() const {
    return node_defines_ + fmt::format("#define SLICED\n#define LANES {}\n", kReduceLanes);
  }

  void InSlices(KernelContext& context, const Tensor& x, Tensor& y, const Strided& kept, const Strided& reduced,
                int64_t count) {
    if (y.num_elements() == 0) return;
    const RowSlices slices(count);
    const int64_t parts = CheckedMul(y.num_elements(), slices.count);
    const DeviceScratch scratch(context, static_cast<size_t>(CheckedMul(parts, part_bytes_)));
    slices_.Compile().Groups(context, parts, kReduceLanes, x, scratch.range(), kept, reduced, cl_long{count},
                             cl_long{slices.count}, cl_long{slices.length});
    join_.Compile().Groups(context, y.num_elements(), kReduceLanes, scratch.range(), y, cl_long{count},
                           cl_long{slices.count});
  }

  std::string node_defines_;
  Launchable alone_, together_;
  LazyLaunchable slices_, join_;
  int64_t part_bytes_;
  ReduceAttributes attributes_;
};

}  // namespace

void RegisterReduce(KernelRegistry& registry) {
  constexpr TypeSet kSums =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  for (const char* op : {"ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare"}) {
    registry.Add(Op(op).Versions(1).Types(0, kSums).HostInput(1).Make<Reduce>());
  }
  for (const char* op : {"ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    registry.Add(Op(op).Versions(1).Types(0, kReals).HostInput(1).Make<Reduce>());
  }
  constexpr TypeSet kOrdered = kSums | TypeSet{ElementType::kInt8, ElementType::kUInt8, ElementType::kBool};
  for (const char* op : {"ReduceMax", "ReduceMin"})
    registry.Add(Op(op).Versions(1).Types(0, kOrdered).HostInput(1).Make<Reduce>());
}

}  // namespace tessera::opencl
