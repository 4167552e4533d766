// Gemm (7-13).

#include <optional>

#include "opencl/ops/gemm_call.h"
#include "ops/math/gemm.h"

namespace tessera::opencl {
namespace {

class Gemm final : public Kernel {
 public:
  explicit Gemm(const KernelInfo& info)
      : attributes_(info.node()),
        gemm_(info, {.along_k_a = !attributes_.trans_a, .along_k_b = attributes_.trans_b}, Expected(info)) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Tensor* c = context.input(2);
    const TileGemmShape s = Sizes(a.shape(), b.shape());
    GemmOperand bias{c, 0, 0};
    if (c != nullptr) {
      const GemmAddend addend = BroadcastAddend(c->shape(), s.m, s.n);
      bias.row = Counted(addend.row);
      bias.column = Counted(addend.column);
    }
    const Shape result{s.m, s.n};
    Epilogue::Operands storage;
    const auto operands = gemm_.epilogue().Collect(context, result, storage);
    Tensor& y = *context.output(0, result);
    gemm_(context, s.m, s.n, s.k, {&a, s.row_a, s.col_a}, {&b, s.row_b, s.col_b}, bias, attributes_.alpha, attributes_.beta,
          Strided{}, 1, 1, y, operands);
  }

 private:
  TileGemmShape Sizes(const Shape& a, const Shape& b) const {
    const GemmSizes sizes = attributes_.Infer(a, b);
    const auto m = Counted(sizes.m), n = Counted(sizes.n), k = Counted(sizes.k);
    return {m,
            n,
            k,
            attributes_.trans_a ? 1 : k,
            attributes_.trans_a ? m : 1,
            attributes_.trans_b ? 1 : n,
            attributes_.trans_b ? k : 1,
            0,
            0};
  }
  std::optional<TileGemm::Expected> Expected(const KernelInfo& info) const {
    const auto a = KnownShape(info.input_info(0)), b = KnownShape(info.input_info(1));
    if (!a || !b) return std::nullopt;
    return TileGemm::Expected{.shape = Sizes(*a, *b), .stack = {}, .stacks = 1, .elements_b = b->num_elements()};
  }

  GemmAttributes attributes_;
  GemmCall gemm_;
};

}  // namespace

void RegisterGemm(KernelRegistry& registry) { registry.Add(Op("Gemm").Versions(7).Types(0, kReals).Make<Gemm>()); }

}  // namespace tessera::opencl
