// Concat (1, 4, 11, 13): tensors one after another along `axis`.

#include "ops/movement/concat.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/parts.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Concat final : public Kernel {
 public:
  explicit Concat(const KernelInfo& info) : axis_(ConcatAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    const Tensor& first = context.required_input(0);
    const size_t rank = first.shape().rank(), count = context.num_inputs();
    const size_t axis = NormalizeAxis(axis_, rank);
    Shape shape = first.shape();
    for (size_t i = 1; i < count; ++i) {
      const Tensor& input = context.required_input(i);
      Require(input.type() == first.type(), "input {} is {}, input 0 {}", i, ElementTypeName(input.type()),
              ElementTypeName(first.type()));
      ConcatAttributes::Join(shape, input.shape(), axis);
    }
    const ElementKind element = KindOf(first.type());
    if (shape.num_elements() == 0) return static_cast<void>(context.output(0, first.type(), shape));
    const int64_t rows = shape.SizeOfRange(0, axis), inner = shape.SizeOfRange(axis + 1, rank) * element.bytes;
    Tensor* output = rows == 1 ? context.joined_output(0, first.type(), shape) : context.output(0, first.type(), shape);
    const std::span<Part> parts = context.scratch<Part>(count);
    for (size_t i = 0; i < count; ++i) {
      const Tensor& input = context.required_input(i);
      parts[i] = {const_cast<std::byte*>(Bytes(input)), input.shape()[axis] * inner};
    }
    if (rows == 1) return JoinMissing(context.threads(), parts, Bytes(*output), element);
    JoinParts(context.threads(), parts, rows, Bytes(*output), element);
  }

 private:
  /// One row, of which the planner has placed parts already.
  static void JoinMissing(ThreadPool& threads, std::span<Part> parts, std::byte* row, ElementKind element) {
    for (size_t i = 0; i < parts.size();) {
      if (parts[i].data == row) {
        row += parts[i++].row_bytes;
        continue;
      }
      const size_t first = i;
      std::byte* at = row;
      for (; i < parts.size() && parts[i].data != row; ++i) row += parts[i].row_bytes;
      JoinParts(threads, parts.subspan(first, i - first), 1, at, element);
    }
  }

  const int64_t axis_;
};

}  // namespace

void RegisterConcat(KernelRegistry& registry) { registry.Add(Op("Concat").Versions(1).Factory(MakeMovement<Concat>)); }

}  // namespace tessera::cpu
