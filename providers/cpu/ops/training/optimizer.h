#pragma once

// What the optimizers of ai.onnx.preview.training share: one step of gradient descent for any number of tensors. Inputs
// are R (learning rate), T (update count), then the tensors, their gradients and their states, each list in turn.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cpu/types.h"

namespace tessera::cpu {

using OptimizedTypes = TypeList<float, double>;

inline double Rate(const Tensor& tensor) {
  Require(tensor.num_elements() == 1, "the learning rate is {}, expected one number", tensor.shape());
  double rate = 0;
  VisitType(OptimizedTypes{}, tensor.type(), [&]<class T>() { rate = static_cast<double>(tensor.data<T>()[0]); });
  return rate;
}

inline int64_t UpdateCount(const Tensor& tensor) {
  Require(tensor.num_elements() == 1 && tensor.is(ElementType::kInt64), "the update count is {} {}, expected one int64",
          ElementTypeName(tensor.type()), tensor.shape());
  return tensor.data<int64_t>()[0];
}

/// Runs `step(x, g, states...)` over every element of every optimized tensor. States: 1 or 2.
template <size_t States, class Step>
void ForEachElement(KernelContext& context, Step step) {
  constexpr size_t kLists = 2 + States;
  Require(context.num_inputs() > 2 && (context.num_inputs() - 2) % kLists == 0,
          "{} inputs are not R, T and {} lists of equal length", context.num_inputs(), kLists);
  const size_t count = (context.num_inputs() - 2) / kLists;
  for (size_t i = 0; i < count; ++i) {
    const Tensor* in[kLists];
    for (size_t list = 0; list < kLists; ++list) {
      in[list] = &context.required_input(2 + list * count + i);
      Require(in[list]->shape() == in[0]->shape() && in[list]->type() == in[0]->type(),
              "tensor {} is {}, its gradient or state {}", i, in[0]->shape(), in[list]->shape());
    }
    Tensor* out[1 + States];
    for (size_t list = 0; list < 1 + States; ++list) out[list] = context.output(list * count + i, in[0]->shape());
    VisitType(OptimizedTypes{}, in[0]->type(), [&]<class T>() {
      constexpr double kCostNs = 3;
      context.threads().ParallelFor(in[0]->num_elements(), kCostNs, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          T x = in[0]->template data<T>()[j], state[States];
          for (size_t s = 0; s < States; ++s) state[s] = in[2 + s]->template data<T>()[j];
          step(x, in[1]->template data<T>()[j], state);
          if (out[0] != nullptr) out[0]->template mutable_data<T>()[j] = x;
          for (size_t s = 0; s < States; ++s) {
            if (out[1 + s] != nullptr) out[1 + s]->template mutable_data<T>()[j] = state[s];
          }
        }
      });
    });
  }
}

}  // namespace tessera::cpu
