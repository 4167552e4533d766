#pragma once

// Products on devices that are processors (pocl): see ops/product.cl.

#include "kernel.h"

namespace tessera::opencl {

inline constexpr int64_t kPanel = 16;  // columns

/// The same struct stands in ops/product.cl.
struct PanelProductShape {
  cl_long b_panel, b_image, y_image;
  cl_int m, n, k, row_a, col_a, b_row, b_column, panels, first, row_bias, col_bias;
  cl_float alpha, beta;
  cl_int padding = 0;
};

/// Memory of the device for one launch: an in-order queue lets it go back before the launch is done.
class DeviceScratch {
 public:
  DeviceScratch(KernelContext& context, size_t bytes)
      : allocator_(context.allocator()), memory_(allocator_.Allocate(bytes)) {}
  ~DeviceScratch() { allocator_.Free(memory_); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;
  BufferRange range() const { return DeviceAllocator::Find(memory_); }

 private:
  Allocator& allocator_;
  void* memory_;
};

/// What an operand of a product points to.
struct PanelOperands {
  const Tensor& a;
  BufferRange b;
  const Tensor* bias;
  const Tensor& y;
  std::span<const Tensor* const> epilogue = {};
};

class PanelProduct {
 public:
  explicit PanelProduct(const KernelInfo& info);

  /// Columns [first, first + panels) of every image's panels, for each entry of `stack` (a, b and c: A, B and bias).
  void Multiply(KernelContext& context, const PanelOperands& operands, const PanelProductShape& shape, int64_t panels,
                const Strided& stack, int64_t stacks);
  /// B [stacks][k, n] with these strides to packed panels.
  void Pack(KernelContext& context, const Tensor& b, BufferRange packed, int64_t k, int64_t n, cl_int row, cl_int column,
            int64_t stacks);
  /// Bytes of an element in a panel.
  size_t element_bytes() const noexcept { return element_bytes_; }

  static int64_t Panels(int64_t n) { return (n + kPanel - 1) / kPanel; }

 private:
  static constexpr int64_t kRows = 6;
  Launchable multiply_, pack_;
  size_t element_bytes_;
};

}  // namespace tessera::opencl
