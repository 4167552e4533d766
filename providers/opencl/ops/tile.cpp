// Tile (6, 13).

#include <algorithm>
#include <array>

#include "opencl/ops/strided.h"
#include "ops/movement/tile.h"

namespace tessera::opencl {
namespace {

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

/// Each dimension becomes two: that of the repeats, and its own.
std::string RepeatsRefusal(const NodeInfo& info) {
  const auto& shape = info.input_info(0).shape;
  const bool fits = shape && 2 * shape->size() <= kMostDims;
  return fits ? "" : fmt::format("repeats of more than {} dimensions", kMostDims / 2);
}

}  // namespace

void RegisterTile(KernelRegistry& registry) {
  registry.Add(Op("Tile").Versions(6).Types(0, kMovable).HostInput(1).Unless(RepeatsRefusal).Make<Tile>());
}

}  // namespace tessera::opencl
