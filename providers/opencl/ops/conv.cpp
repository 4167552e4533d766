// Conv (1-22), one to three spatial dimensions.

#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/claims/refusals.h"
#include "opencl/conv/depthwise.h"
#include "opencl/conv/window.h"
#include "opencl/conv/winograd.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/tile_gemm.h"
#include "ops/nn/conv.h"

namespace tessera::opencl {
namespace {

constexpr int kDirectOutputs = 4;  // output channels that one work item of the direct kernel computes
constexpr int64_t kChannels = 16;  // that one work item packs

/// How a convolution is computed.
enum class Way : int8_t { kDirect, kDepthwise, kPanels, kTiles, kWinograd };

class Conv final : public Kernel {
 public:
  explicit Conv(const KernelInfo& info)
      : tiled_(SettingsOf(info).tiles),
        epilogue_(EpilogueOf(info)),
        attributes_(info.node()),
        group_(attributes_.group),
        type_(info.input_type(0)),
        direct_(DeviceOf(info), "conv", Defines(info) + fmt::format("#define PER {}\n", kDirectOutputs), "convolve"),
        each_filter_(DeviceOf(info), "conv", Defines(info) + "#define PER 1\n", "convolve"),
        pack_image_(DeviceOf(info), "panel_gemm", PanelDefines(info) + fmt::format("#define CHANNELS {}\n", kChannels),
                    "pack_image"),
        depthwise_(info) {
    // What the shapes that are known will need is compiled now.
    const auto ws = KnownShape(info.input_info(1)), xs = KnownShape(info.input_info(0));
    if (!ws || ws->rank() < 3 || !attributes_.FitsGroups(*ws)) {
      MakeGemms(info, {}, std::nullopt);
      CompileOtherWays(info.input_info(1));
      return;
    }
    if (ws->SizeOfRange(2, ws->rank()) == 1) {
      const Shape any(ws->rank() - 2, kAnySize);
      pointwise_ = IsIdentity(attributes_.window.Fit(any.dims(), ws->dims().subspan(2)));
    }
    if (MakeWinograd(info, *ws)) return;
    std::optional<Geometry> geometry;
    if (xs && xs->rank() == ws->rank())
      geometry = ConvGeometry(attributes_.window.Fit(xs->dims().subspan(2), ws->dims().subspan(2)), *xs, *ws, group_);
    const int64_t positions = geometry ? Positions(*geometry) : kPanel;
    switch (Choose(*ws, positions)) {
      case Way::kDirect: Direct((*ws)[0] / group_).Compile(); break;
      case Way::kDepthwise:
        depthwise_.Compile((*ws)[1]);
        if (!geometry) CompileForFewPositions(info, *ws);
        break;
      case Way::kPanels: MakePanels(info, *ws); break;
      case Way::kTiles:
        MakeGemms(info, Shape(ws->dims().subspan(2)), geometry ? std::optional(Expect(*xs, *ws, *geometry)) : std::nullopt);
        break;
      case Way::kWinograd: break;
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& w = context.required_input(1);
    const Shape &xs = x.shape(), &ws = w.shape();
    Require(xs.rank() <= 5, "the input is {}; at most 5 dimensions are expected", xs);
    const Tensor* bias = context.input(2);
    const Window window = attributes_.Fit(xs, ws, bias);
    const Shape ys = ConvAttributes::ResultShape(xs, ws, window);
    const Geometry g = ConvGeometry(window, xs, ws, group_);
    Epilogue::Operands storage;
    const auto operands = epilogue_.Collect(context, ys, storage);
    Tensor& y = *context.output(0, ys);
    if (y.num_elements() == 0) return;
    const int64_t positions = Positions(g);
    switch (winograd_ && (only_winograd_ || winograd_->Pays(window, xs[0])) ? Way::kWinograd : Choose(ws, positions)) {
      case Way::kWinograd: return winograd_->Convolve(context, x, bias, y, g, xs[0], operands);
      case Way::kDirect: {
        const int64_t per = g.group_out == 1 ? 1 : kDirectOutputs, blocks = group_ * CeilDiv(g.group_out, per);
        return Direct(g.group_out).Compile().Grid(context, positions, blocks, xs[0], x, w, bias, y, g, operands);
      }
      case Way::kDepthwise: return depthwise_.Convolve(context, x, w, bias, y, g, operands);
      case Way::kPanels:
        return ByPanels(context,
                        {packed_filters_ != nullptr ? packed_filters_->range() : DeviceAllocator::Find(w.raw()),
                         {},
                         bias,
                         RangeOf(y),
                         operands},
                        x, ws, g, xs[0], positions);
      case Way::kTiles: {
        const TileGemm::Expected now = Expect(xs, ws, g);
        return tiles_->Multiply(context, {RangeOf(w), RangeOf(x), bias, RangeOf(y), operands}, now.shape, now.stack,
                                now.stacks, now.geometry);
      }
    }
  }

 private:
  static constexpr int64_t kAnySize = 1024;  // of an image, no matter which

  static std::string Defines(const KernelInfo& info) {
    return Computed('X', info.input_type(0)) + EpilogueOf(info).defines;
  }
  static constexpr int64_t kFewestFilters = 3;  // of a group: blocks in registers have rows for six
  static constexpr int64_t kFewestOfTile = 8;   // half of the least tile's rows

  Way Choose(const Shape& ws, int64_t positions) const {
    const int64_t group_out = ws[0] / group_;
    if (tiled_) return group_out >= kFewestOfTile ? Way::kTiles : Way::kDirect;
    if (ws[1] > 0 && positions > kPanel / 2 && DepthwiseConv::Suits(WindowOf(ws), ws[1], group_out, type_))
      return Way::kDepthwise;
    return group_out >= kFewestFilters ? Way::kPanels : Way::kDirect;
  }
  /// Over an image of any size.
  Window WindowOf(const Shape& ws) const {
    const Shape any(ws.rank() - 2, kAnySize);
    return attributes_.window.Expand(any.dims(), ws.dims().subspan(2));
  }
  LazyLaunchable& Direct(int64_t group_out) { return group_out == 1 ? each_filter_ : direct_; }

  /// True where all images go this way. Their number does not matter: one image gains least.
  bool MakeWinograd(const KernelInfo& info, const Shape& ws) {
    if (!WinogradConv::Suits(info, ws, group_)) return false;
    const auto& dims = info.input_info(0).shape;
    if (!dims || dims->size() != ws.rank()) return false;
    Shape xs{1, ws[1]};
    for (size_t i = 2; i < dims->size() && (*dims)[i].known(); ++i) xs.Append((*dims)[i].value);
    only_winograd_ = xs.rank() == ws.rank();
    if (!only_winograd_) xs = Shape{1, ws[1], kAnySize, kAnySize};
    const Window window = attributes_.window.Fit(xs.dims().subspan(2), ws.dims().subspan(2));
    if (!WinogradConv::Suits(window)) return false;
    const int tile = only_winograd_ ? WinogradConv::TileFor(info, ws, window, 1) : WinogradConv::kUsualTile;
    only_winograd_ = only_winograd_ && tile != 0;
    const Dimension& batch = dims->front();
    const std::optional<int64_t> images = only_winograd_ && batch.known() ? std::optional(batch.value) : std::nullopt;
    if (tile != 0)
      winograd_.emplace(info, *info.constant_input(1), tile,
                        images ? std::optional(WinogradConv::Tiles(window, *images, tile)) : std::nullopt);
    if (only_winograd_) info.ReleaseConstant(1);
    return only_winograd_;
  }

  /// `taps`: of a window, where they are known.
  void MakeGemms(const KernelInfo& info, std::optional<Shape> taps, const std::optional<TileGemm::Expected>& expected) {
    if (tiled_) {
      tiles_.emplace(info, TileGemm::Layout{.windows = !pointwise_, .taps = std::move(taps)}, expected);
    } else {
      panels_.emplace(info, PanelGemm::Left::kAlongK);
    }
  }
  /// Filters whose size is not known may go these ways, too: nothing is compiled in a run.
  void CompileOtherWays(const TypeInfo& filters) {
    std::optional<int64_t> group_out;
    if (filters.shape && !filters.shape->empty() && filters.shape->front().known() && group_ > 0)
      group_out = filters.shape->front().value / group_;
    if (group_out.value_or(1) == 1) each_filter_.Compile();
    const int64_t least = tiled_ ? kFewestOfTile : kFewestFilters;
    if (!group_out || (*group_out > 1 && *group_out < least)) direct_.Compile();
    if (tiled_) return;
    for (const int64_t channels : {1, 2}) depthwise_.Compile(channels);
    pack_image_.Compile();
  }
  /// Images whose size is not known may be too small for the depthwise kernel.
  void CompileForFewPositions(const KernelInfo& info, const Shape& ws) {
    if (Choose(ws, 0) == Way::kDirect) {
      Direct(ws[0] / group_).Compile();
      return;
    }
    panels_.emplace(info, PanelGemm::Left::kAlongK);  // the other kernel reads the filters as they are
    pack_image_.Compile();
  }
  /// Whether the image is the matrix of its windows.
  bool IsMatrix() const { return pointwise_ && PanelGemm::ReadsInPlace(type_); }
  void MakePanels(const KernelInfo& info, const Shape& ws) {
    const Tensor* weights = info.constant_input(1);
    panels_.emplace(info, weights != nullptr ? PanelGemm::Left::kPacked : PanelGemm::Left::kAlongK);
    if (weights != nullptr) {
      packed_filters_ = PanelGemm::PackLeft(info, *weights, ws[0] / group_, ws.SizeOfRange(1, ws.rank()), group_);
      info.ReleaseConstant(1);
    }
    if (!IsMatrix()) pack_image_.Compile();
  }

  /// The filters times the windows of all images, as one matmul; times each image itself where it is the matrix.
  TileGemm::Expected Expect(const Shape& xs, const Shape& ws, const Geometry& g) const {
    if (!pointwise_) return TileGemm::OfWindows(xs, ws, g, 1);
    const int64_t positions = Positions(g);
    TileGemm::Expected expected = TileGemm::OfFilters(xs, ws, g, positions, 1);
    expected.shape.row_b = expected.shape.n;
    expected.shape.col_b = 1;
    expected.stacks = CheckedMul(xs[0], group_);
    Strided& stack = expected.stack;
    stack.rank = 2;
    stack.dims = {xs[0], group_};
    stack.a = {0, stack.a[0]};
    stack.b = {g.channels * positions, g.group_in * positions};
    stack.c = {0, stack.c[0]};
    return expected;
  }

  /// As a matmul of the filters and the image's windows.
  void ByPanels(KernelContext& context, PanelOperands operands, const Tensor& x, const Shape& ws, const Geometry& g,
                int64_t batch, int64_t n) {
    const int64_t taps = ws.SizeOfRange(2, ws.rank()), k = CheckedMul<int64_t>(g.group_in, taps);
    const int64_t per_image = PanelGemm::Panels(n);
    Require(std::max(n, k) <= std::numeric_limits<cl_int>::max(), "{} positions and {} taps are more than kernels count", n,
            k);
    Strided stack;
    stack.rank = 1;
    stack.dims[0] = group_;
    stack.a[0] = (packed_filters_ != nullptr ? PanelGemm::PackedRows(g.group_out) : g.group_out) * k;
    stack.c[0] = g.group_out;
    PanelGemmShape shape{.b_panel = 0,
                         .y_image = g.filters * n,
                         .m = g.group_out,
                         .n = static_cast<cl_int>(n),
                         .k = static_cast<cl_int>(k),
                         .row_a = static_cast<cl_int>(k),
                         .row_bias = 1,
                         .col_bias = 0};
    if (IsMatrix()) {
      stack.b[0] = g.group_in * n;
      shape.b_image = g.channels * n;
      shape.SetRowsOfB(static_cast<cl_int>(n));
      operands.b = DeviceAllocator::Find(x.raw());
      return panels_->Multiply(context, operands, shape, batch * per_image, stack, group_);
    }
    panels_->MultiplyWindows(
        context, operands, shape, batch, stack, group_, [&](BufferRange windows, cl_int first, int64_t panels) {
          const auto batches = static_cast<size_t>(CeilDiv(g.group_in, kChannels));
          pack_image_.Compile()(context, {batches, static_cast<size_t>(panels), static_cast<size_t>(group_)}, {1, 1, 1}, x,
                                windows, g, static_cast<cl_int>(per_image), first, cl_long{panels});
        });
  }

  const bool tiled_;
  const Epilogue epilogue_;
  ConvAttributes attributes_;
  int64_t group_;
  const ElementType type_;
  LazyLaunchable direct_, each_filter_, pack_image_;
  DepthwiseConv depthwise_;
  std::optional<TileGemm> tiles_;
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_filters_;
  std::optional<WinogradConv> winograd_;
  bool only_winograd_ = false, pointwise_ = false;
};

}  // namespace

void RegisterConv(KernelRegistry& registry) {
  registry.Add(Op("Conv").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Make<Conv>());
}

}  // namespace tessera::opencl
