#include "opencl/ops/integer_conv.h"

#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/conv/window.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/quantized_operands.h"
#include "opencl/gemm/tile_gemm.h"
#include "ops/nn/conv.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kFiltersOfItem = 4;  // that one work item of the direct kernel computes

class IntegerConv final : public Kernel {
 public:
  explicit IntegerConv(const KernelInfo& info)
      : inputs_(QuantizedInputsOf(info.node().op_type)),
        tiled_(SettingsOf(info).tiles),
        attributes_(info.node()),
        group_(attributes_.group),
        results_(QuantizedEpilogue(info, true)),
        direct_(DeviceOf(info), "matmul_integer", DirectDefines(info), "convolve"),
        depthwise_(DeviceOf(info), "matmul_integer", DirectDefines(info), "depthwise"),
        filters_(info, inputs_.b, inputs_.b_zero, tiled_ ? "center" : "pack_rows"),
        image_quads_(info, inputs_.a),
        image_(info, inputs_.a, inputs_.a_zero, tiled_ ? "center" : "pair_planes"),
        windows_(info, inputs_.a, inputs_.a_zero, "pack_windows") {
    const auto ws = KnownShape(info.input_info(static_cast<size_t>(inputs_.b))),
               xs = KnownShape(info.input_info(static_cast<size_t>(inputs_.a)));
    const bool known = ws && ws->rank() >= 3 && ws->rank() <= 5 && attributes_.FitsGroups(*ws);
    const Way way = known ? Choose(*ws) : tiled_ ? Way::kTiles : Way::kPanels;
    if (way == Way::kDirect) direct_.Compile();
    if (way == Way::kDepthwise) depthwise_.Compile();
    if (way == Way::kTiles && known) MakeQuads(info, *ws);
    if (way == Way::kTiles) MakeTiles(info, known ? ws : std::nullopt, xs);
    if (way == Way::kPanels) panels_.emplace(info, ElementType::kInt32, PairDefines(), results_.defines);
    if (way != Way::kTiles && way != Way::kPanels) return;
    if (quads_ != nullptr) {
      image_quads_.Compile();
      return;
    }
    image_.Compile();
    if (way == Way::kPanels && !(known && IsPointwise(*ws))) windows_.Compile();
    if (known) PackFilters(info, *ws);
    if (packed_ == nullptr) filters_.Compile();
  }

  void Compute(KernelContext& context) override {
    const Shape& xs = context.required_input(static_cast<size_t>(inputs_.a)).shape();
    const Shape& ws = context.required_input(static_cast<size_t>(inputs_.b)).shape();
    Require(xs.rank() <= 5, "the input is {}; at most 5 dimensions are expected", xs);
    const Window window = attributes_.Fit(xs, ws, nullptr);
    const QuantizedOperands o(context, inputs_, ws[0]);
    const Tensor& y = *context.output(0, ConvAttributes::ResultShape(xs, ws, window));
    if (y.num_elements() == 0) return;
    const Geometry g = ConvGeometry(window, xs, ws, group_);
    switch (Choose(ws)) {
      case Way::kDirect:
        return direct_.Compile().Grid(context, Positions(g), group_ * CeilDiv<int64_t>(g.group_out, kFiltersOfItem), xs[0],
                                      *o.a, o.a_zero, *o.b, o.b_zero, y, o.zero_step, o.scale_step, g, o.results());
      case Way::kDepthwise: {
        const std::array<size_t, 3> items = {static_cast<size_t>(PanelGemm::Panels(g.out[2])),
                                             static_cast<size_t>(g.out[1]), static_cast<size_t>(xs[0] * ws[0])};
        return depthwise_.Compile()(context, items, {1, 1, 1}, *o.a, o.a_zero, *o.b, o.b_zero, y, o.zero_step, o.scale_step,
                                    g, o.results());
      }
      case Way::kPanels: return ByPanels(context, o, y, ws, IsIdentity(window) ? AsLine(g) : g, xs[0]);
      case Way::kTiles: return quads_ != nullptr ? ByQuads(context, o, y, xs, ws, g) : ByTiles(context, o, y, xs, ws, g);
    }
  }

