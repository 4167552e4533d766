// Squeeze (1, 11: axes attribute; 13, 21, 23, 24, 25: axes input) and Unsqueeze (the same versions).

#include <optional>

#include "cpu/engine/indices.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// Axes from the attribute (before 13) or from input 1.
class Axes {
 public:
  explicit Axes(const KernelInfo& info) : from_attribute_(info.since_version() < 13) {
    if (from_attribute_ && info.has_attribute("axes")) attribute_ = info.attribute<std::vector<int64_t>>("axes");
  }
  std::optional<Integers> Of(const KernelContext& context) const {
    if (from_attribute_) return attribute_ ? std::optional(Integers(*attribute_)) : std::nullopt;
    const Tensor* axes = context.input(1);
    return axes != nullptr ? std::optional(Integers(*axes, "axes")) : std::nullopt;
  }

 private:
  const bool from_attribute_;
  std::optional<std::vector<int64_t>> attribute_;
};

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(const KernelInfo& info) : axes_(info) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Shape& dims = data.shape();
    const std::optional<Integers> axes = axes_.Of(context);
    Shape drop(dims.rank(), 0);
    if (axes) {
      for (size_t i = 0; i < axes->size(); ++i) {
        const size_t axis = NormalizeAxis((*axes)[i], dims.rank());
        Require(dims[axis] == 1, "dimension {} of {} is not 1", axis, dims);
        drop[axis] = 1;
      }
    } else {
      for (size_t i = 0; i < dims.rank(); ++i) drop[i] = dims[i] == 1;
    }
    Shape shape;
    for (size_t i = 0; i < dims.rank(); ++i) {
      if (drop[i] == 0) shape.Append(dims[i]);
    }
    context.set_output(0, data.Reshaped(shape));
  }

 private:
  const Axes axes_;
};

class Unsqueeze final : public Kernel {
 public:
  explicit Unsqueeze(const KernelInfo& info) : axes_(info) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const std::optional<Integers> axes = axes_.Of(context);
    Require(axes.has_value(), "axes are required");
    Shape shape(data.shape().rank() + axes->size(), 0);
    MarkAxes(*axes, shape.rank(), [&](size_t, size_t axis) { shape[axis] = 1; });
    size_t next = 0;
    for (int64_t& dim : shape) {
      // A zero that no axis marked is the place of the next input dimension.
      if (dim == 0) dim = data.shape()[next++];
    }
    context.set_output(0, data.Reshaped(shape));
  }

 private:
  const Axes axes_;
};

}  // namespace

void RegisterSqueeze(KernelRegistry& registry) {
  registry.Add(Op("Squeeze").Versions(1).Alias(0, 0).Make<Squeeze>());
  registry.Add(Op("Unsqueeze").Versions(1).Alias(0, 0).Make<Unsqueeze>());
}

}  // namespace tessera::cpu
