#include "cpu/engine/on_bytes.h"

#include <vector>

#include "base/cancellation.h"
#include "cpu/engine/packed.h"
#include "runtime/inner_context.h"

namespace tessera::cpu {
namespace {

constexpr double kElementNs = 0.5;

/// All elements, to a byte each and back. Pieces end where bytes do.
void UnpackAll(const Tensor& packed, uint8_t* unpacked) {
  InCancellablePieces(0, packed.num_elements(), kElementNs, [&](int64_t begin, int64_t end) {
    UnpackElements(packed.type(), packed.raw(), begin, end - begin, unpacked + begin);
  });
}
void PackAll(const Tensor& unpacked, Tensor& packed) {
  InCancellablePieces(0, unpacked.num_elements(), kElementNs, [&](int64_t begin, int64_t end) {
    PackElements(packed.type(), unpacked.data<uint8_t>() + begin, begin, end - begin, packed.mutable_raw());
  });
}

/// What the wrapped kernel sees.
class BytesContext final : public InnerContext {
 public:
  BytesContext(KernelContext& outer, const std::vector<ElementType>& output_types)
      : InnerContext(outer),
        output_types_(output_types),
        values_(outer.num_inputs()),
        pointers_(outer.num_inputs()),
        outputs_(output_types.size()) {
    for (size_t i = 0; i < pointers_.size(); ++i) {
      pointers_[i] = outer.input_value(i);
      const Tensor* tensor = pointers_[i] == nullptr ? nullptr : pointers_[i]->tensor_if();
      if (tensor == nullptr || !IsPacked(tensor->type())) continue;
      auto bytes = outer.scratch<uint8_t>(static_cast<size_t>(tensor->num_elements()));
      UnpackAll(*tensor, bytes.data());
      values_[i] = Tensor::View(ElementType::kUInt8, tensor->shape(), bytes.data());
      pointers_[i] = &values_[i];
    }
    inputs_ = pointers_;
    num_outputs_ = outer.num_outputs();
  }

  void Finish() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].defined()) continue;
      Tensor* packed = outer_.output(i, output_types_[i], outputs_[i].shape());
      PackAll(outputs_[i], *packed);
    }
  }

  Tensor* output(size_t i, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    if (i >= outputs_.size() || !IsPacked(output_types_[i])) return outer_.output(i, shape);
    auto bytes = outer_.scratch<uint8_t>(static_cast<size_t>(shape.num_elements()));
    outputs_[i] = Tensor::View(ElementType::kUInt8, shape, bytes.data());
    return &outputs_[i];
  }
  Tensor* output(size_t i, ElementType type, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    if (i >= outputs_.size() || !IsPacked(output_types_[i])) return outer_.output(i, type, shape);
    return output(i, shape);
  }
  void set_output(size_t i, Value value) override {
    if (i < outputs_.size() && IsPacked(output_types_[i])) {
      const Tensor& bytes = value.tensor();
      Tensor packed(output_types_[i], bytes.shape(), outer_.allocator());
      PackAll(bytes, packed);
      value = std::move(packed);
    }
    outer_.set_output(i, std::move(value));
  }

 private:
  const std::vector<ElementType>& output_types_;
  std::vector<Value> values_;
  std::vector<const Value*> pointers_;
  std::vector<Tensor> outputs_;
};

class BytesKernel final : public Kernel {
 public:
  BytesKernel(const KernelInfo& info, std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {
    for (size_t i = 0; i < info.num_outputs(); ++i) output_types_.push_back(info.output_type(i));
  }

  void Compute(KernelContext& context) override {
    BytesContext bytes(context, output_types_);
    kernel_->Compute(bytes);
    bytes.Finish();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  std::vector<ElementType> output_types_;
};

}  // namespace

std::unique_ptr<Kernel> OnBytes(const KernelInfo& info, std::unique_ptr<Kernel> kernel) {
  bool packed = false;
  for (size_t i = 0; i < info.num_inputs(); ++i) packed |= IsPacked(info.input_type(i));
  for (size_t i = 0; i < info.num_outputs(); ++i) packed |= IsPacked(info.output_type(i));
  if (!packed) return kernel;
  return std::make_unique<BytesKernel>(info, std::move(kernel));
}

}  // namespace tessera::cpu
