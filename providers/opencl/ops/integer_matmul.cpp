#include "opencl/ops/integer_matmul.h"

#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/gemm/tile_gemm.h"
#include "ops/math/matmul.h"

namespace tessera::opencl {
namespace {

/// A batch of matmuls C[m, n] = A[m, k] B[k, n].
struct IntegerMatMulSizes {
  IntegerMatMulSizes(const Shape& a, const Shape& b) {
    const MatMulShape shape = InferMatMulShape(a, b);
    const auto batch_of = [](const Shape& s) { return Shape(s.dims().first(s.rank() < 2 ? 0 : s.rank() - 2)); };
    const Shape batch_a = batch_of(a), batch_b = batch_of(b);
    result = shape.output;
    m = shape.m;
    n = shape.n;
    k = shape.k;
    stacks = shape.batch.num_elements();
    stacks_a = batch_a.num_elements();
    stacks_b = batch_b.num_elements();
    if (stacks_b == 1 && batch_a == shape.batch) {  // rows of every A times one B
      m = CheckedMul(m, stacks);
      stacks = stacks_a = 1;
    } else {
      stack = Block(shape.batch);
      stack.a = BroadcastStrides(batch_a, shape.batch);
      stack.b = BroadcastStrides(batch_b, shape.batch);
    }
    for (const int64_t size : {m, n, k}) {
      Require(size <= std::numeric_limits<cl_int>::max(), "a matmul has a side of {}; OpenCL kernels count to {}", size,
              std::numeric_limits<cl_int>::max());
    }
  }
  /// Of A's and B's matrices, so many elements apart.
  Strided StackOf(int64_t matrix_a, int64_t matrix_b) const {
    Strided scaled = stack;
    for (cl_long& stride : scaled.a) stride *= matrix_a;
    for (cl_long& stride : scaled.b) stride *= matrix_b;
    return scaled;
  }
  int64_t pairs() const { return CeilDiv(k, int64_t{2}); }
  int64_t rows_packed() const { return CheckedMul(PanelGemm::PackedRows(m), pairs()); }
  int64_t panels_packed() const { return CheckedMul(CheckedMul(PanelGemm::Panels(n), kPanel), pairs()); }

  int64_t m, n, k, stacks, stacks_a, stacks_b;
  Strided stack;  // in matrices
  Shape result;
};

class IntegerMatMul final : public Kernel {
 public:
  explicit IntegerMatMul(const KernelInfo& info)
      : inputs_(QuantizedInputsOf(info.node().op_type)),
        tiled_(SettingsOf(info).tiles),
        quads_(tiled_ ? MakeQuads(info) : nullptr),
        left_quads_(info, inputs_.a),
        left_(info, inputs_.a, inputs_.a_zero, tiled_ ? "center" : "pack_rows"),
        right_(info, inputs_.b, inputs_.b_zero, tiled_ ? "center" : "pack_matrix") {
    const Epilogue results = QuantizedEpilogue(info, false, quads_ != nullptr);
    const auto a = KnownShape(info.input_info(static_cast<size_t>(inputs_.a))),
               b = KnownShape(info.input_info(static_cast<size_t>(inputs_.b)));
    if (tiled_) {
      std::optional<TileGemm::Expected> expected;
      if (a && b) {
        const IntegerMatMulSizes s(*a, *b);
        const int64_t k = Steps(s.k);
        expected = {.shape = TileShape(s, k, 0),
                    .stack = s.StackOf(s.m * k, k * s.n),
                    .stacks = s.stacks,
                    .elements_b = k * s.n * s.stacks_b};
      }
      tiles_.emplace(
          info,
          TileGemm::Layout{.integers = quads_ != nullptr ? TileGemm::Integers::kQuads : TileGemm::Integers::kShorts,
                           .results = results},
          expected);
    } else {
      panels_.emplace(info, ElementType::kInt32, PairDefines(), results.defines);
    }
    if (quads_ != nullptr) {
      left_quads_.Compile();
      return;
    }
    if (b && b->rank() > 0) PackConstant(info, *b);
    left_.Compile();
    if (packed_b_ == nullptr) right_.Compile();
  }

