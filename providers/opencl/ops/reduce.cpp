// ReduceSum, ReduceMean, ReduceProd, ReduceMax, ReduceMin, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum,
// ReduceLogSumExp (1-20); axes are an attribute or a host input.

#include <algorithm>
#include <optional>

#include "opencl/ops/reduction.h"
#include "ops/reduction/reduce.h"

namespace tessera::opencl {
namespace {

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

Fold FoldOf(const KernelInfo& info) {
  const std::string& op = info.node().op_type;
  const ElementType type = info.input_type(0);
  const bool real = kReals.contains(type);
  const char* add = real ? "value + other" : "(TX)((WX)value + (WX)other)";
  const char* step = real ? "value + element" : "(TX)((WX)value + (WX)element)";
  const char* square = real ? "value + element * element" : "(TX)((WX)value + (WX)element * (WX)element)";
  if (op == "ReduceMean") return {"0", step, add, "value / (TX)count"};
  if (op == "ReduceProd") {
    return real ? Fold{"1", "value * element", "value * other", "value"}
                : Fold{"1", "(TX)((WX)value * (WX)element)", "(TX)((WX)value * (WX)other)", "value"};
  }
  if (op == "ReduceMax") return Maximum(Lowest(type));
  // A NaN is the result.
  if (op == "ReduceMin") {
    return {Highest(type), "value != value || value < element ? value : element",
            "value != value || value < other ? value : other", "value"};
  }
  if (op == "ReduceL1")
    return {"0", real ? "value + fabs(element)" : "(TX)(element < 0 ? (WX)value - (WX)element : (WX)value + (WX)element)",
            add, "value"};
  if (op == "ReduceL2") return {"0", square, add, "sqrt(value)"};
  if (op == "ReduceSumSquare") return {"0", square, add, "value"};
  if (op == "ReduceLogSum") return {"0", step, add, "log(value)"};
  if (op == "ReduceLogSumExp") return {"0", "value + exp(element - shift)", add, "log(value) + shift", true};
  return {"0", step, add, "value"};
}

class Reduce final : public Kernel {
 public:
  explicit Reduce(const KernelInfo& info)
      : reduction_(DeviceOf(info), info.input_type(0), FoldOf(info)), attributes_(info.node()) {
    const auto x = KnownShape(info.input_info(0)), y = KnownShape(info.output_info(0));
    reduction_.Expect(x && y ? std::optional(x->num_elements() / std::max<int64_t>(y->num_elements(), 1)) : std::nullopt);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* given = context.input(1);
    const Shape axes = given != nullptr ? HostIntegers(*given) : Shape(attributes_.axes);
    const Shape reduces = attributes_.Reduced(x.shape(), axes.dims());
    const RowLayout rows = RowLayout::Reducing(x.shape(), reduces);
    reduction_.Run(context, x, *context.output(0, ReducedShape(x.shape(), reduces, attributes_.keepdims)), rows);
  }

 private:
  Reduction reduction_;
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
