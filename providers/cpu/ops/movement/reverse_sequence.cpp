// ReverseSequence (10, 28): the first sequence_lens[i] steps of each sequence in reverse order, the others as they are.

#include "ops/movement/reverse_sequence.h"

#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class ReverseSequence final : public Kernel {
 public:
  explicit ReverseSequence(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const int64_t* length = attributes_.Lengths(dims, context.required_input(1)).data();
    const int64_t times = attributes_.Times(dims), batch = attributes_.Batch(dims);
    Tensor* output = context.output(0, input.type(), dims);
    if (output->num_elements() == 0) return;
    const ElementKind element = KindOf(input.type());
    const int64_t row = dims.SizeOfRange(2, dims.rank());
    const double cost = static_cast<double>(dims[1]) * (2 + static_cast<double>(row) * CopyCost(element));
    context.threads().ParallelFor(dims[0], cost, [&](int64_t begin, int64_t end) {
      VisitElement(element, [&]<class T>() {
        const T* from = static_cast<const T*>(input.raw());
        T* to = static_cast<T*>(output->mutable_raw());
        for (int64_t i = begin; i < end; ++i) {
          if (attributes_.time_first) {
            GatherStep(from, to + i * batch * row, i, batch, row, length);
          } else {
            ReverseRows(from + i * times * row, to + i * times * row, times, row, length[i]);
          }
        }
      });
    });
  }

 private:
  /// One step of every sequence, [time, batch, row].
  template <class T>
  static void GatherStep(const T* from, T* to, int64_t time, int64_t batch, int64_t row, const int64_t* length) {
    PacedCancellationPoint look(0.5);
    for (int64_t i = 0; i < batch; ++i) {
      look.Pass(row + 4);
      const int64_t source = time < length[i] ? length[i] - 1 - time : time;
      CopyCancellably(to + i * row, from + (source * batch + i) * row, row);
    }
  }

  /// One sequence, [time, row].
  template <class T>
  static void ReverseRows(const T* from, T* to, int64_t times, int64_t row, int64_t length) {
    const double row_ns = 0.5 * static_cast<double>(row + 1);
    InCancellablePieces(0, length, row_ns, [&](int64_t begin, int64_t end) {
      if (row == 1) {
        std::reverse_copy(from + length - end, from + length - begin, to + begin);
      } else {
        for (int64_t t = begin; t < end; ++t) CopyCancellably(to + t * row, from + (length - 1 - t) * row, row);
      }
    });
    CopyCancellably(to + length * row, from + length * row, (times - length) * row);
  }

  const ReverseSequenceAttributes attributes_;
};

}  // namespace

void RegisterReverseSequence(KernelRegistry& registry) {
  registry.Add(Op("ReverseSequence").Versions(10).Factory(MakeMovement<ReverseSequence>));
}

}  // namespace tessera::cpu
