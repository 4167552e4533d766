#pragma once

// Matmuls on GPUs: see tile_operands.cl, tile_gemm.cl and matrix_units.cl.

#include <map>
#include <optional>

#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {

/// The same struct stands in tile_operands.cl.
struct TileGemmShape {
  cl_int m = 0, n = 0, k = 0, row_a = 0, col_a = 0, row_b = 0, col_b = 0, row_bias = 0, col_bias = 0;
  cl_float alpha = 1, beta = 1;
};

/// How many elements of C a group computes, how many steps of k are in local memory at a time, how many elements a work
/// item (with matrix units: a warp of them) keeps, and in how many slices the group divides k.
struct Tile {
  int m, n, k, rows, columns, slices = 1;
  bool units = false;  // by matrix_units.cl

  /// Work items of a slice, and where they are: a launch's group is {x, y, slices}.
  constexpr int items() const { return m / rows * (n / columns) * (units ? kWarp : 1); }
  std::array<size_t, 3> local() const;
  std::array<size_t, 3> groups(const TileGemmShape& shape, int64_t stacks) const;
  size_t LocalBytes(size_t element_bytes) const;
  std::string Defines() const;

  static constexpr int kWarp = 32;
};

class TileGemm {
 public:
  /// Integers whose products are summed exactly: of 16 bits, or signed bytes, four neighbours along k in an int.
  enum class Integers : int8_t { kNone, kShorts, kQuads };
  /// How operands lie, and what else shapes the kernel.
  struct Layout {
    bool along_k_a = true,
         along_k_b = false;                // neighbours along k are neighbours in memory (else those along m, along n are)
    bool windows = false;                  // B is the windows of an image
    bool follows = true;                   // the node's epilogue is applied
    bool scratch = false;                  // operands and result are floats of the kernel's own, and stay so
    std::optional<Shape> taps = {};        // of a window, where they are known
    bool tunable = true;                   // the sizes of tiles may be chosen by timing
    Integers integers = Integers::kNone;   // that operands are, in place of the node's type
    std::optional<Epilogue> results = {};  // in place of the node's epilogue
  };
  /// A shape that is known before the first run: its kernel is compiled, and tuned, at once.
  struct Expected {
    TileGemmShape shape;
    Strided stack;
    int64_t stacks = 1;
    int64_t elements_b = 0;  // of all of B, or of the image
    std::optional<Geometry> geometry = {};
  };
  /// The filters of a group of a convolution times so many columns; a bias is `row_bias` elements from filter to filter.
  static Expected OfFilters(const Shape& input, const Shape& filters, const Geometry& geometry, int64_t columns,
                            cl_int row_bias);
  /// Times the windows of all images.
  static Expected OfWindows(const Shape& input, const Shape& filters, const Geometry& geometry, cl_int row_bias);

  struct Operands {
    BufferRange a;
    BufferRange b;
    const Tensor* bias;
    BufferRange y;
    std::span<const Tensor* const> epilogue = {};
    std::span<const BufferRange> more = {};  // that results are made with
  };

  TileGemm(const KernelInfo& info, Layout layout, const std::optional<Expected>& expected);
  /// Compiles, and tunes, for a shape that is to come.
  void Prepare(const KernelInfo& info, const Expected& expected);

  /// Whether the device's matrix units multiply values of the node's first input: fp16, whose products are exact in the
  /// float that they sum in, and floats that may be rounded.
  static bool UsesUnits(const KernelInfo& info);

  void Multiply(KernelContext& context, const Operands& operands, const TileGemmShape& shape, const Strided& stack,
                int64_t stacks, const std::optional<Geometry>& geometry = {});

 private:
  using Sizes = std::array<int64_t, 4>;  // m, n, k, stacks
  /// A kernel: its tile, and whether vectors of A and of B start at multiples of their size.
  struct Variant {
    size_t tile;
    bool aligned_a, aligned_b;
    auto operator<=>(const Variant&) const = default;
  };

  /// A kernel for few rows: columns of a group, and work items of a column.
  struct FewRows {
    int64_t rows, columns, lanes;
    std::array<size_t, 3> local() const { return {static_cast<size_t>(columns), static_cast<size_t>(lanes), 1}; }
    auto operator<=>(const FewRows&) const = default;
  };

  static constexpr int64_t kFewRows = 4;

  /// Reading B is all the work.
  bool HasFewRows(const TileGemmShape& shape) const { return !layout_.windows && shape.m <= kFewRows; }
  Variant VariantOf(size_t tile, const TileGemmShape& shape, const Strided& stack, BufferRange a, BufferRange b) const;
  Variant Choose(const TileGemmShape& shape, const Strided& stack, int64_t stacks, BufferRange a, BufferRange b);
  /// Positions of tiles, best first by estimate; those that this matmul does not use are missing.
  std::vector<size_t> Ranked(const Sizes& sizes) const;
  /// Null where the device does not take groups so large.
  Launchable* Compile(const Variant& variant);
  Launchable* Compile(const FewRows& few);
  std::unique_ptr<Launchable> Compile(std::string_view source, const std::string& defines, const char* name,
                                      std::array<size_t, 3> local);
  FewRows FewRowsFor(const TileGemmShape& shape, int64_t stacks);
  void Tune(const Expected& expected);
  double Time(const Variant& variant, const Expected& expected, std::span<const BufferRange> buffers,
              cl_command_queue queue);
  std::string Key(const Sizes& sizes) const;

  Device& device_;
  const cl_command_queue queue_;
  const Layout layout_;
  const ElementType type_;  // in buffers
  const size_t element_bytes_;
  const bool units_, fp16_;
  const size_t local_bytes_;  // of an element in local memory
  const Epilogue epilogue_;
  std::string defines_;
  std::mutex mutex_;
  std::map<Variant, std::unique_ptr<Launchable>> kernels_;   // null: refused
  std::map<FewRows, std::unique_ptr<Launchable>> few_rows_;  // null: refused
  std::string refusal_;                                      // what the device said of the last tile that it did not take
  std::map<Sizes, size_t> chosen_;
};

}  // namespace tessera::opencl
