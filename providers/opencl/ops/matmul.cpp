// MatMul (1-13) with stacks that broadcast, Gemm (7-13).

#include "kernel.h"

namespace tessera::opencl {
namespace {

constexpr size_t kTile = 16;
constexpr size_t kPer = 4;  // rows that one work item computes

std::string Defines(const KernelInfo& info) {
  return Computed('X', info.input_type(0)) + fmt::format("#define TILE {}\n#define PER {}\n", kTile, kPer);
}

struct Operand {
  const Tensor* tensor;
  cl_int row, column;  // strides
};

void Launch(Launchable& kernel, KernelContext& context, int64_t m, int64_t n, int64_t k, Operand a, Operand b, Operand bias, float alpha,
            float beta, const Strided& stack, int64_t stacks, const Tensor& y) {
  const auto up = [](int64_t size) { return (static_cast<size_t>(size) + kTile - 1) / kTile; };
  if (y.num_elements() == 0) return;
  kernel(context, {up(n) * kTile, up(m) * (kTile / kPer), static_cast<size_t>(stacks)}, {kTile, kTile / kPer, 1}, *a.tensor, *b.tensor,
         bias.tensor, y, static_cast<cl_int>(m), static_cast<cl_int>(n), static_cast<cl_int>(k), a.row, a.column, b.row, b.column,
         bias.row, bias.column, alpha, beta, stack);
}

class MatMul final : public Kernel {
 public:
  explicit MatMul(const KernelInfo& info) : kernel_(DeviceOf(info), "matmul", Defines(info), "product") {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    Shape sa = a.shape(), sb = b.shape();
    Require(sa.rank() > 0 && sb.rank() > 0, "operands of a product need at least one dimension");
    if (sa.rank() == 1) sa = Shape{1, sa[0]};
    if (sb.rank() == 1) sb = Shape{sb[0], 1};
    const int64_t m = sa[sa.rank() - 2], k = sa.back(), n = sb.back();
    Require(sb[sb.rank() - 2] == k, "K is {} in A and {} in B", k, sb[sb.rank() - 2]);
    const Shape batch_a(sa.dims().first(sa.rank() - 2)), batch_b(sb.dims().first(sb.rank() - 2));
    Shape batch(std::max(batch_a.rank(), batch_b.rank()), 1);
    for (const Shape* s : {&batch_a, &batch_b}) {
      for (size_t i = 0; i < s->rank(); ++i) {
        int64_t& dim = batch[batch.rank() - s->rank() + i];
        Require(dim == 1 || (*s)[i] == 1 || dim == (*s)[i], "stacks {} and {} do not broadcast", batch_a.ToString(), batch_b.ToString());
        if ((*s)[i] != 1) dim = (*s)[i];
      }
    }
    Strided stack = Block(batch);
    stack.a = BroadcastStrides(batch_a, batch);
    stack.b = BroadcastStrides(batch_b, batch);
    for (size_t i = 0; i < batch.rank(); ++i) {
      stack.a[i] *= m * k;
      stack.b[i] *= k * n;
    }
    Shape result = batch;
    if (a.shape().rank() > 1) result.Append(m);
    if (b.shape().rank() > 1) result.Append(n);
    Tensor& y = *context.output(0, result);
    Launch(kernel_, context, m, n, k, {&a, static_cast<cl_int>(k), 1}, {&b, static_cast<cl_int>(n), 1}, {nullptr, 0, 0}, 1.0f, 0.0f,
           stack, batch.num_elements(), y);
  }

 private:
  Launchable kernel_;
};

class Gemm final : public Kernel {
 public:
  explicit Gemm(const KernelInfo& info)
      : kernel_(DeviceOf(info), "matmul", Defines(info), "product"),
        trans_a_(info.attribute<int64_t>("transA", 0) != 0),
        trans_b_(info.attribute<int64_t>("transB", 0) != 0),
        alpha_(info.attribute<float>("alpha", 1.0f)),
        beta_(info.attribute<float>("beta", 1.0f)) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Tensor* c = context.input(2);
    Require(a.shape().rank() == 2 && b.shape().rank() == 2, "A is {} and B is {}; both need two dimensions", a.shape().ToString(),
            b.shape().ToString());
    const int64_t m = a.shape()[trans_a_ ? 1 : 0], k = a.shape()[trans_a_ ? 0 : 1], n = b.shape()[trans_b_ ? 0 : 1];
    Require(b.shape()[trans_b_ ? 1 : 0] == k, "K is {} in A and {} in B", k, b.shape()[trans_b_ ? 1 : 0]);
    Operand bias{c, 0, 0};
    if (c != nullptr) {
      const size_t rank = c->shape().rank();
      const int64_t rows = rank == 2 ? c->shape()[0] : 1, columns = rank >= 1 ? c->shape().back() : 1;
      Require(rank <= 2 && (rows == m || rows == 1) && (columns == n || columns == 1), "C is {}; it does not broadcast to [{},{}]",
              c->shape().ToString(), m, n);
      bias.row = rows == 1 ? 0 : static_cast<cl_int>(columns);
      bias.column = columns == 1 ? 0 : 1;
    }
    Tensor& y = *context.output(0, Shape{m, n});
    const auto mm = static_cast<cl_int>(m), kk = static_cast<cl_int>(k), nn = static_cast<cl_int>(n);
    Launch(kernel_, context, m, n, k, trans_a_ ? Operand{&a, 1, mm} : Operand{&a, kk, 1}, trans_b_ ? Operand{&b, 1, kk} : Operand{&b, nn, 1},
           bias, alpha_, beta_, Strided{}, 1, y);
  }

 private:
  Launchable kernel_;
  bool trans_a_, trans_b_;
  float alpha_, beta_;
};

}  // namespace

void RegisterMatMul(KernelRegistry& registry) {
  constexpr TypeSet kProducts = kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("MatMul").Versions(1).Types(0, kProducts).Make<MatMul>());
  registry.Add(Op("Gemm").Versions(7).Types(0, kReals).Make<Gemm>());
}

}  // namespace tessera::opencl
