#include "opencl/ops/contraction.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

constexpr size_t kContractionTile = 16, kContractionPer = 4, kMostGrouped = 12;

}  // namespace

/// The same struct stands in einsum.cl.
struct Contraction::Groups {
  cl_int rank[4];
  cl_long dims[kMostGrouped], a[kMostGrouped], b[kMostGrouped], y[kMostGrouped];
};

Contraction::Contraction(const KernelInfo& info)
    : kernel_(DeviceOf(info), "einsum",
              Computed('X', info.input_type(0)) +
                  fmt::format("#define TILE {}\n#define PER {}\n", kContractionTile, kContractionPer),
              "contract"),
      zero_(DeviceOf(info), "fill", Moved('X', info.input_type(0)), "fill") {
  if (SettingsOf(info).tiles || !kReals.contains(info.input_type(0)) || info.num_inputs() < 2) return;
  panels_.emplace(info, PanelGemm::Left::kStrided);
  panels_->PreparePack();
}

void Contraction::Run(KernelContext& context, const Tensor& a, const Tensor* b, const Tensor& y, std::span<const Dim> dims,
                      float alpha) {
  if (y.num_elements() == 0) return;
  Groups groups{};
  std::array<int64_t, 4> sizes = {1, 1, 1, 1};
  size_t filled = 0;
  for (int group = 0; group < 4; ++group) {
    const size_t first = filled;
    for (const Dim& dim : dims) {
      if (dim.group() != group) continue;
      sizes[static_cast<size_t>(group)] = CheckedMul(sizes[static_cast<size_t>(group)], dim.size);
      if (dim.size == 1) continue;
      const size_t last = filled - 1;
      if (filled > first && groups.a[last] == dim.a * dim.size && groups.b[last] == dim.b * dim.size &&
          groups.y[last] == dim.y * dim.size) {
        groups.dims[last] *= dim.size;
      } else {
        Require(filled < kMostGrouped, "more than {} dimensions in a contraction", kMostGrouped);
        groups.dims[filled++] = dim.size;
      }
      groups.a[filled - 1] = dim.a;
      groups.b[filled - 1] = dim.b;
      groups.y[filled - 1] = dim.y;
    }
    groups.rank[group] = static_cast<cl_int>(filled - first);
  }
  if (sizes[3] == 0) return zero_.Linear(context, y.num_elements(), y, cl_ulong{0});
  if (panels_ && b != nullptr && IsMatMul(groups, sizes)) return ByPanels(context, a, *b, y, groups, sizes, alpha);
  const auto up = [](int64_t size) { return (static_cast<size_t>(size) + kContractionTile - 1) / kContractionTile; };
  kernel_(
      context,
      {up(sizes[2]) * kContractionTile, up(sizes[1]) * (kContractionTile / kContractionPer), static_cast<size_t>(sizes[0])},
      {kContractionTile, kContractionTile / kContractionPer, 1}, a, b, y, groups, cl_long{sizes[1]}, cl_long{sizes[2]},
      cl_long{sizes[3]}, alpha);
}

bool Contraction::IsMatMul(const Groups& groups, const std::array<int64_t, 4>& sizes) {
  size_t d = 0;
  std::array<Dim, 4> dims{};
  for (size_t group = 0; group < 4; d += static_cast<size_t>(groups.rank[group]), ++group) {
    if (groups.rank[group] > 1) return false;
    if (groups.rank[group] == 1)
      dims[group] = {.size = groups.dims[d], .a = groups.a[d], .b = groups.b[d], .y = groups.y[d]};
  }
  const auto [stacks, m, n, k] = sizes;
  const int64_t most = std::numeric_limits<cl_int>::max();
  const auto fits = [&](cl_long step) { return step <= most; };
  return std::max({m, n, k}) <= most && fits(dims[1].a) && fits(dims[3].a) && fits(dims[2].b) && fits(dims[3].b) &&
         (stacks == 1 || dims[0].y == m * n) && (m == 1 || dims[1].y == n) && (n == 1 || dims[2].y == 1);
}

void Contraction::ByPanels(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& y, const Groups& groups,
                           const std::array<int64_t, 4>& sizes, float alpha) {
  const auto [stacks, m, n, k] = sizes;
  const auto step = [&](int group, const cl_long* steps) {
    const int first = std::accumulate(groups.rank, groups.rank + group, 0);
    return groups.rank[group] == 0 ? 0 : steps[first];
  };
  const int64_t panel = CheckedMul(k, kPanel), matrix = CheckedMul(PanelGemm::Panels(n), panel);
  const DeviceScratch packed(context, static_cast<size_t>(CheckedMul(matrix, stacks)) * panels_->element_bytes());
  panels_->Pack(context, b, packed.range(), k, n, static_cast<cl_int>(step(3, groups.b)),
                static_cast<cl_int>(step(2, groups.b)), stacks, step(0, groups.b));
  Strided stack;
  stack.rank = 1;
  stack.dims[0] = stacks;
  stack.a[0] = step(0, groups.a);
  stack.b[0] = matrix;
  const PanelGemmShape shape{.b_panel = panel,
                             .m = static_cast<cl_int>(m),
                             .n = static_cast<cl_int>(n),
                             .k = static_cast<cl_int>(k),
                             .row_a = static_cast<cl_int>(step(1, groups.a)),
                             .col_a = static_cast<cl_int>(step(3, groups.a)),
                             .alpha = alpha};
  const PanelOperands operands{.a = RangeOf(a), .b = packed.range(), .bias = nullptr, .y = RangeOf(y)};
  panels_->Multiply(context, operands, shape, PanelGemm::Panels(n), stack, stacks);
}

}  // namespace tessera::opencl
