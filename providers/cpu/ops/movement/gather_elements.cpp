// GatherElements (11, 13): one element of `data` per index.

#include "cpu/engine/element.h"
#include "cpu/engine/element_walk.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/ops/ops.h"
#include "kernels/transpose/indices.h"
#include "ops/movement/gather.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kPiece = 256;         // of a row: its positions stay in the first cache
constexpr int64_t kShortestPiece = 16;  // shorter ones are not worth a call

/// Elements of one row; `stride` apart where the row does not run along the axis.
template <class T, class Index>
void GatherFew(const T* data, const Index* indices, int64_t count, int64_t stride, int64_t axis_stride, int64_t axis_size,
               T* output) {
  for (int64_t i = 0; i < count; ++i) output[i] = data[i * stride + NormalizeIndex(indices[i], axis_size) * axis_stride];
}

/// kStep: the axis' stride where it is known and the row runs along the axis; else 0.
template <int kStep, class T>
void GatherAt(const T* __restrict data, const int64_t* __restrict positions, int64_t count, int64_t stride,
              int64_t axis_stride, T* __restrict output) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kStep == 1) {
      output[i] = data[positions[i]];
    } else {
      output[i] = data[i * stride + positions[i] * axis_stride];
    }
  }
}

template <class T, class Index>
void GatherRow(const T* data, const Index* indices, int64_t length, int64_t stride, int64_t axis_stride, int64_t axis_size,
               T* output) {
  if (length < kShortestPiece) return GatherFew(data, indices, length, stride, axis_stride, axis_size, output);
  int64_t positions[kPiece];
  for (int64_t begin = 0; begin < length; begin += kPiece) {
    const int64_t count = std::min(length - begin, kPiece);
    const T* from = data + begin * stride;
    if (!PositionsOf(indices + begin, count, axis_size, positions)) {
      return GatherFew(from, indices + begin, count, stride, axis_stride, axis_size, output + begin);  // which says where
    }
    if (stride == 0 && axis_stride == 1) {
      GatherAt<1>(from, positions, count, stride, axis_stride, output + begin);
    } else {
      GatherAt<0>(from, positions, count, stride, axis_stride, output + begin);
    }
  }
}

class GatherElements final : public Kernel {
 public:
  explicit GatherElements(const KernelInfo& info) : axis_(GatherAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const ElementWalk walk(data.shape(), indices.shape(), ElementsAxis(data.shape(), indices.shape(), axis_));
    const ElementKind element = KindOf(data.type());
    Tensor* output = context.output(0, data.type(), indices.shape());
    if (walk.empty) return;
    // No two results share an element, so that any dimension may be shared out: the outermost keeps rows whole.
    const int shared = walk.count > 1 && walk.dims[0].size < 8 && walk.dims[1].size > walk.dims[0].size ? 1 : 0;
    const int64_t total = walk.dims[shared].size;
    const double cost =
        (element.is_string ? 25.0 : 1.0) * static_cast<double>(indices.num_elements()) / static_cast<double>(total);
    VisitIndices(indices, [&]<class Index>(const Index* index) {
      VisitElement(element, [&]<class T>() {
        const T* from = static_cast<const T*>(data.raw());
        T* to = static_cast<T*>(output->mutable_raw());
        context.threads().ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
          walk.ForEachRow(shared, begin, end, [&](int64_t position, int64_t offset, int64_t length, int64_t stride) {
            GatherRow(from + offset, index + position, length, stride, walk.axis_stride, walk.axis_size, to + position);
          });
        });
      });
    });
  }

 private:
  const int64_t axis_;
};

}  // namespace

void RegisterGatherElements(KernelRegistry& registry) {
  registry.Add(Op("GatherElements").Versions(11).Factory(MakeMovement<GatherElements>));
}

}  // namespace tessera::cpu
