// Reshape (1, 5, 13, 14, 19, 21, 23, 24, 25): the same elements under another shape.

#include "base/checked.h"
#include "cpu/engine/indices.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// 0 copies the input's dimension unless `allow_zero`; one -1 takes what is left.
Shape ReshapedDims(const Shape& input, const Integers& target, bool allow_zero) {
  Shape shape(target.size());
  int64_t product = 1;
  size_t inferred = target.size();
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t dim = target[i];
    if (dim == -1) {
      Require(inferred == target.size(), "the new shape has more than one -1");
      inferred = i;
      continue;
    }
    if (dim == 0 && !allow_zero) {
      Require(i < input.rank(), "dimension {} of the new shape copies the input's, which has shape {}", i, input);
      dim = input[i];
    }
    Require(dim >= 0, "dimension {} of the new shape is {}", i, dim);
    shape[i] = dim;
    product = CheckedMul(product, dim);
  }
  if (inferred < target.size()) {
    const int64_t count = input.num_elements();
    Require(product != 0 && count % product == 0,
            "{} elements of shape {} do not fill a shape whose other dimensions hold {}", count, input, product);
    shape[inferred] = count / product;
  }
  return shape;
}

class Reshape final : public Kernel {
 public:
  explicit Reshape(const KernelInfo& info)
      : allow_zero_(info.attribute<int64_t>("allowzero", 0) != 0),
        from_attribute_(info.since_version() < 5),
        shape_(info.attribute<std::vector<int64_t>>("shape", {})) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Integers target = from_attribute_ ? Integers(shape_) : Integers(context.required_input(1), "shape");
    context.set_output(0, data.Reshaped(ReshapedDims(data.shape(), target, allow_zero_)));
  }

 private:
  const bool allow_zero_;
  const bool from_attribute_;
  const std::vector<int64_t> shape_;
};

}  // namespace

void RegisterReshape(KernelRegistry& registry) { registry.Add(Op("Reshape").Versions(1).Alias(0, 0).Make<Reshape>()); }

}  // namespace tessera::cpu