  void Compute(KernelContext& context) override {
    const IntegerMatMulSizes s(context.required_input(static_cast<size_t>(inputs_.a)).shape(),
                               context.required_input(static_cast<size_t>(inputs_.b)).shape());
    const QuantizedOperands o(context, inputs_, s.n);
    const Tensor& y = *context.output(0, s.result);
    if (y.num_elements() == 0) return;
    if (quads_ != nullptr) return ByQuads(context, s, o, y);
    if (tiled_) return ByTiles(context, s, o, y);
    const DeviceScratch left(context, static_cast<size_t>(CheckedMul(s.rows_packed(), s.stacks_a)) * sizeof(cl_int));
    left_.Compile()(context, Batches(s, PanelGemm::PackedRows(s.m) / kBlockRows, s.stacks_a), {1, 1, 1}, *o.a, o.a_zero,
                    left.range(), static_cast<cl_int>(s.m), static_cast<cl_int>(s.k), cl_int{1}, cl_int{0});
    const PanelGemmShape shape{.b_panel = s.pairs() * kPanel,
                               .m = static_cast<cl_int>(s.m),
                               .n = static_cast<cl_int>(s.n),
                               .k = static_cast<cl_int>(s.pairs()),
                               .row_bias = o.scale_step,
                               .col_bias = 0};
    const Strided stack = s.StackOf(s.rows_packed(), s.panels_packed());
    const int64_t panels = PanelGemm::Panels(s.n);
    if (packed_b_ != nullptr) {
      return panels_->Multiply(context, {left.range(), packed_b_->range(), nullptr, RangeOf(y), o.results()}, shape, panels,
                               stack, s.stacks);
    }
    const DeviceScratch right(context, static_cast<size_t>(CheckedMul(s.panels_packed(), s.stacks_b)) * sizeof(cl_int));
    right_.Compile()(context, Batches(s, panels, s.stacks_b), {1, 1, 1}, *o.b, o.b_zero, right.range(),
                     static_cast<cl_int>(s.k), static_cast<cl_int>(s.n), o.zero_step);
    panels_->Multiply(context, {left.range(), right.range(), nullptr, RangeOf(y), o.results()}, shape, panels, stack,
                      s.stacks);
  }

 private:
  static std::array<size_t, 3> Batches(const IntegerMatMulSizes& s, int64_t blocks, int64_t stacks) {
    return {static_cast<size_t>(CeilDiv(s.pairs(), QuantizedPacking::kPackRows)), static_cast<size_t>(blocks),
            static_cast<size_t>(stacks)};
  }
  /// Of a matrix that all rows of A meet.
  std::unique_ptr<const QuadWeights> MakeQuads(const KernelInfo& info) const {
    const auto b = KnownShape(info.input_info(static_cast<size_t>(inputs_.b)));
    if (!b || b->rank() != 2) return nullptr;
    return QuadWeights::Make(info, inputs_, {.outer = 1, .k = (*b)[0], .inner = (*b)[1], .outer_channels = false});
  }
  /// Of k, as tiles take them.
  int64_t Steps(int64_t k) const { return quads_ != nullptr ? PackedQuads::Quads(k) : k; }
  static TileGemmShape TileShape(const IntegerMatMulSizes& s, int64_t steps, cl_int scale_step) {
    const auto m = static_cast<cl_int>(s.m), n = static_cast<cl_int>(s.n), k = static_cast<cl_int>(steps);
    return {.m = m, .n = n, .k = k, .row_a = k, .col_a = 1, .row_b = n, .col_b = 1, .row_bias = scale_step, .col_bias = 0};
  }

