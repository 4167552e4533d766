// ConvTranspose (1-22), one to three spatial dimensions.

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/claims/refusals.h"
#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"
#include "ops/nn/conv_transpose.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kOutputsPerItem = 8;  // output channels that one work item computes
constexpr int64_t kRowElements = 1024;  // of a result's row that one work item adds up
constexpr int64_t kRowsPerItem = 8;

/// The filters times the image, on processors: what each tap adds to the result, which is then added up where it belongs.
class TransposedGemm {
 public:
  explicit TransposedGemm(const KernelInfo& info)
      : type_(info.input_type(0)),
        panels_(info, info.constant_input(1) != nullptr ? PanelGemm::Left::kPacked : PanelGemm::Left::kStrided,
                KeptAsComputed()),
        add_(DeviceOf(info), "conv_transpose",
             Computed('X', type_) + fmt::format("#define ROW {}\n#define ROWS {}\n", kRowElements, kRowsPerItem) +
                 EpilogueOf(info).defines,
             "add_taps") {}

  static bool Suits(const Geometry& g) { return g.stride[2] <= kRowElements / 4; }

  void Pack(const KernelInfo& info, const Tensor& w, int64_t group) {
    const int64_t k = w.shape()[0] / group, m = w.shape().SizeOfRange(1, w.shape().rank());
    if (m == 0 || k == 0) return;
    packed_ = PanelGemm::PackLeft(info, w, m, k, group, std::array<int64_t, 2>{1, m});
    info.ReleaseConstant(1);
  }
  void Prepare() {
    if (!PanelGemm::ReadsInPlace(type_)) panels_.PreparePack();
  }

  void Convolve(KernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y,
                const Geometry& g, std::span<const Tensor* const> epilogue) {
    const int64_t taps = int64_t{g.window[0]} * g.window[1] * g.window[2], n = int64_t{g.in[0]} * g.in[1] * g.in[2],
                  k = g.group_in;
    const int64_t groups = g.filters / g.group_out, stacks = x.shape()[0] * groups;
    const int64_t all = CheckedMul<int64_t>(g.group_out, taps);
    Require(std::max(n, all) <= std::numeric_limits<cl_int>::max(), "{} positions and {} taps are more than kernels count",
            n, taps);
    Strided stack;
    stack.rank = 2;
    stack.dims = {x.shape()[0], groups};
    stack.a = {0, (packed_ != nullptr ? PanelGemm::PackedRows(all) : all) * k};
    PanelGemmShape shape{.b_panel = k * kPanel,
                         .m = 0,
                         .n = static_cast<cl_int>(n),
                         .k = static_cast<cl_int>(k),
                         .row_a = 1,
                         .col_a = static_cast<cl_int>(all)};
    PanelOperands operands{
        .a = packed_ != nullptr ? packed_->range() : RangeOf(w), .b = RangeOf(x), .bias = nullptr, .y = {}};
    std::optional<DeviceScratch> image;
    if (PanelGemm::ReadsInPlace(type_)) {
      stack.b = {g.channels * n, k * n};
      shape.SetRowsOfB(static_cast<cl_int>(n));
    } else {
      const int64_t each = CheckedMul(PanelGemm::Panels(n) * kPanel, k);
      image.emplace(context, std::max<size_t>(static_cast<size_t>(CheckedMul(each, stacks)) * panels_.element_bytes(), 1));
      operands.b = image->range();
      panels_.Pack(context, x, operands.b, k, n, static_cast<cl_int>(n), 1, stacks);
      stack.b = {each * groups, each};
    }
    const int64_t of_filter = CheckedMul(CheckedMul(taps, n), stacks), together = FiltersTogether(of_filter, taps);
    const auto elements = static_cast<size_t>(CheckedMul(of_filter, std::min<int64_t>(together, g.group_out)));
    const DeviceScratch columns(context, std::max<size_t>(elements * panels_.element_bytes(), 1));
    operands.y = columns.range();
    const BufferRange a = operands.a;
    for (int64_t first = 0; first < g.group_out; first += together) {
      const int64_t here = std::min(together, g.group_out - first);
      shape.m = static_cast<cl_int>(here * taps);
      operands.a = {a.buffer, a.offset + static_cast<size_t>(first * taps * (packed_ != nullptr ? k : 1)) * ElementBytes()};
      panels_.Multiply(context, operands, shape, PanelGemm::Panels(n), stack, stacks);
      Add(context, operands.y, bias, y, g, static_cast<cl_int>(first), static_cast<cl_int>(here), stacks, epilogue);
    }
  }

