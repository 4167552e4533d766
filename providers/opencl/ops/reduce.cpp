// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceSumSquare, ReduceL2 with axes as an attribute or a host input.

#include <bitset>

#include "kernel.h"

namespace tessera::opencl {
namespace {

std::string Defines(const std::string& op) {
  const auto make = [](const char* initial, const char* step, const char* finish) {
    return fmt::format("#define INITIAL {}\n#define STEP {}\n#define FINISH {}\n", initial, step, finish);
  };
  if (op == "ReduceMean") return make("0.0f", "value + element", "value / count");
  if (op == "ReduceMax") return make("-INFINITY", "fmax(value, element)", "value");
  if (op == "ReduceMin") return make("INFINITY", "fmin(value, element)", "value");
  if (op == "ReduceSumSquare") return make("0.0f", "value + element * element", "value");
  if (op == "ReduceL2") return make("0.0f", "value + element * element", "sqrt(value)");
  return make("0.0f", "value + element", "value");
}

class Reduce final : public Kernel {
 public:
  explicit Reduce(const KernelInfo& info)
      : kernel_(DeviceOf(info), "reduce", Defines(info.node().op_type), "reduce"),
        axes_(info.attribute<std::vector<int64_t>>("axes", {})),
        keepdims_(info.attribute<int64_t>("keepdims", 1) != 0),
        noop_(info.attribute<int64_t>("noop_with_empty_axes", 0) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* given = context.input(1);
    const std::span<const int64_t> axes = given != nullptr ? given->values<int64_t>() : std::span<const int64_t>(axes_);
    const Shape& shape = x.shape();
    const auto rank = static_cast<int64_t>(shape.rank());
    Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", rank, kMostDims);
    std::bitset<kMostDims> reduces;
    for (int64_t axis : axes) {
      Require(axis >= -rank && axis < rank, "axis {} is outside [-{}, {})", axis, rank, rank);
      reduces.set(static_cast<size_t>(axis < 0 ? axis + rank : axis));
    }
    if (axes.empty() && !noop_) reduces.set();
    Strided kept, reduced;
    Shape result;
    cl_long stride = x.num_elements();
    int64_t count = 1;
    for (size_t i = 0; i < shape.rank(); ++i) {
      stride = shape[i] == 0 ? 0 : stride / shape[i];
      Strided& side = reduces[i] ? reduced : kept;
      side.dims[static_cast<size_t>(side.rank)] = shape[i];
      side.a[static_cast<size_t>(side.rank++)] = stride;
      if (reduces[i]) count *= shape[i];
      if (!reduces[i]) result.Append(shape[i]);
      if (reduces[i] && keepdims_) result.Append(1);
    }
    Tensor& y = *context.output(0, result);
    kernel_.Linear(context, y.num_elements(), x, y, kept, reduced, static_cast<cl_long>(count));
  }

 private:
  Launchable kernel_;
  std::vector<int64_t> axes_;
  bool keepdims_, noop_;
};

}  // namespace

void RegisterReduce(KernelRegistry& registry) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2"}) {
    registry.Add(Op(op).Versions(1).Types(0, kFloat32).HostInput(1).Make<Reduce>());
  }
}

}  // namespace tessera::opencl
