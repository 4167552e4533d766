// RNN (ai.onnx 1, 7, 14, 22).

#include "cpu/ops/ops.h"
#include "cpu/ops/rnn/recurrent.h"

namespace tessera::cpu {
namespace {

template <class T>
class Rnn final : public Recurrent<T> {
  using F = typename Recurrent<T>::F;

 public:
  explicit Rnn(const KernelInfo& info) : Recurrent<T>(info, {1}, false) {}

 private:
  void Step(RecurrentRun<F>& run) const override {
    const int64_t hidden = run.sizes.hidden;
    this->AddMatMul(run, 0, run.h, run.gates, run.gates_row, true, nullptr);
    run.threads->ParallelFor(run.sizes.batch, run.row_cost() / 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        if (!run.active(b)) continue;
        RecurrentCell(this->activation(run.direction, 0), this->clip_, hidden, run.gates + b * run.gates_row,
                      run.h + b * hidden);
      }
    });
  }
};

}  // namespace

void RegisterRnn(KernelRegistry& registry) {
  registry.Add(Op("RNN").Versions(1).Types(0, kFloats).Factory(MakeTyped<Rnn, FloatTypes>));
}

}  // namespace tessera::cpu
