// Reshape (5-25), Flatten, Squeeze, Unsqueeze, Identity, BitCast (26): the same buffer under another shape or
// type. Shape, Size.

#include <algorithm>

#include "opencl/device/kernel.h"
#include "ops/movement/flatten.h"
#include "ops/movement/reshape.h"
#include "ops/movement/shape.h"
#include "ops/movement/squeeze.h"

namespace tessera::opencl {
namespace {

class Reshape final : public Kernel {
 public:
  explicit Reshape(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape target = HostIntegers(context.required_input(1));
    context.set_output(0, x.Reshaped(attributes_.Resolve(x.shape(), target.dims())));
  }

 private:
  ReshapeAttributes attributes_;
};

class Flatten final : public Kernel {
 public:
  explicit Flatten(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x.Reshaped(attributes_.ResultShape(x.shape())));
  }

 private:
  FlattenAttributes attributes_;
};

class Identity final : public Kernel {
 public:
  explicit Identity(const KernelInfo&) {}
  void Compute(KernelContext& context) override { context.set_output(0, context.required_input(0)); }
};

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x.Reshaped(SqueezedShape(x.shape(), attributes_.Axes(context.input(1)))));
  }

 private:
  SqueezeAttributes attributes_;
};

class Unsqueeze final : public Kernel {
 public:
  explicit Unsqueeze(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x.Reshaped(UnsqueezedShape(x.shape(), attributes_.Axes(context.input(1)))));
  }

 private:
  SqueezeAttributes attributes_;
};

/// Only the shape is read: the data stays where it is.
class ShapeOf final : public Kernel {
 public:
  explicit ShapeOf(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const auto [first, last] = attributes_.Range(shape.rank());
    Tensor& y = *context.output(0, Shape{static_cast<int64_t>(last - first)});
    std::copy(shape.begin() + first, shape.begin() + last, y.mutable_data<int64_t>());
  }

 private:
  ShapeAttributes attributes_;
};

class BitCast final : public Kernel {
 public:
  explicit BitCast(const KernelInfo& info) : type_(info.output_type(0)) {
    Require(type_ != ElementType::kUndefined && BitWidth(info.input_type(0)) == BitWidth(type_) && BitWidth(type_) > 0,
            "BitCast from {} to {}: the element types must be of the same width", ElementTypeName(info.input_type(0)),
            ElementTypeName(type_));
  }
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, Tensor::Share(type_, x.shape(), const_cast<void*>(x.raw()), x.owner(), x.memory()));
  }

 private:
  ElementType type_;
};

class Size final : public Kernel {
 public:
  explicit Size(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    *context.output(0, Shape{})->mutable_data<int64_t>() = context.required_input(0).num_elements();
  }
};

}  // namespace

void RegisterShape(KernelRegistry& registry) {
  registry.Add(Op("Reshape").Versions(5).HostInput(1).Alias(0, 0).Make<Reshape>());
  registry.Add(Op("Flatten").Versions(1).Alias(0, 0).Make<Flatten>());
  registry.Add(Op("Identity").Versions(1).Alias(0, 0).Make<Identity>());
  // To bool it may change bytes, which the CPU provider does.
  constexpr TypeSet kAnyBits =
      kNumbers | kFloat8s | kPackedIntegers |
      TypeSet{ElementType::kComplex64, ElementType::kComplex128, ElementType::kFloat8E8M0, ElementType::kFloat4E2M1};
  registry.Add(Op("BitCast").Versions(26).OutputTypes(0, kAnyBits).Alias(0, 0).Make<BitCast>());
  registry.Add(Op("Squeeze").Versions(1).HostInput(1).Alias(0, 0).Make<Squeeze>());
  registry.Add(Op("Unsqueeze").Versions(1).HostInput(1).Alias(0, 0).Make<Unsqueeze>());
  registry.Add(Op("Shape").Versions(1).HostOutput(0).Make<ShapeOf>());
  registry.Add(Op("Size").Versions(1).HostOutput(0).Make<Size>());
}

}  // namespace tessera::opencl
