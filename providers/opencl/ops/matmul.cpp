// MatMul (1-13) with stacks that broadcast.

#include <optional>

#include "base/checked.h"
#include "opencl/ops/gemm_call.h"
#include "ops/math/matmul.h"

namespace tessera::opencl {
namespace {

/// Of numpy.matmul: the matrices, and where those of a stack lie.
struct StackedSizes {
  StackedSizes(const Shape& a, const Shape& b) {
    const MatMulShape matmul = InferMatMulShape(a, b);
    m = matmul.m;
    n = matmul.n;
    k = matmul.k;
    result = matmul.output;
    Shape batch = matmul.batch;
    const auto batch_of = [](const Shape& s) { return Shape(s.dims().first(s.rank() < 2 ? 0 : s.rank() - 2)); };
    const Shape batch_a = batch_of(a), batch_b = batch_of(b);
    stacks = batch.num_elements();
    stacks_b = batch_b.num_elements();
    if (stacks_b == 1 && batch_a == batch && batch.rank() > 0) {  // rows of every A times one B
      m = CheckedMul(m, stacks);
      batch = Shape();
      stacks = 1;
      return;
    }
    stack = Block(batch);
    stack.a = BroadcastStrides(batch_a, batch);
    stack.b = BroadcastStrides(batch_b, batch);
    for (size_t i = 0; i < batch.rank(); ++i) {
      stack.a[i] *= m * k;
      stack.b[i] *= k * n;
    }
  }

  TileGemm::Expected Expected() const {
    return {.shape = {Counted(m), Counted(n), Counted(k), Counted(k), 1, Counted(n), 1, 0, 0},
            .stack = stack,
            .stacks = stacks,
            .elements_b = k * n * stacks_b};
  }

  int64_t m = 0, n = 0, k = 0, stacks = 1, stacks_b = 1;
  Strided stack;
  Shape result;
};

class MatMul final : public Kernel {
 public:
  explicit MatMul(const KernelInfo& info) : gemm_(info, {.along_k_a = true, .along_k_b = false}, Expected(info)) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Tensor* bias = context.input(2);  // of a fused node
    const StackedSizes sizes(a.shape(), b.shape());
    Require(bias == nullptr || bias->num_elements() == sizes.n, "the bias has {} elements for {} columns",
            bias == nullptr ? 0 : bias->num_elements(), sizes.n);
    Epilogue::Operands storage;
    const auto operands = gemm_.epilogue().Collect(context, sizes.result, storage);
    Tensor& y = *context.output(0, sizes.result);
    gemm_(context, sizes.m, sizes.n, sizes.k, {&a, Counted(sizes.k), 1}, {&b, Counted(sizes.n), 1}, {bias, 0, 1}, 1.0f,
          1.0f, sizes.stack, sizes.stacks, sizes.stacks_b, y, operands);
  }

 private:
  static std::optional<TileGemm::Expected> Expected(const KernelInfo& info) {
    const auto a = KnownShape(info.input_info(0)), b = KnownShape(info.input_info(1));
    if (!a || !b) return std::nullopt;
    return StackedSizes(*a, *b).Expected();
  }

  GemmCall gemm_;
};

}  // namespace

void RegisterMatMul(KernelRegistry& registry) {
  constexpr TypeSet kMatMulTypes =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("MatMul").Versions(1).Types(0, kMatMulTypes).Make<MatMul>());
}

}  // namespace tessera::opencl
