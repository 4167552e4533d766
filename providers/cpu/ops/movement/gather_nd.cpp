// GatherND (11; 12, 13: batch_dims): slices of `data` named by tuples of indices.

#include "cpu/engine/element.h"
#include "cpu/engine/index_tuples.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/ops/ops.h"
#include "ops/movement/gather.h"

namespace tessera::cpu {
namespace {

/// Results [begin, end), one element each.
template <class T>
void GatherPoints(const TupleGeometry& g, const T* data, const int64_t* tuples, int64_t begin, int64_t end, T* output) {
  if (g.depth == 2) {
    for (int64_t i = begin; i < end; ++i) {
      output[i] =
          data[NormalizeIndex(tuples[2 * i], g.dims[0]) * g.steps[0] + NormalizeIndex(tuples[2 * i + 1], g.dims[1])];
    }
    return;
  }
  for (int64_t i = begin; i < end; ++i) output[i] = data[TupleOffset(g, tuples + i * g.depth)];
}

void GatherSlices(const TupleGeometry& g, ElementKind element, int64_t slice, const std::byte* data, const int64_t* tuples,
                  int64_t begin, int64_t end, std::byte* output) {
  const int64_t bytes = slice * element.bytes;
  for (int64_t i = begin; i < end; ++i) {
    const std::byte* from = data + TupleOffset(g, tuples + i * g.depth) * element.bytes;
    if (element.is_string) {
      CopyElements(output + i * bytes, from, slice, element);
    } else {
      CopyBytes(output + i * bytes, from, static_cast<size_t>(bytes));
    }
  }
}

class GatherND final : public Kernel {
 public:
  explicit GatherND(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(indices.is(ElementType::kInt64), "indices are {}, expected int64", ElementTypeName(indices.type()));
    const Shape &dims = data.shape(), &index_dims = indices.shape();
    const Shape shape = SlicesShape(dims, index_dims, attributes_.FirstOfSlice(dims, index_dims));
    const auto batch = static_cast<size_t>(attributes_.batch_dims);
    const int64_t depth = index_dims.back();
    const ElementKind element = KindOf(data.type());
    Tensor* output = context.output(0, data.type(), shape);
    const std::span<int64_t> steps = context.scratch<int64_t>(static_cast<size_t>(depth));
    const int64_t slice = TupleSteps(dims, batch, steps);
    const int64_t batches = dims.SizeOfRange(0, batch);
    const int64_t tuples = index_dims.SizeOfRange(0, index_dims.rank() - 1);
    if (tuples == 0 || batches == 0) return;
    if (depth == 0 && output->num_elements() == 0) return;  // nothing to copy, and no index to check
    const int64_t per_batch = tuples / batches, batch_size = dims.SizeOfRange(batch, dims.rank());
    const TupleGeometry g{dims.data() + batch, steps.data(), depth};
    const int64_t* tuple = indices.data<int64_t>();
    const double cost = CopyCost(element) * static_cast<double>(slice) + 1.5 * static_cast<double>(depth);
    context.threads().ParallelFor(tuples, cost, [&](int64_t begin, int64_t end) {
      int64_t batch_index = begin / per_batch;
      for (int64_t i = begin; i < end; ++batch_index) {
        const int64_t stop = std::min(end, (batch_index + 1) * per_batch);
        const std::byte* from = Bytes(data) + batch_index * batch_size * element.bytes;
        if (slice == 1) {
          VisitElement(element, [&]<class T>() {
            GatherPoints(g, reinterpret_cast<const T*>(from), tuple, i, stop, static_cast<T*>(output->mutable_raw()));
          });
        } else {
          GatherSlices(g, element, slice, from, tuple, i, stop, Bytes(*output));
        }
        i = stop;
      }
    });
  }

 private:
  const GatherNDAttributes attributes_;
};

}  // namespace

void RegisterGatherND(KernelRegistry& registry) {
  registry.Add(Op("GatherND").Versions(11).Factory(MakeMovement<GatherND>));
}

}  // namespace tessera::cpu
