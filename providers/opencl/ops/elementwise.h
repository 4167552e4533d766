#pragma once

#include <span>
#include <string>

#include "opencl/device/kernel.h"

namespace tessera::opencl {

/// y = f(a[, b[, c]]) with broadcasting, for one expression of OpenCL C over a, b, c, alpha and beta.
class Elementwise : public Kernel {
 public:
  Elementwise(const KernelInfo& info, std::string_view expression, float alpha = 0, float beta = 0);
  /// With the macros of the types given: for operands that are moved or of types that differ from the inputs'.
  Elementwise(const KernelInfo& info, std::string_view types, std::string_view expression, float alpha, float beta);

  void Compute(KernelContext& context) override;

  /// y of the operands' common shape.
  void Launch(KernelContext& context, std::span<const Tensor* const> operands, const Tensor& y, float alpha, float beta);
  void Launch(KernelContext& context, std::span<const Tensor* const> operands, const Tensor& y) {
    Launch(context, operands, y, alpha_, beta_);
  }
  static Shape Broadcast(const Shape& a, const Shape& b);

 private:
  const bool by_rows_;  // on processors
  Launchable kernel_;
  float alpha_, beta_;
};

/// The expression over a, alpha and beta of an operator of one real tensor, and the two numbers; none for other nodes.
struct UnaryExpression {
  std::string text;
  float alpha = 0, beta = 0;
};
std::optional<UnaryExpression> UnaryExpressionOf(const Node& node);
/// The expression over a and b of the arithmetic of two real tensors; empty for other nodes.
std::string_view ArithmeticExpressionOf(const Node& node);

}  // namespace tessera::opencl
