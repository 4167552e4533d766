// Split (1, 2, 11: sizes attribute; 13: sizes input; 18: num_outputs): the inverse of Concat.

#include "base/checked.h"
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
  explicit Split(const KernelInfo& info)
      : axis_(info.attribute<int64_t>("axis", 0)),
        sizes_(info.attribute<std::vector<int64_t>>("split", {})),
        uneven_(info.since_version() >= 18) {
    if (const auto outputs = info.attribute<int64_t>("num_outputs", static_cast<int64_t>(info.num_outputs()));
        outputs != static_cast<int64_t>(info.num_outputs())) {
      Fail(ErrorCode::kInvalidGraph, "num_outputs is {}, but the node has {} outputs", outputs, info.num_outputs());
    }
    for (size_t i = 0; i < info.num_outputs(); ++i) may_stay_.push_back(MayStayInPlace(info, i));
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const size_t axis = NormalizeAxis(axis_, dims.rank()), count = context.num_outputs();
    const std::span<int64_t> sizes = context.scratch<int64_t>(count);
    FindSizes(context, dims[axis], sizes);
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
  void FindSizes(KernelContext& context, int64_t dim, std::span<int64_t> sizes) const {
    const auto count = static_cast<int64_t>(sizes.size());
    const Tensor* given = context.input(1);
    if (given == nullptr && sizes_.empty()) {
      Require(uneven_ || dim % count == 0, "{} elements cannot be split into {} equal parts", dim, count);
      const int64_t size = dim / count + (dim % count != 0 ? 1 : 0);
      for (int64_t& part : sizes) {
        part = std::min(size, dim);
        dim -= part;
      }
      return;
    }
    const bool in_floats = given != nullptr && kFloats.contains(given->type());
    const Integers wanted = given == nullptr ? Integers(sizes_)
                            : in_floats      ? Integers(WholeNumbers(context, *given), "split")
                                             : Integers(*given, "split");
    Require(wanted.size() == sizes.size(), "split has {} sizes for {} outputs", wanted.size(), sizes.size());
    int64_t sum = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = wanted[i];
      Require(sizes[i] >= 0, "size {} of the split is {}", i, sizes[i]);
      sum = CheckedAdd(sum, sizes[i]);
    }
    Require(sum == dim, "the sizes of the split sum to {}, the dimension is {}", sum, dim);
  }

  /// Version 1 has the sizes in the type of the data, which is one of floats.
  static Tensor WholeNumbers(KernelContext& context, const Tensor& given) {
    const auto sizes = context.scratch<int64_t>(static_cast<size_t>(given.num_elements()));
    ElementCast(given.type(), ElementType::kInt64).Run(given.raw(), 0, sizes.data(), 0, given.num_elements());
    return Tensor::View(ElementType::kInt64, given.shape(), sizes.data());
  }

  const int64_t axis_;
  const std::vector<int64_t> sizes_;
  const bool uneven_;
  std::vector<bool> may_stay_;  // by output
};

}  // namespace

void RegisterSplit(KernelRegistry& registry) { registry.Add(Op("Split").Versions(1).Factory(MakeMovement<Split>)); }

}  // namespace tessera::cpu
