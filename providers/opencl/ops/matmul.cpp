// MatMul (1-13) with stacks that broadcast, Gemm (7-13).

#include <limits>
#include <optional>

#include "base/checked.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/split_k_gemm.h"
#include "opencl/gemm/tile_gemm.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"

namespace tessera::opencl {
namespace {

struct Operand {
  const Tensor* tensor;
  cl_int row, column;  // strides
};

/// A size or stride as kernels count it.
cl_int Counted(int64_t size) {
  Require(size <= std::numeric_limits<cl_int>::max(),
          "a matmul has a side of {}; kernels count to {}: split it, or leave the node to another provider", size,
          std::numeric_limits<cl_int>::max());
  return static_cast<cl_int>(size);
}

/// C = alpha A B + beta bias for a batch of matmuls, the way that suits the device.
class GemmCall {
 public:
  GemmCall(const KernelInfo& info, TileGemm::Layout layout, const std::optional<TileGemm::Expected>& expected)
      : epilogue_(EpilogueOf(info)), long_(info) {
    if (SettingsOf(info).tiles || !kReals.contains(info.input_type(0))) {
      tiles_.emplace(info, layout, expected);
    } else {
      panels_.emplace(info, layout.along_k_a ? PanelGemm::Left::kAlongK : PanelGemm::Left::kStrided);
      PackConstant(info, layout.along_k_b);
      if (packed_b_ == nullptr) panels_->PreparePack();
    }
  }

  const Epilogue& epilogue() const noexcept { return epilogue_; }

  /// `stacks` of A and B have `stack`'s strides; `stacks_b`: how many different B there are, all in a row.
  void operator()(KernelContext& context, int64_t m, int64_t n, int64_t k, Operand a, Operand b, Operand bias, float alpha,
                  float beta, const Strided& stack, int64_t stacks, int64_t stacks_b, const Tensor& y,
                  std::span<const Tensor* const> epilogue) {
    if (y.num_elements() == 0) return;
    const auto mm = Counted(m), nn = Counted(n), kk = Counted(k);
    if (packed_b_ == nullptr && SplitKGemm::Pays(m, n, k, stacks)) {
      const SplitKShape shape{
          .m = mm, .n = nn, .k = kk, .row_a = a.row, .col_a = a.column, .row_b = b.row, .col_b = b.column};
      const SplitKBias added{bias.tensor, bias.row, bias.column, alpha, beta};
      return long_.Multiply(context, *a.tensor, *b.tensor, added, y, epilogue, shape, stack, stacks);
    }
    if (tiles_) {
      const TileGemmShape shape{mm, nn, kk, a.row, a.column, b.row, b.column, bias.row, bias.column, alpha, beta};
      return tiles_->Multiply(context, {RangeOf(*a.tensor), RangeOf(*b.tensor), bias.tensor, RangeOf(y), epilogue}, shape,
                              stack, stacks);
    }
    const int64_t panels = PanelGemm::Panels(n), packed = CheckedMul(CheckedMul(panels, kPanel), k);
    Strided packed_stack = stack;
    for (cl_long& stride : packed_stack.b) stride = k == 0 ? 0 : stride / (k * n) * packed;
    PanelGemmShape shape{.b_panel = k * kPanel,
                         .m = mm,
                         .n = nn,
                         .k = kk,
                         .row_a = a.row,
                         .col_a = a.column,
                         .row_bias = bias.row,
                         .col_bias = bias.column,
                         .alpha = alpha,
                         .beta = beta};
    const BufferRange left = DeviceAllocator::Find(a.tensor->raw());
    if (packed_b_ != nullptr) {
      return panels_->Multiply(context, {left, packed_b_->range(), bias.tensor, RangeOf(y), epilogue}, shape, panels,
                               packed_stack, stacks);
    }
    if (b.column == 1 && m <= kMostInPlace && PanelGemm::ReadsInPlace(b.tensor->type())) {
      shape.SetRowsOfB(b.row);
      return panels_->Multiply(context, {left, RangeOf(*b.tensor), bias.tensor, RangeOf(y), epilogue}, shape, panels, stack,
                               stacks);
    }
    const auto bytes =
        static_cast<size_t>(CheckedMul(CheckedMul(packed, stacks_b), static_cast<int64_t>(panels_->element_bytes())));
    const DeviceScratch scratch(context, bytes);
    if (bytes > 0) panels_->Pack(context, *b.tensor, scratch.range(), k, n, b.row, b.column, stacks_b);
    panels_->Multiply(context, {left, scratch.range(), bias.tensor, RangeOf(y), epilogue}, shape, panels, packed_stack,
                      stacks);
  }

 private:
  static constexpr int64_t kMostInPlace = 192;  // rows of A, for which B is read once where it stands

  /// A constant B is needed in panels only.
  void PackConstant(const KernelInfo& info, bool along_k) {
    const Tensor* b = info.constant_input(1);
    if (b == nullptr || b->shape().rank() == 0 || b->num_elements() == 0) return;
    const Shape shape = b->shape().rank() == 1 ? Shape{b->shape()[0], 1} : b->shape();
    const int64_t rows = shape[shape.rank() - 2], columns = shape.back(), k = along_k ? columns : rows,
                  n = along_k ? rows : columns;
    if (SplitKGemm::Pays(1, n, k, 1)) return;  // A will have few rows, too: so many weights are none of a network's
    const auto kk = Counted(k), nn = Counted(n);
    packed_b_ =
        panels_->PackRight(info, *b, k, n, along_k ? 1 : nn, along_k ? kk : 1, shape.SizeOfRange(0, shape.rank() - 2));
    info.ReleaseConstant(1);
  }

  const Epilogue epilogue_;
  SplitKGemm long_;
  std::optional<TileGemm> tiles_;
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_b_;
};

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
    Operand bias{c, 0, 0};
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

void RegisterMatMul(KernelRegistry& registry) {
  constexpr TypeSet kMatMulTypes =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("MatMul").Versions(1).Types(0, kMatMulTypes).Make<MatMul>());
  registry.Add(Op("Gemm").Versions(7).Types(0, kReals).Make<Gemm>());
}

}  // namespace tessera::opencl
