// Reshape (5-25), Flatten, Squeeze, Unsqueeze, Identity, BitCast (26): the same buffer under another shape or
// type. Shape, Size.

#include <algorithm>
#include <limits>
#include <optional>

#include "opencl/device/kernel.h"
#include "ops/movement/flatten.h"
#include "ops/movement/reshape.h"

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

/// Axes as an attribute (before version 13) or a host input.
class SqueezeBase : public Kernel {
 public:
  explicit SqueezeBase(const KernelInfo& info) : axes_(info.attribute<std::vector<int64_t>>("axes", {})) {}

 protected:
  /// Marks axes of a shape of `rank` dimensions; all false when none is named.
  std::array<bool, 64> Marked(KernelContext& context, size_t rank) const {
    const Tensor* given = context.input(1);
    const Shape axes = given != nullptr ? HostIntegers(*given) : Shape(axes_);
    std::array<bool, 64> marked{};
    const auto r = static_cast<int64_t>(rank);
    Require(r <= 64, "{} dimensions are too many", r);
    for (int64_t axis : axes) {
      Require(axis >= -r && axis < r, "axis {} is outside [-{}, {})", axis, r, r);
      marked[static_cast<size_t>(axis < 0 ? axis + r : axis)] = true;
    }
    return marked;
  }
  bool names_axes(KernelContext& context) const {
    return context.input(1) != nullptr ? context.input(1)->num_elements() > 0 : !axes_.empty();
  }
  size_t count(KernelContext& context) const {
    return context.input(1) != nullptr ? static_cast<size_t>(context.input(1)->num_elements()) : axes_.size();
  }

 private:
  std::vector<int64_t> axes_;
};

class Squeeze final : public SqueezeBase {
 public:
  using SqueezeBase::SqueezeBase;
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto marked = Marked(context, x.shape().rank());
    const bool named = names_axes(context);
    Shape result;
    for (size_t i = 0; i < x.shape().rank(); ++i) {
      const bool gone = named ? marked[i] : x.shape()[i] == 1;
      Require(!gone || x.shape()[i] == 1, "dimension {} of {} is not 1", i, x.shape());
      if (!gone) result.Append(x.shape()[i]);
    }
    context.set_output(0, x.Reshaped(result));
  }
};

class Unsqueeze final : public SqueezeBase {
 public:
  using SqueezeBase::SqueezeBase;
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t rank = x.shape().rank() + count(context);
    const auto marked = Marked(context, rank);
    Shape result;
    size_t next = 0;
    for (size_t i = 0; i < rank; ++i) {
      Require(marked[i] || next < x.shape().rank(), "an axis is named twice");
      result.Append(marked[i] ? 1 : x.shape()[next++]);
    }
    context.set_output(0, x.Reshaped(result));
  }
};

/// Only the shape is read: the data stays where it is.
class ShapeOf final : public Kernel {
 public:
  explicit ShapeOf(const KernelInfo& info)
      : start_(info.attribute<int64_t>("start", 0)), end_(info.attribute<int64_t>("end", kToTheEnd)) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const auto rank = static_cast<int64_t>(shape.rank());
    const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t begin = clamp(start_), end = std::max(begin, clamp(end_));
    Tensor& y = *context.output(0, Shape{end - begin});
    std::copy(shape.begin() + begin, shape.begin() + end, y.mutable_data<int64_t>());
  }

 private:
  static constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
  int64_t start_, end_;
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
