// MaxUnpool (9, 11, 22): puts each value back where MaxPool's Indices found it.

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/window.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

template <class T>  // by size: values only move
class MaxUnpool final : public Kernel {
 public:
  explicit MaxUnpool(const KernelInfo& info)
      : kernel_(PositiveAttribute(info.node(), "kernel_shape")),
        strides_(PositiveAttribute(info.node(), "strides")),
        pads_(info.attribute("pads", std::vector<int64_t>{})) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(indices.shape() == input.shape(), "the indices are {}, the input is {}", indices.shape(),
            input.shape());
    const Shape pooled = InferShape(input.shape());
    const Tensor* wanted = context.input(2);
    const Shape shape = wanted == nullptr ? pooled : OutputShape(*wanted, pooled);
    Tensor* output = context.output(0, shape);
    if (output == nullptr) return;
    T* out = static_cast<T*>(output->mutable_raw());
    std::memset(out, 0, output->byte_size());
    const T* in = static_cast<const T*>(input.raw());
    const int64_t* at = indices.data<int64_t>();
    // Indices count in the shape that the pooling had seen; a larger output keeps each value's coordinates.
    const bool same = shape == pooled;
    const int64_t limit = pooled.num_elements();
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      Require(at[i] >= 0 && at[i] < limit, "index {} is outside the unpooled tensor of {} elements", at[i], limit);
      const int64_t place = same ? at[i] : Translate(at[i], pooled, shape);
      if (place >= 0) out[place] = in[i];
    }
  }

 private:
  Shape InferShape(const Shape& input) const {
    const size_t rank = kernel_.rank();
    Require(input.rank() == rank + 2, "kernel_shape has {} axes, the input is {}", rank, input);
    Require(strides_.rank() == 0 || strides_.rank() == rank, "attribute 'strides' has {} values, {} are expected",
            strides_.rank(), rank);
    Require(pads_.rank() == 0 || pads_.rank() == 2 * rank, "attribute 'pads' has {} values, {} are expected", pads_.rank(),
            2 * rank);
    Shape shape = input;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t stride = strides_.rank() == 0 ? 1 : strides_[i];
      const int64_t pads = pads_.rank() == 0 ? 0 : CheckedAdd(pads_[i], pads_[rank + i]);
      const int64_t size = CheckedAdd(CheckedMul(input[i + 2] - 1, stride), kernel_[i]);
      Require(pads >= 0 && size >= pads, "spatial axis {} would have {} elements", i, size - pads);
      shape[i + 2] = size - pads;
    }
    return shape;
  }

  static Shape OutputShape(const Tensor& wanted, const Shape& pooled) {
    Require(wanted.num_elements() == static_cast<int64_t>(pooled.rank()), "output_shape has {} values, {} are expected",
            wanted.num_elements(), pooled.rank());
    const Shape shape(wanted.values<int64_t>());
    for (int64_t dim : shape) Require(dim >= 0, "output_shape holds {}", dim);
    return shape;
  }

  static int64_t Translate(int64_t place, const Shape& from, const Shape& to) {
    int64_t result = 0;
    int64_t stride = 1;
    for (size_t i = from.rank(); i-- > 0;) {
      const int64_t coordinate = place % from[i];
      if (coordinate >= to[i]) return -1;
      result += coordinate * stride;
      stride *= to[i];
      place /= from[i];
    }
    return result;
  }

  Shape kernel_;
  Shape strides_;
  Shape pads_;
};

}  // namespace

void RegisterMaxUnpool(KernelRegistry& registry) {
  registry.Add(Op("MaxUnpool").Types(0, kFloats).Types(1, {ElementType::kInt64}).Factory([](const KernelInfo& info) {
    const int bits = BitWidth(info.input_type(0));
    if (bits == 16) return std::unique_ptr<Kernel>(std::make_unique<MaxUnpool<uint16_t>>(info));
    if (bits == 32) return std::unique_ptr<Kernel>(std::make_unique<MaxUnpool<uint32_t>>(info));
    return std::unique_ptr<Kernel>(std::make_unique<MaxUnpool<uint64_t>>(info));
  }));
}

}  // namespace tessera::cpu
