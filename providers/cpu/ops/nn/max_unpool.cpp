// MaxUnpool (9, 11, 22): stores each value at the index that MaxPool's Indices give.

#include "ops/nn/max_unpool.h"

#include "base/cancellable_memory.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>  // by size: values only move
class MaxUnpool final : public Kernel {
 public:
  explicit MaxUnpool(const KernelInfo& info) : unpooling_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(indices.shape() == input.shape(), "the indices are {}, the input is {}", indices.shape(), input.shape());
    const Shape pooled = unpooling_.Pooled(input.shape());
    const Tensor* wanted = context.input(2);
    const Shape shape = wanted == nullptr ? pooled : CheckUnpooled(Shape(wanted->values<int64_t>()), pooled);
    Tensor* output = context.output(0, shape);
    if (output == nullptr) return;
    T* out = static_cast<T*>(output->mutable_raw());
    ClearCancellably(out, output->byte_size());
    const T* in = static_cast<const T*>(input.raw());
    const int64_t* at = indices.data<int64_t>();
    const UnpooledIndices unpooled(pooled, shape);
    PacedCancellationPoint look(10);
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      look.Pass();
      const int64_t index = unpooled.Find(at[i]);
      if (index >= 0) out[index] = in[i];
    }
  }

 private:
  Unpooling unpooling_;
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
