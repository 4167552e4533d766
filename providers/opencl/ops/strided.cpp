// Operators that are one strided copy, or one for each input or output: Transpose, Expand, Slice, Concat, Split.

#include "kernel.h"

namespace tessera::opencl {
namespace {

/// Moves elements by their width.
std::string Defines(const KernelInfo& info) {
  switch (BitWidth(info.input_type(0))) {
    case 8:
      return "#define T uchar\n";
    case 16:
      return "#define T ushort\n";
    case 32:
      return "#define T uint\n";
    default:
      return "#define T ulong\n";
  }
}

std::array<cl_long, kMostDims> RowMajor(const Shape& shape) {
  Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", shape.rank(), kMostDims);
  std::array<cl_long, kMostDims> strides{};
  cl_long stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Strided Block(const Shape& shape) {
  Strided block;
  block.rank = static_cast<cl_int>(shape.rank());
  Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", shape.rank(), kMostDims);
  std::copy(shape.begin(), shape.end(), block.dims.begin());
  return block;
}

size_t Axis(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  Require(axis >= -r && axis < r, "axis {} is outside [-{}, {})", axis, r, r);
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

class StridedKernel : public Kernel {
 public:
  explicit StridedKernel(const KernelInfo& info) : copy_(DeviceOf(info), "strided", Defines(info), "copy") {}

 protected:
  Launchable copy_;
};

class Transpose final : public StridedKernel {
 public:
  explicit Transpose(const KernelInfo& info) : StridedKernel(info), perm_(info.attribute<std::vector<int64_t>>("perm", {})) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t rank = x.shape().rank();
    Require(perm_.empty() || perm_.size() == rank, "perm has {} entries for {} dimensions", perm_.size(), rank);
    const auto strides = RowMajor(x.shape());
    Shape result(rank);
    Strided s;
    for (size_t i = 0; i < rank; ++i) {
      const size_t from = perm_.empty() ? rank - 1 - i : Axis(perm_[i], rank);
      result[i] = x.shape()[from];
      s.a[i] = strides[from];
    }
    Strided block = Block(result);
    block.a = s.a;
    block.b = RowMajor(result);
    copy_.Linear(context, x.num_elements(), x, *context.output(0, result), block);
  }

 private:
  std::vector<int64_t> perm_;
};

class Expand final : public StridedKernel {
 public:
  using StridedKernel::StridedKernel;

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& wanted = context.required_input(1);
    const auto sizes = wanted.values<int64_t>();
    Shape result(std::max(sizes.size(), x.shape().rank()), 1);
    for (size_t i = 0; i < sizes.size(); ++i) result[result.rank() - sizes.size() + i] = sizes[i];
    for (size_t i = 0; i < x.shape().rank(); ++i) {
      int64_t& dim = result[result.rank() - x.shape().rank() + i];
      Require(dim == 1 || x.shape()[i] == 1 || dim == x.shape()[i], "{} does not expand to {}", x.shape().ToString(), result.ToString());
      if (x.shape()[i] != 1) dim = x.shape()[i];
    }
    Tensor& y = *context.output(0, result);
    Strided block = Block(result);
    block.a = BroadcastStrides(x.shape(), result);
    block.b = RowMajor(result);
    copy_.Linear(context, y.num_elements(), x, y, block);
  }
};

class Slice final : public StridedKernel {
 public:
  using StridedKernel::StridedKernel;

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Strided block = Block(shape);
    block.a = RowMajor(shape);
    Shape result = shape;
    const Tensor& starts = context.required_input(1);
    const Tensor* axes = context.input(3);
    for (int64_t i = 0; i < starts.num_elements(); ++i) {
      const size_t axis = Axis(axes != nullptr ? At(*axes, i) : i, shape.rank());
      const int64_t step = context.input(4) != nullptr ? At(*context.input(4), i) : 1, size = shape[axis];
      Require(step != 0, "a step is 0");
      const auto clamp = [&](int64_t at, int64_t low, int64_t high) { return std::clamp(at < 0 ? at + size : at, low, high); };
      const int64_t begin = clamp(At(starts, i), 0, step > 0 ? size : size - 1);
      const int64_t end = clamp(At(context.required_input(2), i), step > 0 ? 0 : -1, size);
      result[axis] = std::max<int64_t>(0, step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step);
      block.c[0] += begin * block.a[axis];
      block.a[axis] *= step;
    }
    Tensor& y = *context.output(0, result);
    std::copy(result.begin(), result.end(), block.dims.begin());
    block.b = RowMajor(result);
    copy_.Linear(context, y.num_elements(), x, y, block);
  }