 private:
  enum class Way : int8_t { kDirect, kDepthwise, kPanels, kTiles };
  static constexpr int64_t kFewestOfPanel = 3;  // filters of a group: blocks in registers have rows for six
  static constexpr int64_t kFewestOfTile = 8;   // half of the least tile's rows

  Way Choose(const Shape& ws) const {
    const int64_t group_out = ws[0] / group_;
    if (!tiled_ && ws[1] == 1 && ws.rank() <= 4) return Way::kDepthwise;
    if (group_out < (tiled_ ? kFewestOfTile : kFewestOfPanel)) return Way::kDirect;
    return tiled_ ? Way::kTiles : Way::kPanels;
  }
  /// Whatever the image's size.
  bool IsPointwise(const Shape& ws) const {
    constexpr int64_t kAnyLength = 1024;
    const Shape any(ws.rank() - 2, kAnyLength);
    return ws.SizeOfRange(2, ws.rank()) == 1 && IsIdentity(attributes_.window.Fit(any.dims(), ws.dims().subspan(2)));
  }
  /// Windows of one tap read an image as if it had one row.
  static Geometry AsLine(Geometry g) {
    constexpr int64_t kMost = std::numeric_limits<cl_int>::max();
    const int64_t length = CheckedMul(int64_t{g.in[0]} * g.in[1], int64_t{g.in[2]});
    Require(length <= kMost, "an image of {} x {} x {} has {} elements in a channel, kernels count to {}", g.in[0], g.in[1],
            g.in[2], length, kMost);
    g.in[2] = g.out[2] = static_cast<cl_int>(length);
    g.in[0] = g.in[1] = g.out[0] = g.out[1] = 1;
    return g;
  }
  static int64_t Padded(const Geometry& g, size_t axis) {
    return (int64_t{g.out[axis]} - 1) * g.stride[axis] + (int64_t{g.window[axis]} - 1) * g.dilation[axis] + 1;
  }

  std::string DirectDefines(const KernelInfo& info) const {
    const auto type = [&](int i) { return info.input_type(static_cast<size_t>(i)); };
    return Computed('A', type(inputs_.a)) + Computed('B', type(inputs_.b)) + Computed('P', type(inputs_.a)) +
           results_.defines + fmt::format("#define PER {}\n#define COLUMNS {}\n", kFiltersOfItem, kPanel);
  }

  void MakeTiles(const KernelInfo& info, const std::optional<Shape>& ws, const std::optional<Shape>& xs) {
    std::optional<TileGemm::Expected> expected;
    if (ws && xs && xs->rank() == ws->rank()) {
      const Geometry g =
          ConvGeometry(attributes_.window.Fit(xs->dims().subspan(2), ws->dims().subspan(2)), *xs, *ws, group_);
      expected = quads_ != nullptr ? OfQuads(*xs, *ws, g, 0) : TileGemm::OfWindows(*xs, *ws, g, 0);
    }
    TileGemm::Layout layout{.windows = true,
                            .integers = quads_ != nullptr ? TileGemm::Integers::kQuads : TileGemm::Integers::kShorts,
                            .results = quads_ != nullptr ? QuantizedEpilogue(info, true, true) : results_};
    if (ws) layout.taps = Shape(ws->dims().subspan(2));
    tiles_.emplace(info, std::move(layout), expected);
  }

  /// Pairs of channels of a filter, times taps.
  static int64_t Pairs(const Shape& ws) { return CheckedMul(CeilDiv(ws[1], int64_t{2}), ws.SizeOfRange(2, ws.rank())); }
  static int64_t FilterBytes(const Shape& ws, int64_t group) {
    return CheckedMul<int64_t>(CheckedMul(CheckedMul(PanelGemm::PackedRows(ws[0] / group), Pairs(ws)), group),
                               sizeof(cl_int));
  }
  std::array<size_t, 3> FilterBatches(const Shape& ws) const {
    return {static_cast<size_t>(CeilDiv(Pairs(ws), QuantizedPacking::kPackRows)),
            static_cast<size_t>(PanelGemm::PackedRows(ws[0] / group_) / kBlockRows), static_cast<size_t>(group_)};
  }

