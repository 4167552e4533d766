#include "opencl/ops/elementwise.h"

#include <algorithm>

#include "opencl/device/sources.h"

namespace tessera::opencl {
namespace {

/// Operands that a node does not have read the first one.
std::string InputTypes(const KernelInfo& info) {
  std::string types = Computed('Y', info.output_type(0));
  for (size_t i = 0; i < 3; ++i) {
    types += Computed(static_cast<char>('A' + i), info.input_type(info.has_input(i) ? i : 0));
  }
  return types;
}

}  // namespace

Elementwise::Elementwise(const KernelInfo& info, std::string_view expression, float alpha, float beta)
    : Elementwise(info, InputTypes(info), expression, alpha, beta) {}

Elementwise::Elementwise(const KernelInfo& info, std::string_view types, std::string_view expression, float alpha,
                         float beta)
    : by_rows_(!SettingsOf(info).tiles),
      kernel_(DeviceOf(info), "elementwise",
              fmt::format("{}{}{}#define OP {}\n", types, KernelSource("functions"),
                          by_rows_ ? Launchable::RowPieceDefines() : "", expression),
              by_rows_ ? "elementwise_rows" : "elementwise"),
      alpha_(alpha),
      beta_(beta) {}

void Elementwise::Compute(KernelContext& context) {
  const Tensor* operands[3] = {};
  const size_t count = std::min<size_t>(context.num_inputs(), 3);
  Shape shape = context.required_input(0).shape();
  for (size_t i = 0; i < 3; ++i) {
    operands[i] = i < count && context.input(i) != nullptr ? context.input(i) : &context.required_input(0);
    shape = Broadcast(shape, operands[i]->shape());
  }
  Launch(context, operands, *context.output(0, shape), alpha_, beta_);
}

void Elementwise::Launch(KernelContext& context, std::span<const Tensor* const> operands, const Tensor& y, float alpha,
                         float beta) {
  const Tensor& a = *operands[0];
  const Tensor& b = operands.size() > 1 ? *operands[1] : a;
  const Tensor& c = operands.size() > 2 ? *operands[2] : a;
  Strided s = Block(y.shape());
  s.a = BroadcastStrides(a.shape(), y.shape());
  s.b = BroadcastStrides(b.shape(), y.shape());
  s.c = BroadcastStrides(c.shape(), y.shape());
  s.Coalesce();
  const int64_t size = s.dims[static_cast<size_t>(s.rank - 1)];
  if (by_rows_ && y.num_elements() > 0)
    return kernel_.Rows(context, size, y.num_elements() / size, a, b, c, y, s, alpha, beta);
  kernel_.Linear(context, y.num_elements(), a, b, c, y, s, alpha, beta);
}

Shape Elementwise::Broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.rank(), b.rank()), 1);
  for (const Shape* shape : {&a, &b}) {
    const size_t shift = result.rank() - shape->rank();
    for (size_t i = 0; i < shape->rank(); ++i) {
      int64_t& dim = result[shift + i];
      Require((*shape)[i] == 1 || dim == 1 || dim == (*shape)[i], "shapes {} and {} do not broadcast", a, b);
      if ((*shape)[i] != 1) dim = (*shape)[i];
    }
  }
  return result;
}

}  // namespace tessera::opencl
