#include "opencl/conv/winograd.h"

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

static_assert(kPanel == 16);  // as in winograd.cl

int64_t ColumnsOf(const KernelInfo& info) { return SettingsOf(info).tiles ? 1 : kPanel; }

std::string TileDefines(const KernelInfo& info, int tile) {
  return fmt::format("#define TILE {}\n#define TOGETHER {}\n", tile, ColumnsOf(info));
}

std::string Defines(const KernelInfo& info, int tile) { return PanelDefines(info) + TileDefines(info, tile); }

}  // namespace

int64_t WinogradConv::Tiles(const Window& window, int64_t batch, int tile) {
  return batch * CeilDiv(window.output[0], tile) * CeilDiv(window.output[1], tile);
}

bool WinogradConv::Suits(const KernelInfo& info, const Shape& weights, int64_t group) {
  // Double is asked for by those who want all digits, and matrix units are as fast without the transforms.
  const ElementType type = info.input_type(0);
  const bool pays =
      kReals.contains(type) && type != ElementType::kDouble && !(SettingsOf(info).tiles && TileGemm::UsesUnits(info));
  constexpr int64_t kFewest = 16;
  return SettingsOf(info).winograd && pays && group == 1 && weights.rank() == 4 && weights[2] == 3 && weights[3] == 3 &&
         weights[0] >= kFewest && weights[1] >= kFewest && info.constant_input(1) != nullptr;
}

bool WinogradConv::Suits(const Window& window) {
  if (window.rank() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (window.kernel[i] != 3 || window.strides[i] != 1 || window.dilations[i] != 1) return false;
  }
  return true;
}

double WinogradConv::Gain(const Shape& weights, const Window& window, int64_t batch, int tile, int64_t columns) {
  // What the transforms of an element cost, in multiply-adds.
  constexpr double kOfImage = 24, kOfResult = 24;
  const int64_t width = std::max<int64_t>(columns, kPanel);
  const auto up = [&](int64_t count) { return static_cast<double>(CeilDiv(count, width) * width); };
  const auto filters = static_cast<double>(weights[0]), channels = static_cast<double>(weights[1]);
  const double directly = 9 * up(batch * window.output[0] * window.output[1]) * filters * channels;
  const double multiplications = (tile + 2) * (tile + 2) * up(Tiles(window, batch, tile));
  return directly / (multiplications * (filters * channels + kOfImage * channels + kOfResult * filters));
}

int WinogradConv::TileFor(const KernelInfo& info, const Shape& weights, const Window& window, int64_t batch) {
  int best = 0;
  double most = 1;
  for (const int tile : {4, 2}) {
    const double gain = Gain(weights, window, batch, tile, ColumnsOf(info));
    if (gain > most) best = tile, most = gain;
  }
  return best;
}

WinogradConv::WinogradConv(const KernelInfo& info, const Tensor& weights, int tile, std::optional<int64_t> tiles)
    : tile_(tile),
      columns_(ColumnsOf(info)),
      weights_(weights.shape()),
      transform_image_(DeviceOf(info), "winograd", Defines(info, tile), "transform_image"),
      multiply_(DeviceOf(info), "winograd",
                TileDefines(info, tile) + BlockDefines(info, "#define PACKED_A\n") + EpilogueOf(info).defines, "multiply"),
      finish_(DeviceOf(info), "winograd", Defines(info, tile) + EpilogueOf(info).defines, "finish") {
  const int64_t rows = columns_ == 1 ? 1 : kBlockRows, blocks = CeilDiv(weights_[0], rows);
  const int64_t elements = CheckedMul(CheckedMul(CheckedMul(blocks, rows), weights_[1]), points());
  const auto bytes = static_cast<size_t>(CheckedMul<int64_t>(elements, sizeof(cl_float)));
  filters_ = ConstantsOf(info).Form(
      weights, fmt::format("filters of tile {} in {} rows", tile, rows), bytes, [&](const BufferRange& filters) {
        const HostWeights from(DeviceOf(info), weights);
        Launchable transform(DeviceOf(info), "winograd",
                             fmt::format("{}{}#define ROWS {}\n", Defines(info, tile),
                                         HostWeights::Defines(DeviceOf(info), weights.type()), rows),
                             "transform_filters");
        transform.On(QueueOf(info), {static_cast<size_t>(weights_[1]), static_cast<size_t>(blocks * rows), 1}, {1, 1, 1},
                     from.range(), filters, static_cast<cl_int>(weights_[0]), static_cast<cl_int>(weights_[1]));
        Finish(QueueOf(info));
      });
  transform_image_.Compile();
  if (columns_ > 1) {
    multiply_.Compile();
  } else {
    // Rounded to fp16, transformed values would lose too much.
    tiles_.emplace(info, TileGemm::Layout{.follows = false, .scratch = true}, std::nullopt);
    finish_.Compile();
    if (!tiles || *tiles <= 0 || *tiles > std::numeric_limits<cl_int>::max()) return;
    const int64_t together = Together(*tiles), rest = *tiles % together;
    for (const int64_t here : {together, rest}) {
      if (here > 0) tiles_->Prepare(info, Gemms(here));
    }
  }
}