  void PackFilters(const KernelInfo& info, const Shape& ws) {
    const Tensor* zeros = info.has_input(static_cast<size_t>(inputs_.b_zero))
                              ? info.constant_input(static_cast<size_t>(inputs_.b_zero))
                              : nullptr;
    const cl_int step = zeros == nullptr || zeros->num_elements() == 1 ? 0 : 1;
    if (step != 0 && zeros->num_elements() != ws[0]) return;  // a run says so
    const int64_t elements = ws.num_elements(), taps = ws.SizeOfRange(2, ws.rank());
    if (elements == 0) return;
    if (tiled_) {
      packed_ = filters_.OfConstant(
          info, "filters in shorts", CheckedMul<int64_t>(elements, sizeof(cl_short)),
          [&](Launchable& kernel, cl_command_queue queue, BufferRange quantized, BufferRange zero, BufferRange packed) {
            kernel.LinearOn(queue, elements, quantized, zero, packed, cl_long{elements / ws[0]}, cl_long{ws[0]}, step);
          });
    } else {
      packed_ = filters_.OfConstant(
          info, fmt::format("{} groups of blocks of rows of pairs", group_), FilterBytes(ws, group_),
          [&](Launchable& kernel, cl_command_queue queue, BufferRange quantized, BufferRange zero, BufferRange packed) {
            kernel.On(queue, FilterBatches(ws), {1, 1, 1}, quantized, zero, packed, static_cast<cl_int>(ws[0] / group_),
                      static_cast<cl_int>(ws[1]), static_cast<cl_int>(taps), step);
          });
    }
    if (packed_ != nullptr) info.ReleaseConstant(static_cast<size_t>(inputs_.b));
  }

  void MakeQuads(const KernelInfo& info, const Shape& ws) {
    quads_ = QuadWeights::Make(info, inputs_,
                               {.outer = ws[0], .k = ws[1], .inner = ws.SizeOfRange(2, ws.rank()), .outer_channels = true});
  }
  /// The matmul of filters and an image both of which have four channels in one.
  TileGemm::Expected OfQuads(Shape xs, Shape ws, Geometry g, cl_int scale_step) const {
    ws[1] = PackedQuads::Quads(ws[1]);
    xs[1] = CheckedMul(ws[1], group_);
    g.group_in = static_cast<cl_int>(ws[1]);
    g.channels = static_cast<cl_int>(xs[1]);
    return TileGemm::OfWindows(xs, ws, g, scale_step);
  }
  void ByQuads(KernelContext& context, const QuantizedOperands& o, const Tensor& y, const Shape& xs, const Shape& ws,
               const Geometry& g) {
    const TileGemm::Expected now = OfQuads(xs, ws, g, o.scale_step);
    const DeviceScratch image(context, static_cast<size_t>(CheckedMul<int64_t>(now.elements_b, sizeof(cl_int))));
    image_quads_.Pack(context, *o.a, image.range(), ws[1], xs.SizeOfRange(2, xs.rank()));
    const auto correction = quads_->correction(o.a_zero);
    tiles_->Multiply(context, {quads_->weights(), image.range(), nullptr, RangeOf(y), o.results(), correction}, now.shape,
                     now.stack, now.stacks, now.geometry);
  }

  void ByTiles(KernelContext& context, const QuantizedOperands& o, const Tensor& y, const Shape& xs, const Shape& ws,
               const Geometry& g) {
    const TileGemm::Expected now = TileGemm::OfWindows(xs, ws, g, o.scale_step);
    const DeviceScratch image(context, static_cast<size_t>(xs.num_elements()) * sizeof(cl_short));
    image_.Compile().Linear(context, xs.num_elements(), *o.a, o.a_zero, image.range(), cl_long{1}, cl_long{1}, cl_int{0});
    const auto multiply = [&](BufferRange filters) {
      tiles_->Multiply(context, {filters, image.range(), nullptr, RangeOf(y), o.results()}, now.shape, now.stack,
                       now.stacks, now.geometry);
    };
    if (packed_ != nullptr) return multiply(packed_->range());
    const int64_t elements = ws.num_elements();
    const DeviceScratch filters(context, static_cast<size_t>(elements) * sizeof(cl_short));
    filters_.Compile().Linear(context, elements, *o.b, o.b_zero, filters.range(),
                              cl_long{std::max<int64_t>(elements / ws[0], 1)}, cl_long{ws[0]}, o.zero_step);
    multiply(filters.range());
  }