 private:
  /// Sums of taps are rounded once, when they are added up.
  static std::string KeptAsComputed() {
    return fmt::format("{}#undef PUT_R\n#define PUT_R(p, i, v) (((__global TX*)(p))[i] = (v))\n", Epilogue().defines);
  }
  /// Of the matmul's left side.
  size_t ElementBytes() const {
    return packed_ != nullptr ? panels_.element_bytes() : static_cast<size_t>(BitWidth(type_)) / 8;
  }

  /// As many as a scratch memory holds, such that they begin with a block of packed rows.
  int64_t FiltersTogether(int64_t of_filter, int64_t taps) const {
    constexpr int64_t kScratchBytes = 8 << 20;
    const int64_t step = kBlockRows / std::gcd(kBlockRows, taps);
    const int64_t held = kScratchBytes / static_cast<int64_t>(panels_.element_bytes()) / std::max<int64_t>(of_filter, 1);
    return std::max<int64_t>(held / step, 1) * step;
  }

  void Add(KernelContext& context, const BufferRange& columns, const Tensor* bias, const Tensor& y, const Geometry& g,
           cl_int first, cl_int filters, int64_t stacks, std::span<const Tensor* const> epilogue) {
    const int64_t width = kRowElements / g.stride[2] * g.stride[2];
    const int64_t across = CeilDiv<int64_t>(g.out[2], width),
                  down = CeilDiv<int64_t>(int64_t{g.out[0]} * g.out[1], kRowsPerItem);
    add_(context, {static_cast<size_t>(across), static_cast<size_t>(down), static_cast<size_t>(stacks * filters)},
         {1, 1, 1}, columns, bias, y, g, first, filters, static_cast<cl_int>(width), epilogue);
  }

  const ElementType type_;
  PanelGemm panels_;
  std::shared_ptr<const ConstantBlock> packed_;
  Launchable add_;
};

class ConvTranspose final : public Kernel {
 public:
  explicit ConvTranspose(const KernelInfo& info)
      : epilogue_(EpilogueOf(info)),
        kernel_(DeviceOf(info), "conv_transpose",
                Computed('X', info.input_type(0)) + fmt::format("#define PER {}\n", kOutputsPerItem) + epilogue_.defines,
                "transposed"),
        attributes_(info.node()) {
    const auto ws = KnownShape(info.input_info(1));
    const bool fits = ws && ws->rank() >= 3 && ws->rank() <= 5 && (*ws)[0] % attributes_.group == 0 &&
                      TransposedGemm::Suits(WindowOf(*ws));
    if (SettingsOf(info).tiles || (ws && !fits)) {
      kernel_.Compile();
      return;
    }
    if (!ws) kernel_.Compile();
    gemm_.emplace(info);
    if (const Tensor* w = ws ? info.constant_input(1) : nullptr) gemm_->Pack(info, *w, attributes_.group);
    gemm_->Prepare();
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& w = context.required_input(1);
    const Tensor* bias = context.input(2);
    const Shape &xs = x.shape(), &ws = w.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && ws.rank() == xs.rank(),
            "input {} and weights {} need the same 3 to 5 dimensions", xs, ws);
    const Window window = attributes_.Fit(xs, ws, bias);
    const Shape ys = attributes_.ResultShape(xs, ws, window);
    Epilogue::Operands storage;
    const auto operands = epilogue_.Collect(context, ys, storage);
    Tensor& y = *context.output(0, ys);
    if (y.num_elements() == 0) return;
    Geometry g = GeometryOf(window);
    std::swap(g.in, g.out);  // as a sliding window, the output is what is read
    g.channels = static_cast<cl_int>(xs[1]);
    g.filters = static_cast<cl_int>(ys[1]);
    g.group_in = static_cast<cl_int>(xs[1] / attributes_.group);
    g.group_out = static_cast<cl_int>(ws[1]);
    if (gemm_ && TransposedGemm::Suits(g)) return gemm_->Convolve(context, x, w, bias, y, g, operands);
    const int64_t blocks = attributes_.group * CeilDiv(ws[1], kOutputsPerItem);
    kernel_.Compile().Grid(context, ys.SizeOfRange(2, ys.rank()), blocks, xs[0], x, w, bias, y, g, operands);
  }

 private:
  /// Without sizes of images.
  Geometry WindowOf(const Shape& ws) const {
    const Shape any(ws.rank() - 2, 1);
    return GeometryOf(attributes_.window.Expand(any.dims(), ws.dims().subspan(2)));
  }

  const Epilogue epilogue_;
  LazyLaunchable kernel_;
  ConvTransposeAttributes attributes_;
  std::optional<TransposedGemm> gemm_;  // on processors
};

}  // namespace

void RegisterConvTranspose(KernelRegistry& registry) {
  registry.Add(Op("ConvTranspose").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Make<ConvTranspose>());
}

}  // namespace tessera::opencl