  void ByQuads(KernelContext& context, const IntegerMatMulSizes& s, const QuantizedOperands& o, const Tensor& y) {
    const int64_t k = Steps(s.k);
    const DeviceScratch left(context, static_cast<size_t>(CheckedMul(CheckedMul(s.m, k), s.stacks_a)) * sizeof(cl_int));
    left_quads_.Pack(context, *o.a, left.range(), s.k, 1);
    const auto correction = quads_->correction(o.a_zero);
    tiles_->Multiply(context, {left.range(), quads_->weights(), nullptr, RangeOf(y), o.results(), correction},
                     TileShape(s, k, o.scale_step), s.StackOf(s.m * k, k * s.n), s.stacks);
  }

  void ByTiles(KernelContext& context, const IntegerMatMulSizes& s, const QuantizedOperands& o, const Tensor& y) {
    const DeviceScratch left(context, static_cast<size_t>(o.a->num_elements()) * sizeof(cl_short));
    left_.Compile().Linear(context, o.a->num_elements(), *o.a, o.a_zero, left.range(), cl_long{1}, cl_long{1}, cl_int{0});
    const auto multiply = [&](BufferRange right) {
      tiles_->Multiply(context, {left.range(), right, nullptr, RangeOf(y), o.results()}, TileShape(s, s.k, o.scale_step),
                       s.StackOf(s.m * s.k, s.k * s.n), s.stacks);
    };
    if (packed_b_ != nullptr) return multiply(packed_b_->range());
    const DeviceScratch right(context, static_cast<size_t>(o.b->num_elements()) * sizeof(cl_short));
    right_.Compile().Linear(context, o.b->num_elements(), *o.b, o.b_zero, right.range(), cl_long{1}, cl_long{s.n},
                            o.zero_step);
    multiply(right.range());
  }

  void PackConstant(const KernelInfo& info, const Shape& b) {
    const IntegerMatMulSizes s(Shape{1, b.rank() == 1 ? b[0] : b[b.rank() - 2]}, b);
    const Tensor* zeros = inputs_.b_zero < 0 ? nullptr : info.constant_input(static_cast<size_t>(inputs_.b_zero));
    const cl_int step = zeros == nullptr || zeros->num_elements() == 1 ? 0 : 1;
    if (step != 0 && zeros->num_elements() != s.n) return;  // a run says so
    if (tiled_) {
      const std::string form = fmt::format("shorts, zero points of {}", step == 0 ? 1 : s.n);
      packed_b_ = right_.OfConstant(
          info, form, CheckedMul<int64_t>(b.num_elements(), sizeof(cl_short)),
          [&](Launchable& kernel, cl_command_queue queue, BufferRange quantized, BufferRange zero, BufferRange packed) {
            kernel.LinearOn(queue, b.num_elements(), quantized, zero, packed, cl_long{1}, cl_long{s.n}, step);
          });
    } else {
      const std::string form = fmt::format("{} panels of pairs of {} x {}", s.stacks_b, s.k, s.n);
      packed_b_ = right_.OfConstant(
          info, form, CheckedMul<int64_t>(CheckedMul(s.panels_packed(), s.stacks_b), sizeof(cl_int)),
          [&](Launchable& kernel, cl_command_queue queue, BufferRange quantized, BufferRange zero, BufferRange packed) {
            kernel.On(queue, Batches(s, PanelGemm::Panels(s.n), s.stacks_b), {1, 1, 1}, quantized, zero, packed,
                      static_cast<cl_int>(s.k), static_cast<cl_int>(s.n), step);
          });
    }
    if (packed_b_ != nullptr) info.ReleaseConstant(static_cast<size_t>(inputs_.b));
  }

  QuantizedInputs inputs_;
  bool tiled_;
  std::unique_ptr<const QuadWeights> quads_;
  PackedQuads left_quads_;
  QuantizedPacking left_, right_;
  std::optional<TileGemm> tiles_;
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_b_;
};

}  // namespace

std::unique_ptr<Kernel> MakeIntegerMatMul(const KernelInfo& info) { return std::make_unique<IntegerMatMul>(info); }

}  // namespace tessera::opencl
