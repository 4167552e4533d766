// Slice (1, 10, 11, 13): start, end and step per axis, as ops/movement/slice.h has them.

#include "ops/movement/slice.h"

#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/parts.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Slice final : public Kernel {
 public:
  explicit Slice(const KernelInfo& info) : attributes_(info.node()), may_stay_(MayStayInPlace(info, 0)) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Shape& dims = data.shape();
    const size_t rank = dims.rank();
    const auto [starts, shape, steps] = attributes_.Ranges(dims, GivenSlicesOf(context));
    bool whole = true;
    for (size_t i = 0; i < rank; ++i) whole &= shape[i] == dims[i] && (steps[i] == 1 || dims[i] <= 1);
    if (whole) return context.set_output(0, data);
    const ElementKind element = KindOf(data.type());
    int64_t dst_stride = shape.num_elements(), src_stride = data.num_elements(), first = 0;
    if (dst_stride == 0) return static_cast<void>(context.output(0, data.type(), shape));
    StridedCopy copy(element);
    bool dense = may_stay_;
    for (size_t i = 0; i < rank; ++i) {
      src_stride /= dims[i];
      dst_stride /= shape[i];
      first += starts[i] * src_stride;
      dense &= shape[i] == 1 || steps[i] * src_stride == dst_stride;
      copy.Add(shape[i], shape[i] > 1 ? steps[i] * src_stride : 0, dst_stride);
    }
    if (dense) {
      if (auto part = PartInPlace(data, first * element.bytes, shape); part.has_value())
        return context.set_output(0, *std::move(part));
    }
    copy.Run(context.threads(), Bytes(data) + first * element.bytes, context.output(0, data.type(), shape)->mutable_raw());
  }

 private:
  const SliceAttributes attributes_;
  const bool may_stay_;
};

}  // namespace

void RegisterSlice(KernelRegistry& registry) { registry.Add(Op("Slice").Versions(1).Factory(MakeMovement<Slice>)); }

}  // namespace tessera::cpu
