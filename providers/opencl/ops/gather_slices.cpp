// GatherND (11-13), ReverseSequence (10), Compress (9, 11): slices that are gathered from places the host knows.

#include <algorithm>

#include "base/cancellation.h"
#include "opencl/ops/slices.h"
#include "ops/movement/compress.h"
#include "ops/movement/gather.h"
#include "ops/movement/reverse_sequence.h"

namespace tessera::opencl {
namespace {

class GatherSlices : public Kernel {
 public:
  explicit GatherSlices(const KernelInfo& info)
      : kernel_(DeviceOf(info), "slices", Moved('X', info.input_type(0)), "gather_slices"), offsets_(info, 1) {}

 protected:
  /// y's slices of `inner` elements come from offsets of x that `fill` writes.
  void Gather(KernelContext& context, const Tensor& y, int64_t inner, const std::function<void(std::span<int64_t>)>& fill) {
    if (y.num_elements() == 0) return;
    const Tensor& x = context.required_input(0);
    const Buffer sent = offsets_.Send(context, x.shape(), y.num_elements() / inner, fill);
    kernel_.Linear(context, y.num_elements(), x, BufferRange{sent.get(), 0}, y, cl_long{inner});
  }

 private:
  Launchable kernel_;
  SentIntegers offsets_;
};

class GatherND final : public GatherSlices {
 public:
  explicit GatherND(const KernelInfo& info) : GatherSlices(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const Tensor& indices = context.required_input(1);
    const Shape& index_dims = indices.shape();
    Require(indices.is(ElementType::kInt64), "indices are {}, expected int64", ElementTypeName(indices.type()));
    const size_t first = attributes_.FirstOfSlice(dims, index_dims);
    const auto batch = static_cast<size_t>(attributes_.batch_dims);
    const int64_t depth = index_dims.back();
    const Tensor& y = *context.output(0, SlicesShape(dims, index_dims, first));
    Gather(context, y, dims.SizeOfRange(first, dims.rank()), [&](std::span<int64_t> offsets) {
      const auto batches = static_cast<size_t>(dims.SizeOfRange(0, batch));
      const size_t each = offsets.size() / batches;
      const int64_t size = dims.SizeOfRange(batch, dims.rank());
      for (size_t b = 0; b < batches; ++b) {
        const std::span part = offsets.subspan(b * each, each);
        TupleOffsets(dims.dims().subspan(batch), depth,
                     indices.values<int64_t>().subspan(b * each * static_cast<size_t>(depth)), part);
        for (int64_t& offset : part) offset += static_cast<int64_t>(b) * size;
      }
    });
  }

 private:
  GatherNDAttributes attributes_;
};

class ReverseSequence final : public GatherSlices {
 public:
  explicit ReverseSequence(const KernelInfo& info) : GatherSlices(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const auto lengths = attributes_.Lengths(dims, context.required_input(1));
    const bool time_first = attributes_.time_first;
    const int64_t row = dims.SizeOfRange(2, dims.rank());
    const Tensor& y = *context.output(0, dims);
    Gather(context, y, row, [&](std::span<int64_t> offsets) {
      PacedCancellationPoint point(5);
      for (int64_t i = 0; i < dims[0]; ++i) {
        for (int64_t k = 0; k < dims[1]; ++k) {
          point.Pass();
          const int64_t time = time_first ? i : k, entry = time_first ? k : i;
          const int64_t length = lengths[static_cast<size_t>(entry)], from = time < length ? length - 1 - time : time;
          offsets[static_cast<size_t>(i * dims[1] + k)] = (time_first ? from * dims[1] + k : i * dims[1] + from) * row;
        }
      }
    });
  }

 private:
  ReverseSequenceAttributes attributes_;
};

class Compress final : public GatherSlices {
 public:
  explicit Compress(const KernelInfo& info) : GatherSlices(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& condition = context.required_input(1);
    const AxisView view = attributes_.View(x.shape(), condition);
    const int64_t length = std::min(view.count, condition.num_elements());
    const auto* wanted = static_cast<const uint8_t*>(condition.raw());
    const int64_t kept = length - std::count(wanted, wanted + length, uint8_t{0});
    const Tensor& y = *context.output(0, attributes_.ResultShape(x.shape(), kept));
    Gather(context, y, view.inner, [&](std::span<int64_t> offsets) {
      size_t to = 0;
      for (int64_t row = 0; row < view.outer; ++row) {
        for (int64_t i = 0; i < length; ++i) {
          if (wanted[i] != 0) offsets[to++] = (row * view.count + i) * view.inner;
        }
      }
    });
  }

 private:
  CompressAttributes attributes_;
};

}  // namespace

void RegisterGatherSlices(KernelRegistry& registry) {
  registry.Add(Op("GatherND").Versions(11).Types(0, kMovable).HostInput(1).Make<GatherND>());
  registry.Add(Op("ReverseSequence").Versions(10).Types(0, kMovable).HostInput(1).Make<ReverseSequence>());
  registry.Add(Op("Compress").Versions(9).Types(0, kMovable).HostInput(1).Make<Compress>());
}

}  // namespace tessera::opencl
