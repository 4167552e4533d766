#include "cpu/engine/elementwise_row.h"

#include <algorithm>

#include "ops/activation/activation.h"

namespace tessera::cpu {
namespace {

class OfOneShapeKernel final : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;
  void Compute(KernelContext& context) override {
    const Shape& a = context.required_input(0).shape();
    const Shape& b = context.required_input(1).shape();
    Require(a == b, "shapes {} and {} differ: this operator does not broadcast", a, b);
    BinaryKernel::Compute(context);
  }
};

}  // namespace

KernelDef ToKernelDef(const ElementwiseRow& row, size_t num_inputs, KernelFactory factory) {
  KernelDef def = Op(row.op_type, row.domain).Versions(row.version).Factory(factory);
  for (size_t i = 0; i < num_inputs; ++i) def.Types(i, row.types.set);
  // An input may have the size of the bools in bytes without having their shape.
  for (size_t i = 0; i < num_inputs && !row.to_bool; ++i) def.InPlace(i, 0);
  return def;
}

const ElementwiseRow& FindRow(std::span<const ElementwiseRow> rows, const KernelInfo& info) {
  const auto found = std::ranges::find_if(rows, [&](const ElementwiseRow& row) {
    return info.node().op_type == row.op_type && info.node().domain == row.domain &&
           row.types.set.contains(info.input_type(0));
  });
  if (found == rows.end())
    Fail(ErrorCode::kNotImplemented, "tensor({}) is not supported", ElementTypeName(info.input_type(0)));
  return *found;
}

Elementwise ToElementwise(const ElementwiseRow& row, const KernelInfo& info) {
  const ElementType type = info.input_type(0);
  const bool as_stored = row.types.seen == RowTypes::Seen::kAsStored;
  const ElementType computed = as_stored ? type : ComputeTypeOf(type);
  Elementwise body{row.loop(computed), BitWidth(computed) == 64 ? row.wide_cost_ns : row.cost_ns};
  body.on_halves = as_stored;
  body.to_bool = row.to_bool;
  const ActivationAttributes attributes(info.node());
  if (computed == ElementType::kFloat) {
    body.set_params(Constants<float>{attributes.alpha, attributes.beta});
  } else {
    body.set_params(Constants<double>{attributes.alpha, attributes.beta});
  }
  return body;
}

std::unique_ptr<Kernel> MakeUnary(const ElementwiseRow& row, const KernelInfo& info) {
  return std::make_unique<UnaryKernel>(info, ToElementwise(row, info));
}

std::unique_ptr<Kernel> MakeBinary(const ElementwiseRow& row, const KernelInfo& info) {
  Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
          ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
  const Elementwise body = ToElementwise(row, info);
  if (!row.broadcasts) return std::make_unique<OfOneShapeKernel>(info, body);
  return std::make_unique<BinaryKernel>(info, body);
}

}  // namespace tessera::cpu
