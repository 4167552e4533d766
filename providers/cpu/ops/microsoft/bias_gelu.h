#pragma once

// What BiasGelu and FastGelu share.

#include "cpu/engine/elementwise.h"

namespace tessera::cpu {

/// A function of the first input plus a bias for each of its columns.
class BiasGeluKernel final : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& bias = context.required_input(1);
    const Shape& shape = bias.shape();
    Require(x.type() == bias.type(), "the bias is {}, the input {}", ElementTypeName(bias.type()),
            ElementTypeName(x.type()));
    Require(x.shape().rank() > 0 && shape.rank() == 1 && shape[0] == x.shape().back(), "the bias is {} for an input {}",
            shape, x.shape());
    Run(context, x, bias, x.shape(), shape, x.shape());
  }
};

}  // namespace tessera::cpu
