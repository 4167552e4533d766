// Operators that are one strided copy, or one for each input or output: Transpose, DepthToSpace, SpaceToDepth, Expand,
// Tile, Slice (1-13), Concat (1-13), Split (1-18).

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/kernel.h"
#include "ops/movement/concat.h"
#include "ops/movement/depth_to_space.h"
#include "ops/movement/expand.h"
#include "ops/movement/slice.h"
#include "ops/movement/split.h"
#include "ops/movement/tile.h"
#include "ops/movement/transpose.h"

namespace tessera::opencl {
namespace {

class StridedKernel : public Kernel {
 public:
  explicit StridedKernel(const KernelInfo& info)
      : by_rows_(!SettingsOf(info).tiles),
        copy_(DeviceOf(info), "strided", Moved('X', info.input_type(0)) + (by_rows_ ? Launchable::RowPieceDefines() : ""),
              by_rows_ ? "copy_rows" : "copy") {}

 protected:
  /// Elements of `block` from strides a to strides b.
  void Copy(KernelContext& context, const Tensor& x, const Tensor& y, Strided block, int64_t from = 0, int64_t to = 0) {
    cl_long count = 1;
    for (size_t i = 0; i < static_cast<size_t>(block.rank); ++i) count *= block.dims[i];
    block.Coalesce();
    if (by_rows_ && count > 0) return CopyRows(context, count, x, y, block, from, to);
    copy_.Linear(context, count, x, y, block, static_cast<cl_long>(from), static_cast<cl_long>(to));
  }
  /// y = x, seen as `shape`, with its dimensions in the order of `perm`.
  void CopyTransposed(KernelContext& context, const Tensor& x, const Shape& shape, std::span<const size_t> perm,
                      const Tensor& y) {
    const auto strides = RowMajor(shape);
    Shape result(shape.rank());
    for (size_t i = 0; i < shape.rank(); ++i) result[i] = shape[perm[i]];
    Strided block = Block(result);
    for (size_t i = 0; i < shape.rank(); ++i) block.a[i] = strides[perm[i]];
    block.b = RowMajor(result);
    Copy(context, x, y, block);
  }

 private:
  void CopyRows(KernelContext& context, int64_t count, const Tensor& x, const Tensor& y, const Strided& block, int64_t from,
                int64_t to) {
    constexpr int64_t kStep = 16;
    const auto last = static_cast<size_t>(block.rank - 1);
    int64_t rows = count / block.dims[last];
    cl_int across = -1;
    for (size_t d = 0; d < last && block.a[last] != 1; ++d) {
      if (block.a[d] == 1 && block.dims[d] > 1) across = static_cast<cl_int>(d);
    }
    if (across >= 0) {
      const int64_t rows_here = block.dims[static_cast<size_t>(across)];
      rows = rows / rows_here * CeilDiv(rows_here, kStep);
    }
    copy_.Rows(context, block.dims[last], rows, x, y, block, static_cast<cl_long>(from), static_cast<cl_long>(to), across);
  }

  const bool by_rows_;  // on processors
  Launchable copy_;
};

class Transpose final : public StridedKernel {
 public:
  explicit Transpose(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t rank = x.shape().rank();
    attributes_.Check(rank);
    Require(rank <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", rank, kMostDims);
    std::array<size_t, kMostDims> perm{};
    Shape result(rank);
    for (size_t i = 0; i < rank; ++i) {
      perm[i] = attributes_.From(i, rank);
      result[i] = x.shape()[perm[i]];
    }
    CopyTransposed(context, x, x.shape(), std::span(perm).first(rank), *context.output(0, result));
  }

 private:
  TransposeAttributes attributes_;
};

class DepthToSpace final : public StridedKernel {
 public:
  explicit DepthToSpace(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& s = x.shape();
    const Shape space = attributes_.SpaceShape(s);
    const int64_t channels = space[1], size = attributes_.block;
    Tensor& y = *context.output(0, space);
    if (attributes_.depth_last) {
      static constexpr size_t kPerm[] = {0, 1, 4, 2, 5, 3};
      CopyTransposed(context, x, Shape{s[0], channels, size, size, s[2], s[3]}, kPerm, y);
    } else {
      static constexpr size_t kPerm[] = {0, 3, 4, 1, 5, 2};
      CopyTransposed(context, x, Shape{s[0], size, size, channels, s[2], s[3]}, kPerm, y);
    }
  }

 private:
  DepthToSpaceAttributes attributes_;
};

class SpaceToDepth final : public StridedKernel {
 public:
  explicit SpaceToDepth(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& s = x.shape();
    const Shape depth = attributes_.DepthShape(s);
    const int64_t size = attributes_.block;
    Tensor& y = *context.output(0, depth);
    static constexpr size_t kBlocksFirst[] = {0, 3, 5, 1, 2, 4}, kChannelsFirst[] = {0, 1, 3, 5, 2, 4};
    CopyTransposed(context, x, Shape{s[0], s[1], depth[2], size, depth[3], size},
                   attributes_.depth_last ? kChannelsFirst : kBlocksFirst, y);
  }

