// Split (1, 2, 11: sizes attribute; 13: sizes input; 18: num_outputs): the inverse of Concat.

#include "ops/movement/split.h"
#include "cpu/engine/cast.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/parts.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

class Split final : public Kernel {
 public:
  explicit Split(const KernelInfo& info) : attributes_(info.node()) {
    for (size_t i = 0; i < info.num_outputs(); ++i) may_stay_.push_back(MayStayInPlace(info, i));
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const size_t axis = NormalizeAxis(attributes_.axis, dims.rank()), count = context.num_outputs();
    const std::span<int64_t> sizes = context.scratch<int64_t>(count);
    attributes_.FindParts(dims[axis], GivenSizes(context), sizes);
    const ElementKind element = KindOf(input.type());
    const std::span<Part> parts = context.scratch<Part>(count);
    // Sizes beside a dimension of 0 may be of any magnitude.
    const bool empty = input.num_elements() == 0;
    const int64_t rows = empty ? 0 : dims.SizeOfRange(0, axis);
    const int64_t inner = empty ? 0 : dims.SizeOfRange(axis + 1, dims.rank()) * element.bytes;
    Shape shape = dims;
    int64_t offset = 0;
    for (size_t i = 0; i < count; offset += sizes[i++] * inner) {
      shape[axis] = sizes[i];
      parts[i] = {nullptr, sizes[i] * inner};
      auto part = rows == 1 && may_stay_[i] ? PartInPlace(input, offset, shape) : std::nullopt;
      if (part.has_value()) {
        context.set_output(i, *std::move(part));
      } else if (Tensor* output = context.output(i, input.type(), shape); output != nullptr) {
        parts[i].data = Bytes(*output);
      }
    }
    if (empty) return;
    SplitParts(context.threads(), parts, rows, Bytes(input), element);
  }

 private:
  /// Those of input 1. Version 1 has them in the type of the data, which is one of floats.
  static std::optional<std::span<const int64_t>> GivenSizes(KernelContext& context) {
    const Tensor* given = context.input(1);
    if (given == nullptr) return std::nullopt;
    if (given->is(ElementType::kInt64)) return given->values<int64_t>();
    Require(kFloats.contains(given->type()), "split is {}, expected int64", ElementTypeName(given->type()));
    const auto sizes = context.scratch<int64_t>(static_cast<size_t>(given->num_elements()));
    ElementCast(given->type(), ElementType::kInt64).Run(given->raw(), 0, sizes.data(), 0, given->num_elements());
    return sizes;
  }

  const SplitAttributes attributes_;
  std::vector<bool> may_stay_;  // by output
};

}  // namespace

void RegisterSplit(KernelRegistry& registry) { registry.Add(Op("Split").Versions(1).Factory(MakeMovement<Split>)); }

}  // namespace tessera::cpu