  void ByPanels(KernelContext& context, const QuantizedOperands& o, const Tensor& y, const Shape& ws, const Geometry& g,
                int64_t batch) {
    if (packed_ != nullptr) return ByPanels(context, packed_->range(), o, y, ws, g, batch);
    const DeviceScratch filters(context, static_cast<size_t>(FilterBytes(ws, group_)));
    filters_.Compile()(context, FilterBatches(ws), {1, 1, 1}, *o.b, o.b_zero, filters.range(), g.group_out, g.group_in,
                       static_cast<cl_int>(ws.SizeOfRange(2, ws.rank())), o.zero_step);
    ByPanels(context, filters.range(), o, y, ws, g, batch);
  }

  /// As a matmul of the filters and the image's windows: of pairs of channels, with what is around the image.
  void ByPanels(KernelContext& context, BufferRange filters, const QuantizedOperands& o, const Tensor& y, const Shape& ws,
                const Geometry& g, int64_t batch) {
    const int64_t n = Positions(g), pairs = Pairs(ws), per_image = PanelGemm::Panels(n),
                  pairs_of_group = CeilDiv<int64_t>(g.group_in, 2);
    const int64_t rows = CheckedMul(Padded(g, 0), Padded(g, 1)), plane = RoundUp(CheckedMul(rows, Padded(g, 2)), kPanel),
                  planes = CheckedMul(group_, pairs_of_group);
    Require(std::max({n, pairs, plane}) <= std::numeric_limits<cl_int>::max(),
            "{} positions, {} pairs of taps and planes of {} are more than kernels count", n, pairs, plane);
    const DeviceScratch image(context, static_cast<size_t>(CheckedMul(CheckedMul(planes, batch), plane)) * sizeof(cl_int));
    image_.Compile()(context, {static_cast<size_t>(rows), static_cast<size_t>(planes), static_cast<size_t>(batch)},
                     {1, 1, 1}, *o.a, o.a_zero, image.range(), g, cl_long{plane});
    Strided stack;
    stack.rank = 1;
    stack.dims[0] = group_;
    stack.a[0] = PanelGemm::PackedRows(g.group_out) * pairs;
    stack.c[0] = g.group_out;
    PanelGemmShape shape{.b_panel = 0,
                         .y_image = g.filters * n,
                         .m = g.group_out,
                         .n = static_cast<cl_int>(n),
                         .k = static_cast<cl_int>(pairs),
                         .row_bias = o.scale_step,
                         .col_bias = 0};
    PanelOperands operands{filters, image.range(), nullptr, RangeOf(y), o.results()};
    if (n == Padded(g, 2) && rows == 1 && g.stride[2] == 1 && pairs == pairs_of_group) {
      // The image is the matrix of its windows.
      stack.b[0] = pairs * plane;
      shape.b_image = planes * plane;
      shape.SetRowsOfB(static_cast<cl_int>(plane));
      return panels_->Multiply(context, operands, shape, batch * per_image, stack, group_);
    }
    panels_->MultiplyWindows(
        context, operands, shape, batch, stack, group_, [&](BufferRange windows, cl_int first, int64_t panels) {
          const auto batches = static_cast<size_t>(CeilDiv(pairs_of_group, QuantizedPacking::kPlanes));
          windows_.Compile()(context, {batches, static_cast<size_t>(panels), static_cast<size_t>(group_)}, {1, 1, 1},
                             image.range(), windows, g, static_cast<cl_int>(per_image), first, cl_long{panels},
                             cl_long{plane});
        });
  }

  QuantizedInputs inputs_;
  bool tiled_;
  ConvAttributes attributes_;
  int64_t group_;
  Epilogue results_;
  LazyLaunchable direct_, depthwise_;
  QuantizedPacking filters_;
  PackedQuads image_quads_;
  QuantizedPacking image_, windows_;
  std::unique_ptr<const QuadWeights> quads_;
  std::optional<TileGemm> tiles_;
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_;
};

}  // namespace

std::unique_ptr<Kernel> MakeIntegerConv(const KernelInfo& info) { return std::make_unique<IntegerConv>(info); }

}  // namespace tessera::opencl
