// Gather (1, 11, 13): slices of `data` along `axis`, picked by index.

#include <algorithm>
#include <type_traits>

#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "ops/movement/gather.h"

namespace tessera::cpu {
namespace {

struct GatherGeometry {
  int64_t dim;      // of the gathered axis
  int64_t count;    // indices
  int64_t block;    // elements of a slice inside of the axis
  int64_t src_row;  // elements of the source from one outer index to the next
};

/// Results [begin, end): result i is index i % count of outer row i / count. Slices are single elements.
template <class T, class Index>
void GatherPoints(const GatherGeometry& g, const T* data, const Index* indices, T* output, int64_t begin, int64_t end) {
  int64_t row = begin / g.count, at = begin % g.count;
  for (int64_t i = begin; i < end; ++row, at = 0) {
    const T* source = data + row * g.dim;
    for (; at < g.count && i < end; ++at, ++i) output[i] = LoadUnaligned(source + NormalizeIndex(indices[at], g.dim));
  }
}

template <class Index>
void GatherSlices(const GatherGeometry& g, ElementKind element, const std::byte* data, const Index* indices,
                  std::byte* output, int64_t begin, int64_t end) {
  const int64_t bytes = g.block * element.bytes;
  int64_t row = begin / g.count, at = begin % g.count;
  for (int64_t i = begin; i < end; ++row, at = 0) {
    const std::byte* source = data + row * g.src_row * element.bytes;
    while (at < g.count && i < end) {
      const int64_t first = NormalizeIndex(indices[at], g.dim);
      int64_t run = 1;  // neighbours are copied together
      for (const int64_t most = std::min(g.count - at, end - i); run < most && indices[at + run] == first + run; ++run) {
        if (first + run >= g.dim) break;
      }
      const std::byte* slices = source + first * bytes;
      if (element.is_string) {
        CopyElements(output + i * bytes, slices, run * g.block, element);
      } else {
        CopyBytes(output + i * bytes, slices, static_cast<size_t>(run * bytes));
      }
      at += run;
      i += run;
    }
  }
}

class Gather final : public Kernel {
 public:
  explicit Gather(const KernelInfo& info) : axis_(GatherAttributes(info.node()).axis) { info.AcceptUnaligned(0); }

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Shape& dims = data.shape();
    const size_t axis = NormalizeAxis(axis_, dims.rank());
    const Shape shape = GatherAttributes::ResultShape(dims, indices.shape(), axis);
    const ElementKind element = KindOf(data.type());
    Tensor* output = context.output(0, data.type(), shape);
    if (output->num_elements() == 0) return CheckOnly(indices, dims[axis]);
    GatherGeometry g{dims[axis], indices.num_elements(), dims.SizeOfRange(axis + 1, dims.rank()), 0};
    g.src_row = g.dim * g.block;
    const int64_t total = dims.SizeOfRange(0, axis) * g.count;
    const double cost = CopyCost(element) * static_cast<double>(g.block) + 1;
    VisitIndices(indices, [&]<class Index>(const Index* index) {
      context.threads().ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
        if (g.block == 1 && element.bytes <= 8) {
          VisitElement(element, [&]<class T>() {
            if constexpr (std::is_trivially_copyable_v<T>)  // strings are longer than that
              GatherPoints(g, static_cast<const T*>(data.unaligned_raw()), index, static_cast<T*>(output->mutable_raw()),
                           begin, end);
          });
        } else {
          GatherSlices(g, element, static_cast<const std::byte*>(data.unaligned_raw()), index, Bytes(*output), begin, end);
        }
      });
    });
  }

 private:
  /// Where nothing is copied, indices must still be right.
  static void CheckOnly(const Tensor& indices, int64_t dim) {
    VisitIndices(indices, [&]<class Index>(const Index* index) {
      for (int64_t i = 0; i < indices.num_elements(); ++i) NormalizeIndex(index[i], dim);
    });
  }

  const int64_t axis_;
};

}  // namespace

void RegisterGather(KernelRegistry& registry) { registry.Add(Op("Gather").Versions(1).Factory(MakeMovement<Gather>)); }

}  // namespace tessera::cpu
