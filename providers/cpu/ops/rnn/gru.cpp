// GRU (ai.onnx 1, 3, 7, 14, 22).

#include "cpu/ops/ops.h"
#include "cpu/ops/rnn/recurrent.h"

namespace tessera::cpu {
namespace {

template <class T>
class Gru final : public Recurrent<T> {
  using F = typename Recurrent<T>::F;

 public:
  explicit Gru(const KernelInfo& info)
      : Recurrent<T>(info, {2, 1}, false), linear_before_reset_(this->attributes_.linear_before_reset) {}

 private:
  bool folds_bias(int64_t gate) const override { return gate < 2 || !linear_before_reset_; }

  void Step(RecurrentRun<F>& run) const override {
    const int64_t hidden = run.sizes.hidden, batch = run.sizes.batch;
    F *recurrent = run.temp, *reset_state = run.temp + batch * hidden;
    const auto rows = [&](auto body) {
      run.threads->ParallelFor(batch, run.row_cost() / 2, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          F* gates = run.gates + b * run.gates_row;
          GruRow<F> row{};
          row.hidden = hidden;
          row.update = gates;
          row.reset = gates + hidden;
          row.candidate = gates + 2 * hidden;
          row.recurrent = linear_before_reset_ ? recurrent + b * hidden : nullptr;
          row.f = this->activation(run.direction, 0);
          row.g = this->activation(run.direction, 1);
          row.clip = this->clip_;
          row.state = run.h + b * hidden;
          row.reset_state = linear_before_reset_ ? nullptr : reset_state + b * hidden;
          body(row, b);
        }
      });
    };
    this->AddMatMul(run, 0, run.h, run.gates, run.gates_row, true, nullptr);
    rows([](const GruRow<F>& row, int64_t) { GruReset(row); });
    if (linear_before_reset_) {
      const F* bias = run.bias == nullptr ? nullptr : run.bias + 5 * hidden;
      this->AddMatMul(run, 1, run.h, recurrent, hidden, false, bias);
    } else {
      this->AddMatMul(run, 1, reset_state, run.gates + 2 * hidden, run.gates_row, true, nullptr);
    }
    rows([&](const GruRow<F>& row, int64_t b) {
      if (run.active(b)) GruCell(row);
    });
  }

  bool linear_before_reset_;
};

}  // namespace

void RegisterGru(KernelRegistry& registry) {
  registry.Add(Op("GRU").Versions(1).Types(0, kFloats).Factory(MakeTyped<Gru, FloatTypes>));
}

}  // namespace tessera::cpu
