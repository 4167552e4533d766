// Resize (11) of the nearest pixel in whole multiples, with oneDNN's positions -> resampling_forward. Linear interpolation
// is left to the CPU provider: oneDNN multiplies with weights of zero too, along axes that stay as they are as well, so
// that an infinity makes its neighbours no numbers.

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "ops/image/resize.h"

namespace tessera::onednn {
namespace {

/// Scales and sizes of all axes of the input, from those that are given: 1 and -1 (as the input) for the others.
struct Resizing {
  std::vector<double> scales;
  std::vector<int64_t> sizes;
};

std::optional<Resizing> ResizingOf(const GraphViewer& graph, const Node& node) {
  const auto constant = [&](size_t i) {
    return i < node.inputs.size() && node.inputs[i] != kNone ? graph.constant(node.inputs[i]) : nullptr;
  };
  const Tensor *scales = constant(2), *sizes = constant(3);
  if (scales != nullptr && scales->num_elements() == 0) scales = nullptr;
  if (sizes != nullptr && sizes->num_elements() == 0) sizes = nullptr;
  if ((scales == nullptr) == (sizes == nullptr)) return std::nullopt;
  const auto rank = graph.value(node.inputs[0]).type.shape->size();
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  const ResizeAttributes attributes(node);
  const std::vector<int64_t>& axes = attributes.axes.empty() ? all : attributes.axes;
  const Tensor& given = scales != nullptr ? *scales : *sizes;
  if (given.num_elements() != static_cast<int64_t>(axes.size())) return std::nullopt;
  Resizing result{std::vector<double>(rank, 1), std::vector<int64_t>(rank, -1)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i]);
    if (at >= rank) return std::nullopt;
    if (scales != nullptr) {
      result.scales[at] = static_cast<double>(scales->values<float>()[i]);
    } else {
      result.sizes[at] = sizes->values<int64_t>()[i];
    }
  }
  return result;
}

bool IsWhole(double number) { return number >= 1 && number == std::floor(number); }

/// The output must be a whole multiple of the input.
bool FitsAxis(const Resizing& resizing, size_t i, const Dimension& dim) {
  if (resizing.sizes[i] < 0) return IsWhole(resizing.scales[i]);
  return dim.known() && dim.value > 0 && resizing.sizes[i] >= dim.value && resizing.sizes[i] % dim.value == 0;
}

std::string RefuseModes(const ResizeAttributes& attributes) {
  const ResampleOptions& options = attributes.options;
  if (options.antialias) return "oneDNN has no antialiasing";
  if (attributes.policy != AspectPolicy::kStretch) return "aspect ratios are left to the CPU provider";
  const bool centres =
      options.coordinates == CoordinateMode::kHalfPixel || options.coordinates == CoordinateMode::kHalfPixelSymmetric;
  if (options.mode == ResampleMode::kLinear) return "oneDNN's linear interpolation makes NaN beside infinities";
  if (options.mode != ResampleMode::kNearest) return "oneDNN has no cubic interpolation";
  const bool rounds = options.nearest == NearestMode::kRoundPreferFloor || options.nearest == NearestMode::kRoundPreferCeil;
  const bool floors = options.coordinates == CoordinateMode::kAsymmetric && options.nearest == NearestMode::kFloor;
  return (centres && rounds) || floors ? "" : "oneDNN has the pixel nearest to each centre only";
}

std::string RefuseResize(const GraphViewer& graph, const Node& node) {
  const SymbolicShape& x = *graph.value(node.inputs[0]).type.shape;
  if (x.size() < 3 || x.size() > 5) return "oneDNN resamples one to three spatial dimensions";
  const ResizeAttributes attributes(node);
  if (std::string reason = RefuseModes(attributes); !reason.empty()) return reason;
  const auto resizing = ResizingOf(graph, node);
  if (!resizing) return "its scales or sizes are not constants";
  for (size_t i = 0; i < x.size(); ++i) {
    const bool stays = resizing->sizes[i] < 0 ? resizing->scales[i] == 1 : x[i].known() && x[i].value == resizing->sizes[i];
    if (i < 2 && !stays) return "it resizes batch or channels";
    if (!FitsAxis(*resizing, i, x[i])) return "its result is no whole multiple of its input";
  }
  return {};
}

void LowerResize(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const Resizing resizing = *ResizingOf(builder.region(), node);
  Dims out = x.dims;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = resizing.sizes[i] >= 0 ? resizing.sizes[i]
                                    : static_cast<int64_t>(std::floor(static_cast<double>(out[i]) * resizing.scales[i]));
  }
  constexpr auto algorithm = dnnl::algorithm::resampling_nearest;
  const Desc layout = builder.desc(x.memory);
  const auto pd = ResamplingDesc(CpuEngine(), algorithm, layout, AnyLayout(out, TypeOf(layout)), OwnScratchpad());
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  const double ns = 2 * MovementNs(static_cast<double>(pd.dst_desc().get_size()) * 8);
  builder.AddInBoxes(dst, {x.memory}, {{0}, {1}}, ns, [&](std::span<const MemoryIndex> part) {
    const auto of_part =
        ResamplingDesc(CpuEngine(), algorithm, builder.desc(part[1]), builder.desc(part[0]), OwnScratchpad());
    const Desc scratchpad = of_part.scratchpad_desc();
    builder.Add(dnnl::resampling_forward(of_part), {{DNNL_ARG_SRC, part[1]}, {DNNL_ARG_DST, part[0]}}, &scratchpad);
  });
  builder.SetOutput(node, {out, dst});
}

constexpr Lowering kResamplingLowerings[] = {
    {"Resize", 11, kLatestVersion, true, RefuseResize, LowerResize, "", kOnlyFloats, kFloats, true}};

}  // namespace

std::span<const Lowering> ResamplingLowerings() { return kResamplingLowerings; }

}  // namespace tessera::onednn
