#pragma once

// 3x3 convolutions with constant weights through Winograd's transform, where it pays: see winograd.cl.

#include <optional>

#include "opencl/conv/window.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/tile_gemm.h"

namespace tessera::opencl {

class WinogradConv {
 public:
  /// Whether a convolution by these weights can go this way, as far as they and the settings tell.
  static bool Suits(const KernelInfo& info, const Shape& weights, int64_t group);
  static bool Suits(const Window& window);
  /// Results in a row and in a column of a tile, such that the transform pays; 0: it does not.
  static int TileFor(const KernelInfo& info, const Shape& weights, const Window& window, int64_t batch);
  /// The same where the image is not known yet.
  static constexpr int kUsualTile = 4;

  /// Tiles of so many images.
  static int64_t Tiles(const Window& window, int64_t batch, int tile);

  /// The transformed weights stay on the device. `tiles`: where their number is known.
  WinogradConv(const KernelInfo& info, const Tensor& weights, int tile, std::optional<int64_t> tiles);

  /// Whether it pays for this image, too.
  bool Pays(const Window& window, int64_t batch) const { return Gain(weights_, window, batch, tile_, columns_) > 1; }
  void Convolve(KernelContext& context, const Tensor& x, const Tensor* bias, const Tensor& y, const Geometry& g,
                int64_t batch, std::span<const Tensor* const> epilogue);

 private:
  /// How many times as long the other ways may take.
  static double Gain(const Shape& weights, const Window& window, int64_t batch, int tile, int64_t columns);
  /// How many tiles are transformed at a time, on GPUs, and the products of so many.
  int64_t Together(int64_t tiles) const;
  TileGemm::Expected Gemms(int64_t tiles) const;
  int64_t points() const { return int64_t{tile_ + 2} * (tile_ + 2); }
  void ByPanels(KernelContext& context, const Tensor& x, const Tensor* bias, const Tensor& y, const Geometry& g,
                cl_int tiles, std::span<const Tensor* const> epilogue);
  void ByTiles(KernelContext& context, const Tensor& x, const Tensor* bias, const Tensor& y, const Geometry& g,
               cl_int tiles, std::span<const Tensor* const> epilogue);

  const int tile_;
  const int64_t columns_;  // tiles that an item transforms together: 1 on GPUs
  const Shape weights_;
  std::shared_ptr<const ConstantBlock> filters_;
  LazyLaunchable transform_image_, multiply_, finish_;
  std::optional<TileGemm> tiles_;  // on GPUs
};

}  // namespace tessera::opencl
