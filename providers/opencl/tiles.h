#pragma once

// Products on GPUs: see ops/tiles.cl.

#include <map>
#include <optional>

#include "kernel.h"
#include "window.h"

namespace tessera::opencl {

/// The same struct stands in ops/tiles.cl.
struct TileProductShape {
  cl_int m, n, k, row_a, col_a, row_b, col_b, row_bias, col_bias;
  cl_float alpha = 1, beta = 1;
};

/// How many elements of C a group and a work item compute, and how many steps of k are in local memory at a time.
struct Tile {
  int m, n, k, rows, columns;
  int items() const { return m / rows * (n / columns); }
  std::string Defines() const;
};

class TileProduct {
 public:
  /// How operands lie: neighbours along k are neighbours in memory (else those along m, along n are). `windows`: B is the
  /// windows of an image. `follows`: the node's epilogue is applied.
  struct Layout {
    bool along_k_a = true, along_k_b = false, windows = false, follows = true;
  };
  /// A shape that is known before the first run: its kernel is compiled, and tuned, at once.
  struct Expected {
    TileProductShape shape;
    Strided stack;
    int64_t stacks = 1;
    int64_t elements_b = 0;  // of all of B, or of the image
    std::optional<Geometry> geometry = {};
  };
  struct Operands {
    BufferRange a;
    BufferRange b;
    const Tensor* bias;
    BufferRange y;
    std::span<const Tensor* const> epilogue = {};
  };

  TileProduct(const KernelInfo& info, Layout layout, const std::optional<Expected>& expected);

  void Multiply(KernelContext& context, const Operands& operands, const TileProductShape& shape, const Strided& stack,
                int64_t stacks, const Geometry* geometry = nullptr);

 private:
  using Sizes = std::array<int64_t, 4>;  // m, n, k, stacks

  static constexpr int64_t kFewRows = 4, kLines = 32, kLanes = 8;

  /// Reading B is all the work.
  bool HasFewRows(const TileProductShape& shape) const { return !layout_.windows && shape.m <= kFewRows; }
  /// The position of the tile to use in the list of tiles, compiled.
  size_t Choose(const Sizes& sizes);
  /// Positions of tiles, best first by estimate.
  std::vector<size_t> Ranked(const Sizes& sizes) const;
  /// False where the device does not take a tile so large.
  bool Compile(size_t tile);
  void CompileFewRows();
  void Tune(const Expected& expected);
  double Time(size_t tile, const Expected& expected, std::span<const BufferRange> buffers, cl_command_queue queue);
  std::string Key(const Sizes& sizes) const;

  Device& device_;
  const Layout layout_;
  const size_t element_bytes_;  // in buffers
  const bool halves_;
  const size_t local_bytes_;  // of an element in local memory
  const Epilogue epilogue_;
  std::string defines_;
  std::mutex mutex_;
  std::map<size_t, std::unique_ptr<Launchable>> kernels_;  // null: refused
  std::unique_ptr<Launchable> few_rows_;
  std::string refusal_;  // what the device said of the last tile that it did not take
  std::map<Sizes, size_t> chosen_;
};

}  // namespace tessera::opencl
