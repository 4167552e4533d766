// Scatter (9, 11) and ScatterElements (11, 13; 16, 18: reduction): one element of the output set or combined per index.

#include "base/cancellation.h"
#include "cpu/engine/element_walk.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/scatter_reduction.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <ScatterReduction kReduction, class T, class Index>
void ScatterRow(T* output, const Index* indices, const T* updates, int64_t length, int64_t stride, int64_t axis_stride,
                int64_t axis_size) {
  InCancellablePieces(0, length, std::is_same_v<T, std::string> ? 25 : 1.5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T& target = output[i * stride + NormalizeIndex(indices[i], axis_size) * axis_stride];
      if constexpr (kReduction == ScatterReduction::kNone) {
        target = updates[i];
      } else {
        target = Combine<kReduction>(target, updates[i]);
      }
    }
  });
}

class ScatterElements final : public Kernel {
 public:
  explicit ScatterElements(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Tensor& updates = context.required_input(2);
    const ElementWalk walk(data.shape(), indices.shape(), attributes_.Check(data, indices, updates));
    const ElementKind element = KindOf(data.type());
    Tensor* output = context.output(0, data.type(), data.shape());
    ReserveTexts(data, updates, *output);
    CopyUnlessInPlace(context.threads(), data, *output);
    if (walk.empty) return;
    const int shared = walk.SharedDim();
    const int64_t total = shared < 0 ? 1 : walk.dims[shared].size;
    const double cost =
        (element.is_string ? 25.0 : 1.5) * static_cast<double>(indices.num_elements()) / static_cast<double>(total);
    VisitScatter(data.type(), attributes_.reduction, [&]<class T, ScatterReduction kReduction>() {
      T* to = static_cast<T*>(output->mutable_raw());
      const T* from = static_cast<const T*>(updates.raw());
      VisitIndices(indices, [&]<class Index>(const Index* index) {
        context.threads().ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
          walk.ForEachRow(shared, begin, end, [&](int64_t position, int64_t offset, int64_t length, int64_t stride) {
            ScatterRow<kReduction>(to + offset, index + position, from + position, length, stride, walk.axis_stride,
                                   walk.axis_size);
          });
        });
      });
    });
  }

 private:
  const ScatterElementsAttributes attributes_;
};

}  // namespace

void RegisterScatterElements(KernelRegistry& registry) {
  registry.Add(Op("Scatter").Versions(9).InPlace(0, 0).Factory(MakeScatter<ScatterElements>));
  registry.Add(Op("ScatterElements").Versions(11).InPlace(0, 0).Factory(MakeScatter<ScatterElements>));
}

}  // namespace tessera::cpu
