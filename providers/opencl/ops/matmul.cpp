// MatMul (1-13) with stacks that broadcast, Gemm (7-13).

#include <mutex>
#include <optional>

#include "base/checked.h"
#include "kernel.h"
#include "product.h"

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

/// C = alpha A B + beta bias for a stack of products, the way that suits the device.
class Product {
 public:
  explicit Product(const KernelInfo& info) {
    if (kReals.contains(info.input_type(0)) && PanelProduct::Suits(DeviceOf(info))) {
      panels_.emplace(info);
      device_ = &DeviceOf(info);
      constant_b_ = info.constant_input(1) != nullptr;
    } else {
      tiles_.emplace(DeviceOf(info), "matmul", Defines(info), "product");
    }
  }

  /// `stacks` of A and B have `stack`'s strides; `stacks_b`: how many different B there are, all in a row.
  void operator()(KernelContext& context, int64_t m, int64_t n, int64_t k, Operand a, Operand b, Operand bias, float alpha,
                  float beta, const Strided& stack, int64_t stacks, int64_t stacks_b, const Tensor& y) {
    if (y.num_elements() == 0) return;
    const auto mm = static_cast<cl_int>(m), nn = static_cast<cl_int>(n), kk = static_cast<cl_int>(k);
    if (tiles_) {
      const auto up = [](int64_t size) { return (static_cast<size_t>(size) + kTile - 1) / kTile; };
      return (*tiles_)(context, {up(n) * kTile, up(m) * (kTile / kPer), static_cast<size_t>(stacks)},
                       {kTile, kTile / kPer, 1}, *a.tensor, *b.tensor, bias.tensor, y, mm, nn, kk, a.row, a.column, b.row,
                       b.column, bias.row, bias.column, alpha, beta, stack);
    }
    const int64_t panels = PanelProduct::Panels(n), packed = CheckedMul(CheckedMul(panels, kPanel), k);
    Strided packed_stack = stack;
    for (cl_long& stride : packed_stack.b) stride = k == 0 ? 0 : stride / (k * n) * packed;
    const PanelProductShape shape{.b_panel = k * kPanel,
                                  .b_image = 0,
                                  .y_image = 0,
                                  .m = mm,
                                  .n = nn,
                                  .k = kk,
                                  .row_a = a.row,
                                  .col_a = a.column,
                                  .b_row = kPanel,
                                  .b_column = 0,
                                  .panels = static_cast<cl_int>(panels),
                                  .first = 0,
                                  .row_bias = bias.row,
                                  .col_bias = bias.column,
                                  .alpha = alpha,
                                  .beta = beta};
    const auto bytes =
        static_cast<size_t>(CheckedMul(CheckedMul(packed, stacks_b), static_cast<int64_t>(panels_->element_bytes())));
    if (constant_b_) {
      std::call_once(packed_once_, [&] {
        packed_b_ = device_->NewBuffer(std::max<size_t>(bytes, 1));
        if (bytes > 0) panels_->Pack(context, *b.tensor, {packed_b_.get(), 0}, k, n, b.row, b.column, stacks_b);
      });
      return panels_->Multiply(context, {*a.tensor, {packed_b_.get(), 0}, bias.tensor, y}, shape, panels, packed_stack,
                               stacks);
    }
    const DeviceScratch scratch(context, bytes);
    if (bytes > 0) panels_->Pack(context, *b.tensor, scratch.range(), k, n, b.row, b.column, stacks_b);
    panels_->Multiply(context, {*a.tensor, scratch.range(), bias.tensor, y}, shape, panels, packed_stack, stacks);
  }

 private:
  std::optional<Launchable> tiles_;
  std::optional<PanelProduct> panels_;
  Device* device_ = nullptr;
  bool constant_b_ = false;
  std::once_flag packed_once_;
  Buffer packed_b_;
};

class MatMul final : public Kernel {
 public:
  explicit MatMul(const KernelInfo& info) : product_(info) {}

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
        Require(dim == 1 || (*s)[i] == 1 || dim == (*s)[i], "stacks {} and {} do not broadcast", batch_a.ToString(),
                batch_b.ToString());
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
    product_(context, m, n, k, {&a, static_cast<cl_int>(k), 1}, {&b, static_cast<cl_int>(n), 1}, {nullptr, 0, 0}, 1.0f,
             0.0f, stack, batch.num_elements(), batch_b.num_elements(), y);
  }

 private:
  Product product_;
};

class Gemm final : public Kernel {
 public:
  explicit Gemm(const KernelInfo& info)
      : product_(info),
        trans_a_(info.attribute<int64_t>("transA", 0) != 0),
        trans_b_(info.attribute<int64_t>("transB", 0) != 0),
        alpha_(info.attribute<float>("alpha", 1.0f)),
        beta_(info.attribute<float>("beta", 1.0f)) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Tensor* c = context.input(2);
    Require(a.shape().rank() == 2 && b.shape().rank() == 2, "A is {} and B is {}; both need two dimensions",
            a.shape().ToString(), b.shape().ToString());
    const int64_t m = a.shape()[trans_a_ ? 1 : 0], k = a.shape()[trans_a_ ? 0 : 1], n = b.shape()[trans_b_ ? 0 : 1];
    Require(b.shape()[trans_b_ ? 1 : 0] == k, "K is {} in A and {} in B", k, b.shape()[trans_b_ ? 1 : 0]);
    Operand bias{c, 0, 0};
    if (c != nullptr) {
      const size_t rank = c->shape().rank();
      const int64_t rows = rank == 2 ? c->shape()[0] : 1, columns = rank >= 1 ? c->shape().back() : 1;
      Require(rank <= 2 && (rows == m || rows == 1) && (columns == n || columns == 1),
              "C is {}; it does not broadcast to [{},{}]", c->shape().ToString(), m, n);
      bias.row = rows == 1 ? 0 : static_cast<cl_int>(columns);
      bias.column = columns == 1 ? 0 : 1;
    }
    Tensor& y = *context.output(0, Shape{m, n});
    const auto mm = static_cast<cl_int>(m), kk = static_cast<cl_int>(k), nn = static_cast<cl_int>(n);
    product_(context, m, n, k, trans_a_ ? Operand{&a, 1, mm} : Operand{&a, kk, 1},
             trans_b_ ? Operand{&b, 1, kk} : Operand{&b, nn, 1}, bias, alpha_, beta_, Strided{}, 1, 1, y);
  }

 private:
  Product product_;
  bool trans_a_, trans_b_;
  float alpha_, beta_;
};

}  // namespace

void RegisterMatMul(KernelRegistry& registry) {
  constexpr TypeSet kProducts =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("MatMul").Versions(1).Types(0, kProducts).Make<MatMul>());
  registry.Add(Op("Gemm").Versions(7).Types(0, kReals).Make<Gemm>());
}

}  // namespace tessera::opencl
