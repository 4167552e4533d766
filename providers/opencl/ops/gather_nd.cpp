// GatherND (11-13). The host checks tuples of indices and sends where the slices that they name begin.

#include "opencl/ops/slices.h"
#include "ops/movement/gather.h"

namespace tessera::opencl {
namespace {

class GatherND final : public Kernel {
 public:
  explicit GatherND(const KernelInfo& info)
      : kernel_(DeviceOf(info), "slices", Moved('X', info.input_type(0)), "gather_slices"),
        offsets_(info, 1),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Shape &dims = x.shape(), &index_dims = indices.shape();
    Require(indices.is(ElementType::kInt64), "indices are {}, expected int64", ElementTypeName(indices.type()));
    const size_t first = attributes_.FirstOfSlice(dims, index_dims);
    const Tensor& y = *context.output(0, SlicesShape(dims, index_dims, first));
    if (y.num_elements() == 0) return;
    const int64_t inner = dims.SizeOfRange(first, dims.rank());
    const SentData sent = offsets_.Send(context, dims, y.num_elements() / inner,
                                        [&](std::span<int64_t> offsets) { Offsets(dims, indices, offsets); });
    kernel_.Linear(context, y.num_elements(), x, sent.range(), y, cl_long{inner});
  }

 private:
  void Offsets(const Shape& dims, const Tensor& indices, std::span<int64_t> offsets) const {
    const auto batch = static_cast<size_t>(attributes_.batch_dims);
    const auto batches = static_cast<size_t>(dims.SizeOfRange(0, batch));
    const int64_t depth = indices.shape().back(), size = dims.SizeOfRange(batch, dims.rank());
    const size_t each = offsets.size() / batches;
    for (size_t b = 0; b < batches; ++b) {
      const std::span part = offsets.subspan(b * each, each);
      TupleOffsets(dims.dims().subspan(batch), depth,
                   indices.values<int64_t>().subspan(b * each * static_cast<size_t>(depth)), part);
      for (int64_t& offset : part) offset += static_cast<int64_t>(b) * size;
    }
  }

  Launchable kernel_;
  SentIntegers offsets_;
  GatherNDAttributes attributes_;
};

}  // namespace

void RegisterGatherND(KernelRegistry& registry) {
  registry.Add(Op("GatherND").Versions(11).Types(0, kMovable).HostInput(1).Make<GatherND>());
}

}  // namespace tessera::opencl