void WinogradConv::Convolve(KernelContext& context, const Tensor& x, const Tensor* bias, const Tensor& y, const Geometry& g,
                            int64_t batch, std::span<const Tensor* const> epilogue) {
  const int64_t rows = CeilDiv(g.out[1], tile_), columns = CeilDiv(g.out[2], tile_),
                tiles = CheckedMul(batch, rows * columns);
  Require(tiles <= std::numeric_limits<cl_int>::max() - kPanel, "{} tiles are more than kernels count", tiles);
  const auto count = static_cast<cl_int>(tiles);
  if (tiles_) return ByTiles(context, x, bias, y, g, count, epilogue);
  ByPanels(context, x, bias, y, g, count, epilogue);
}

void WinogradConv::ByPanels(KernelContext& context, const Tensor& x, const Tensor* bias, const Tensor& y, const Geometry& g,
                            cl_int tiles, std::span<const Tensor* const> epilogue) {
  constexpr int64_t kScratchBytes = 4 << 20;
  const int64_t panels = CeilDiv(tiles, kPanel), blocks = CeilDiv(g.filters, kBlockRows);
  const int64_t panel_bytes = CheckedMul<int64_t>(points() * kPanel * static_cast<int64_t>(sizeof(cl_float)), g.channels);
  const int64_t together = std::clamp<int64_t>(kScratchBytes / panel_bytes, 1, panels);
  for (int64_t first = 0; first < panels; first += together) {
    const int64_t here = std::min(together, panels - first);
    const DeviceScratch scratch(context, static_cast<size_t>(CheckedMul(panel_bytes, here)));
    const auto first_tile = static_cast<cl_int>(first * kPanel);
    const auto batches = static_cast<size_t>(here);
    transform_image_.Compile()(context, {static_cast<size_t>(g.channels), batches, 1}, {1, 1, 1}, x, scratch.range(), g,
                               tiles, first_tile);
    multiply_.Compile()(context, {static_cast<size_t>(blocks), batches, 1}, {1, 1, 1}, filters_->range(), scratch.range(),
                        bias, y, g, tiles, first_tile, epilogue);
  }
}

int64_t WinogradConv::Together(int64_t tiles) const {
  constexpr int64_t kScratchBytes = 128 << 20;
  const int64_t tile_bytes =
      CheckedMul<int64_t>(points() * static_cast<int64_t>(sizeof(cl_float)), weights_[0] + weights_[1]);
  return std::clamp<int64_t>(kScratchBytes / tile_bytes, 1, tiles);
}

TileGemm::Expected WinogradConv::Gemms(int64_t tiles) const {
  const int64_t filters = weights_[0], channels = weights_[1];
  TileGemm::Expected expected{.shape = {.m = static_cast<cl_int>(filters),
                                        .n = static_cast<cl_int>(tiles),
                                        .k = static_cast<cl_int>(channels),
                                        .row_a = static_cast<cl_int>(points() * channels),
                                        .col_a = 1,
                                        .row_b = static_cast<cl_int>(tiles),
                                        .col_b = 1,
                                        .row_bias = 0,
                                        .col_bias = 0},
                              .stack = {},
                              .stacks = points(),
                              .elements_b = channels * tiles * points()};
  expected.stack.rank = 1;
  expected.stack.dims[0] = points();
  expected.stack.a[0] = channels;
  expected.stack.b[0] = channels * tiles;
  return expected;
}

void WinogradConv::ByTiles(KernelContext& context, const Tensor& x, const Tensor* bias, const Tensor& y, const Geometry& g,
                           cl_int tiles, std::span<const Tensor* const> epilogue) {
  const int64_t together = Together(tiles);
  for (int64_t first = 0; first < tiles; first += together) {
    const int64_t here = std::min<int64_t>(together, tiles - first);
    const auto bytes = [&](int64_t rows) { return static_cast<size_t>(points() * rows * here) * sizeof(cl_float); };
    const DeviceScratch image(context, bytes(g.channels)), multiplications(context, bytes(g.filters));
    const auto first_tile = static_cast<cl_int>(first);
    transform_image_.Compile().Grid(context, here, g.channels, 1, x, image.range(), g, tiles, first_tile);
    const TileGemm::Expected multiplied = Gemms(here);
    tiles_->Multiply(context, {filters_->range(), image.range(), nullptr, multiplications.range()}, multiplied.shape,
                     multiplied.stack, multiplied.stacks);
    finish_.Compile().Grid(context, here, g.filters, 1, multiplications.range(), bias, y, g, tiles, first_tile, epilogue);
  }
}

}  // namespace tessera::opencl
