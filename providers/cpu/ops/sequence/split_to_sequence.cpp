// SplitToSequence (11, 24).

#include <algorithm>

#include "cpu/ops/control_flow/rows.h"
#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SplitToSequence final : public Kernel {
 public:
  explicit SplitToSequence(const KernelInfo& info)
      : axis_(info.attribute<int64_t>("axis", 0)),
        keeps_dims_(info.attribute<int64_t>("keepdims", 1) != 0),
        element_type_(ElementTypeOfSequence(info.output_info(0), info.input_info(0))) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* split = context.input(1);
    const auto rank = static_cast<int64_t>(x.shape().rank());
    const size_t axis = ResolveAxis(axis_, -rank, rank);
    const int64_t size = x.shape()[axis];
    const int64_t inner = x.shape().SizeOfRange(axis + 1, x.shape().rank()), outer = x.shape().SizeOfRange(0, axis);
    Sequence sequence =
        MakeSequence(context, element_type_, NumberOfParts(split, size), kTensorOverhead + HeldBytes(x.shape()));
    int64_t at = 0;
    PacedCancellationPoint look(1);
    const auto take = [&](int64_t length) {
      Require(length >= 0 && length <= size - at, "the parts of a split exceed dimension {} of {}", axis, x.shape());
      Shape part = x.shape();
      part[axis] = length;
      Tensor piece(x.type(), part, context.allocator());
      look.Pass(100);
      for (int64_t row = 0; piece.num_elements() > 0 && row < outer; ++row) {
        look.Pass(length * inner + 10);
        CopyElements(x, (row * size + at) * inner, piece, row * length * inner, length * inner);
      }
      at += length;
      if (split == nullptr && !keeps_dims_) {
        Shape squeezed;
        for (size_t i = 0; i < part.rank(); ++i) {
          if (i != axis) squeezed.Append(part[i]);
        }
        piece = piece.Reshaped(squeezed);
      }
      sequence.elements.emplace_back(std::move(piece));
    };
    if (split == nullptr || split->shape().rank() == 0) {
      const int64_t length = LengthOfParts(split);
      while (at < size) take(std::min(length, size - at));
    } else {
      for (int64_t i = 0; i < split->num_elements(); ++i) {
        take(split->is(ElementType::kInt32) ? split->data<int32_t>()[i] : split->data<int64_t>()[i]);
      }
      Require(at == size, "the parts of a split add up to {}, dimension {} is {}", at, axis, size);
    }
    context.set_output(0, std::move(sequence));
  }

 private:
  static int64_t LengthOfParts(const Tensor* split) {
    const int64_t length = split == nullptr ? 1 : ScalarIndex(*split);
    Require(length > 0, "split is {}; parts need at least one element", length);
    return length;
  }
  /// An empty tensor may have any number of parts: they count before they are made.
  static size_t NumberOfParts(const Tensor* split, int64_t size) {
    if (split != nullptr && split->shape().rank() > 0) return static_cast<size_t>(split->num_elements());
    return size == 0 ? 0 : static_cast<size_t>((size - 1) / LengthOfParts(split) + 1);
  }

  int64_t axis_;
  bool keeps_dims_;
  TypeInfo element_type_;
};

}  // namespace

void RegisterSplitToSequence(KernelRegistry& registry) {
  registry.Add(Op("SplitToSequence").Versions(11).Make<SplitToSequence>());
}

}  // namespace tessera::cpu
