#include "onednn/program/epilogue.h"

namespace tessera::onednn {
namespace {

using cpu::ActivationKind;

std::optional<cpu::Activation<float>> AsActivation(const ProgramBuilder::Fusion::Op& op) {
  const auto make = [&](ActivationKind kind) { return cpu::Activation<float>{kind, op.alpha, op.beta}; };
  if (op.eltwise == dnnl::algorithm::eltwise_relu)
    return make(op.alpha == 0 ? ActivationKind::kRelu : ActivationKind::kLeakyRelu);
  if (op.eltwise == dnnl::algorithm::eltwise_clip) return make(ActivationKind::kClip);
  if (op.eltwise == dnnl::algorithm::eltwise_hardswish) return make(ActivationKind::kHardSwish);
  return std::nullopt;
}

bool IsAddition(const ProgramBuilder::Fusion::Op& op) { return !op.eltwise && op.binary == dnnl::algorithm::binary_add; }

}  // namespace

Epilogue TakeEpilogue(ProgramBuilder& builder, ValueIndex value, const Dims& dims, const Desc& layout,
                      const std::vector<MemoryIndex>& read) {
  Epilogue epilogue{builder.FuseFollowers(value, dims, true), {}, kNone, std::nullopt};
  auto& ops = epilogue.fusion.ops;
  size_t keep = !ops.empty() && IsAddition(ops[0]) ? 1 : 0;
  if (keep < ops.size() && AsActivation(ops[keep])) ++keep;
  builder.Unfuse(epilogue.fusion, keep);
  builder.AddInPlace(epilogue.fusion, layout, read);
  const auto in_place = epilogue.fusion.destination();
  epilogue.destination = in_place ? *in_place : builder.Temporary(layout);
  for (const auto& op : ops) {
    if (IsAddition(op)) {
      epilogue.residual = in_place ? *in_place : builder.InLayout(op.operand.memory, layout);
    } else {
      epilogue.activation = *AsActivation(op);
    }
  }
  return epilogue;
}

dnnl::primitive_attr ProgramBuilder::Fusion::Attributes(const Desc& output) const {
  dnnl::post_ops post_ops;
  for (const Op& op : ops) {
    if (op.in_place) {
      post_ops.append_sum();
      continue;
    }
    if (!op.eltwise) {
      post_ops.append_binary(op.binary, output);
      continue;
    }
#if DNNL_VERSION_MAJOR >= 3
    post_ops.append_eltwise(*op.eltwise, op.alpha, op.beta);
#else
    post_ops.append_eltwise(1.0f, *op.eltwise, op.alpha, op.beta);
#endif
  }
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(post_ops);
  return attr;
}

}  // namespace tessera::onednn
