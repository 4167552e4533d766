#include "opencl/conv/depthwise.h"

#include <algorithm>

#include "base/rounding.h"
#include "opencl/gemm/panel_gemm.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kDown = 4;              // rows that an item computes together
constexpr int64_t kKeptBytes = 32 << 10;  // what a tile reads stays in the first cache
constexpr int64_t kAccumulators = 4096;
constexpr int64_t kMostFilters = 8;  // of a group of several channels: more fill blocks of products

int64_t LinesOf(ElementType type) { return kKeptBytes / (type == ElementType::kDouble ? 8 : 4); }

struct DepthwiseTile {
  int64_t rows, columns, phases, row_length;

  /// Whether what its windows read is no more than so many elements.
  bool Fits(const Geometry& g, int64_t kept_rows) const {
    const int64_t read = (rows - 1) * g.stride[1] + int64_t{g.window[1] - 1} * g.dilation[1] + 1,
                  wide = phases * row_length;
    return read <= kept_rows && wide <= kept_rows && read * wide <= kept_rows;
  }

  static DepthwiseTile Of(const Geometry& g, int64_t rows, int64_t columns) {
    const int64_t reach = int64_t{g.window[2] - 1} * g.dilation[2];
    return {rows, columns, std::min<int64_t>(g.stride[2], reach + 1), columns + reach / g.stride[2]};
  }
};

std::string Defines(const KernelInfo& info, int64_t kept_rows) {
  return BlockDefines(info.input_type(0), "", kDown) +
         fmt::format("#define DOWN ROWS\n#define KEPT {}\n#define ACCUMULATORS {}\n", kept_rows, kAccumulators) +
         EpilogueOf(info).defines;
}

/// The largest that fits, of no more than the result has.
DepthwiseTile TileOf(const Geometry& g, int64_t kept_rows) {
  constexpr int64_t kMostRows = 16, kMostColumns = 64;
  int64_t rows = std::min(kMostRows, RoundUp<int64_t>(g.out[1], kDown)),
          columns = std::min(kMostColumns, RoundUp<int64_t>(g.out[2], kPanel));
  const int64_t acc = g.group_in == 1 ? kMostRows * kMostColumns : kAccumulators / g.group_out;
  const auto fits = [&] { return rows * columns <= acc && DepthwiseTile::Of(g, rows, columns).Fits(g, kept_rows); };
  while (!fits() && rows > kDown) rows -= kDown;
  while (!fits() && columns > kPanel) columns -= kPanel;
  return DepthwiseTile::Of(g, rows, columns);
}

}  // namespace

DepthwiseConv::DepthwiseConv(const KernelInfo& info)
    : kept_(LinesOf(info.input_type(0))),
      depthwise_(DeviceOf(info), "depthwise", Defines(info, kept_), "depthwise"),
      few_filters_(DeviceOf(info), "depthwise", Defines(info, kept_), "few_filters") {}

bool DepthwiseConv::Suits(const Window& window, int64_t group_in, int64_t group_out, ElementType type) {
  if (window.rank() > 2 || (group_in != 1 && group_out > kMostFilters)) return false;
  const Geometry g = GeometryOf(window);
  return DepthwiseTile::Of(g, kDown, kPanel).Fits(g, LinesOf(type));
}

void DepthwiseConv::Convolve(KernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y,
                             const Geometry& g, std::span<const Tensor* const> epilogue) {
  const DepthwiseTile tile = TileOf(g, kept_);
  const int64_t across = CeilDiv<int64_t>(g.out[2], tile.columns), down = CeilDiv<int64_t>(g.out[1], tile.rows);
  const int64_t planes = x.shape()[0] * (g.group_in == 1 ? g.filters : g.channels / g.group_in);
  KernelFor(g.group_in)
      .Compile()(context, {static_cast<size_t>(across), static_cast<size_t>(down), static_cast<size_t>(planes)}, {1, 1, 1},
                 x, w, bias, y, g, static_cast<cl_int>(tile.rows), static_cast<cl_int>(tile.columns),
                 static_cast<cl_int>(tile.phases), static_cast<cl_int>(tile.row_length), epilogue);
}

}  // namespace tessera::opencl