 private:
  DepthToSpaceAttributes attributes_;
};

class Expand final : public StridedKernel {
 public:
  using StridedKernel::StridedKernel;

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape result = ExpandedShape(x.shape(), context.required_input(1));
    Tensor& y = *context.output(0, result);
    Strided block = Block(result);
    block.a = BroadcastStrides(x.shape(), result);
    block.b = RowMajor(result);
    Copy(context, x, y, block);
  }
};

class Tile final : public StridedKernel {
 public:
  using StridedKernel::StridedKernel;

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const Shape repeats = RepeatsOf(shape, context.required_input(1)), result = TiledShape(shape, repeats);
    const auto strides = RowMajor(shape);
    Shape parts;  // a repeat, then the dimension, where they are more than one
    std::array<cl_long, 2 * kMostDims> from{};
    const auto add = [&](int64_t size, cl_long stride) {
      if (size == 1) return;
      from[parts.rank()] = stride;
      parts.Append(size);
    };
    for (size_t i = 0; i < shape.rank(); ++i) {
      add(repeats[i], 0);
      add(shape[i], strides[i]);
    }
    Tensor& y = *context.output(0, result);
    Strided block = Block(parts);
    std::copy_n(from.begin(), std::min(parts.rank(), kMostDims), block.a.begin());
    block.b = RowMajor(parts);
    Copy(context, x, y, block);
  }
};

class Slice final : public StridedKernel {
 public:
  explicit Slice(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Strided block = Block(shape);
    block.a = RowMajor(shape);
    const auto [starts, result, steps] = attributes_.Ranges(shape, GivenSlicesOf(context));
    int64_t from = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
      from += starts[i] * block.a[i];
      block.a[i] *= result[i] > 1 ? steps[i] : 0;
    }
    Tensor& y = *context.output(0, result);
    std::copy(result.begin(), result.end(), block.dims.begin());
    block.b = RowMajor(result);
    Copy(context, x, y, block, from);
  }

 private:
  SliceAttributes attributes_;
};

class Concat final : public StridedKernel {
 public:
  explicit Concat(const KernelInfo& info) : StridedKernel(info), axis_(ConcatAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    Shape result = context.required_input(0).shape();
    const size_t axis = NormalizeAxis(axis_, result.rank());
    for (size_t i = 1; i < context.num_inputs(); ++i)
      ConcatAttributes::Join(result, context.required_input(i).shape(), axis);
    Tensor& y = *context.output(0, result);
    const auto strides = RowMajor(result);
    int64_t at = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.required_input(i);
      Strided block = Block(x.shape());
      block.a = RowMajor(x.shape());
      block.b = strides;
      Copy(context, x, y, block, 0, at * strides[axis]);
      at += x.shape()[axis];
    }
  }

 private:
  int64_t axis_;
};

class Split final : public StridedKernel {
 public:
  explicit Split(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = NormalizeAxis(attributes_.axis, x.shape().rank());
    const Tensor* given = context.input(1);
    const auto sizes = context.scratch<int64_t>(context.num_outputs());
    attributes_.FindParts(x.shape()[axis], given != nullptr ? std::optional(given->values<int64_t>()) : std::nullopt,
                          sizes);
    const auto strides = RowMajor(x.shape());
    int64_t at = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Shape part = x.shape();
      part[axis] = sizes[i];
      Strided block = Block(part);
      block.a = strides;
      block.b = RowMajor(part);
      if (Tensor* y = context.output(i, part)) Copy(context, x, *y, block, at * strides[axis]);
      at += part[axis];
    }
  }

 private:
  SplitAttributes attributes_;
};

/// Each dimension becomes two: that of the repeats, and its own.
std::string RepeatsRefusal(const NodeInfo& info) {
  const auto& shape = info.input_info(0).shape;
  const bool fits = shape && 2 * shape->size() <= kMostDims;
  return fits ? "" : fmt::format("repeats of more than {} dimensions", kMostDims / 2);
}

}  // namespace

void RegisterStrided(KernelRegistry& registry) {
  registry.Add(Op("Transpose").Versions(1).Types(0, kMovable).Make<Transpose>());
  registry.Add(Op("DepthToSpace").Versions(1).Types(0, kMovable).Make<DepthToSpace>());
  registry.Add(Op("SpaceToDepth").Versions(1).Types(0, kMovable).Make<SpaceToDepth>());
  registry.Add(Op("Expand").Versions(8).Types(0, kMovable).HostInput(1).Make<Expand>());
  registry.Add(Op("Tile").Versions(6).Types(0, kMovable).HostInput(1).Unless(RepeatsRefusal).Make<Tile>());
  registry.Add(
      Op("Slice").Versions(1).Types(0, kMovable).HostInput(1).HostInput(2).HostInput(3).HostInput(4).Make<Slice>());
  registry.Add(Op("Concat").Versions(1).Types(0, kMovable).Make<Concat>());
  registry.Add(Op("Split").Versions(2).Types(0, kMovable).HostInput(1).Make<Split>());
}

}  // namespace tessera::opencl