 private:
  static int64_t At(const Tensor& tensor, int64_t i) {
    Require(i < tensor.num_elements(), "starts, ends, axes and steps differ in length");
    return tensor.is(ElementType::kInt32) ? tensor.data<int32_t>()[i] : tensor.data<int64_t>()[i];
  }
};

class Concat final : public StridedKernel {
 public:
  explicit Concat(const KernelInfo& info) : StridedKernel(info), axis_(info.attribute<int64_t>("axis", 1)) {}

  void Compute(KernelContext& context) override {
    Shape result = context.required_input(0).shape();
    const size_t axis = Axis(axis_, result.rank());
    for (size_t i = 1; i < context.num_inputs(); ++i) {
      const Shape& shape = context.required_input(i).shape();
      Require(shape.rank() == result.rank(), "inputs {} and {} cannot be joined", result.ToString(), shape.ToString());
      for (size_t d = 0; d < shape.rank(); ++d) {
        Require(d == axis || shape[d] == result[d], "inputs {} and {} cannot be joined along axis {}", result.ToString(), shape.ToString(), axis);
      }
      result[axis] += shape[axis];
    }
    Tensor& y = *context.output(0, result);
    const auto strides = RowMajor(result);
    int64_t at = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.required_input(i);
      Strided block = Block(x.shape());
      block.a = RowMajor(x.shape());
      block.b = strides;
      block.c[1] = at * strides[axis];
      copy_.Linear(context, x.num_elements(), x, y, block);
      at += x.shape()[axis];
    }
  }

 private:
  int64_t axis_;
};

class Split final : public StridedKernel {
 public:
  explicit Split(const KernelInfo& info)
      : StridedKernel(info), axis_(info.attribute<int64_t>("axis", 0)), sizes_(info.attribute<std::vector<int64_t>>("split", {})) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = Axis(axis_, x.shape().rank());
    const Tensor* given = context.input(1);
    const std::span<const int64_t> sizes = given != nullptr ? given->values<int64_t>() : std::span<const int64_t>(sizes_);
    const auto count = static_cast<int64_t>(context.num_outputs());
    Require(sizes.empty() || static_cast<int64_t>(sizes.size()) == count, "split has {} sizes for {} outputs", sizes.size(), count);
    const int64_t even = (x.shape()[axis] + count - 1) / count;
    const auto strides = RowMajor(x.shape());
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      Shape part = x.shape();
      part[axis] = sizes.empty() ? std::min(even, x.shape()[axis] - at) : sizes[static_cast<size_t>(i)];
      Require(part[axis] >= 0 && at + part[axis] <= x.shape()[axis], "the parts of a split exceed dimension {} of {}", axis, x.shape().ToString());
      Strided block = Block(part);
      block.a = strides;
      block.b = RowMajor(part);
      block.c[0] = at * strides[axis];
      at += part[axis];
      if (Tensor* y = context.output(static_cast<size_t>(i), part)) copy_.Linear(context, y->num_elements(), x, *y, block);
    }
    Require(at == x.shape()[axis], "the parts of a split add up to {}, not {}", at, x.shape()[axis]);
  }

 private:
  int64_t axis_;
  std::vector<int64_t> sizes_;
};

}  // namespace

void RegisterStrided(KernelRegistry& registry) {
  registry.Add(Op("Transpose").Versions(1).Types(0, kMovable).Make<Transpose>());
  registry.Add(Op("Expand").Versions(8).Types(0, kMovable).HostInput(1).Make<Expand>());
  registry.Add(Op("Slice").Versions(10).Types(0, kMovable).HostInput(1).HostInput(2).HostInput(3).HostInput(4).Make<Slice>());
  registry.Add(Op("Concat").Versions(4).Types(0, kMovable).Make<Concat>());
  registry.Add(Op("Split").Versions(2).Types(0, kMovable).HostInput(1).Make<Split>());
}

}  // namespace tessera::opencl
