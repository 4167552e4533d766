#pragma once

// The cell of LSTM, for the operators that differ in what they multiply by.

#include "cpu/ops/rnn/recurrent.h"

namespace tessera::cpu {

template <class T>
class Lstm : public Recurrent<T> {
  using F = typename Recurrent<T>::F;

 public:
  explicit Lstm(const KernelInfo& info) : Recurrent<T>(info, {4}, true), input_forget_(this->attributes_.input_forget) {}

 private:
  void Step(RecurrentRun<F>& run) const override {
    const int64_t hidden = run.sizes.hidden;
    this->AddMatMul(run, 0, run.h, run.gates, run.gates_row, true, nullptr);
    const F* p = run.peepholes;
    run.threads->ParallelFor(run.sizes.batch, run.row_cost(), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        if (!run.active(b)) continue;
        const F* gates = run.gates + b * run.gates_row;
        LstmRow<F> row{};
        row.hidden = hidden;
        row.input = gates;
        row.output = gates + hidden;
        row.forget = gates + 2 * hidden;
        row.cell = gates + 3 * hidden;
        row.peephole_input = p;
        row.peephole_output = p == nullptr ? nullptr : p + hidden;
        row.peephole_forget = p == nullptr ? nullptr : p + 2 * hidden;
        row.f = this->activation(run.direction, 0);
        row.g = this->activation(run.direction, 1);
        row.h = this->activation(run.direction, 2);
        row.clip = this->clip_;
        row.input_forget = input_forget_;
        row.c = run.c + b * hidden;
        row.out = run.h + b * hidden;
        LstmCell(row);
      }
    });
  }

  bool input_forget_;
};

}  // namespace tessera::cpu
