// AveragePool (1-22), GlobalAveragePool, MaxPool (1-22, values only) of quantized values -> pooling_forward; MaxPool and
// GlobalMaxPool of floats -> a step of our own: oneDNN's begin with the least finite number, which is no answer where all
// is -infinity.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/rounding.h"
#include "base/work_array.h"
#include "kernels/elementwise/swish.h"
#include "onednn/lowering/lowering.h"
#include "ops/nn/pool.h"

namespace tessera::onednn {
namespace {

/// oneDNN's code for blocks of channels has instructions for each tap of a window's last axis, and its reference looks at
/// all taps, those outside of the input too.
constexpr int64_t kMostTapsOfLine = 1 << 14, kMostTaps = 1 << 20;

std::string RefusePool(const GraphViewer& graph, const Node& node) {
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN pools one to three spatial dimensions";
  const PoolAttributes attributes(node);
  if (attributes.global) return {};
  if (node.op_type == "AveragePool" && attributes.window.ceil_mode())
    return "ceil_mode of an average counts other elements in oneDNN";
  const Shape& kernel = attributes.window.kernel();
  double taps = 1;
  for (const int64_t size : kernel) taps *= static_cast<double>(size);
  const bool largest_of_floats =
      node.op_type == "MaxPool" && !kQuantized.contains(graph.value(node.inputs[0]).type.element);
  if (!largest_of_floats && (taps > kMostTaps || kernel.back() > kMostTapsOfLine))
    return "pools of so large windows are left to the CPU provider";
  const tessera::Window stated = attributes.window.Expand(Shape(kernel.rank()).dims(), kernel.dims());
  for (size_t i = 0; i < kernel.rank(); ++i) {
    if (std::max(stated.begin[i], stated.end[i]) >= kernel[i])
      return "oneDNN has other results for windows of nothing but padding";
  }
  return {};
}

/// One primitive for each box of the result; false, and nothing done, where it stays whole.
bool AddInParts(ProgramBuilder& builder, const std::vector<Box>& boxes, dnnl::algorithm algorithm, const Window& window,
                MemoryIndex src, MemoryIndex dst) {
  if (boxes.size() == 1) return false;
  struct PartOfPool {
    Window window;
    MemoryIndex src, dst;
  };
  std::vector<PartOfPool> parts;
  for (const Box& box : boxes) {
    CancellationPoint();
    auto seen = PartOf(window, builder.dims(src), box);
    if (seen) {
      seen->input.first[1] = box.first[1];
      seen->input.count[1] = box.count[1];
    }
    const auto from = seen ? builder.Part(src, seen->input) : std::nullopt, to = builder.Part(dst, box);
    if (!from || !to) return false;
    parts.push_back({seen->window, *from, *to});
  }
  for (const PartOfPool& part : parts) {
    CancellationPoint();
    const auto pd =
        PoolingDesc(CpuEngine(), algorithm, builder.desc(part.src), builder.desc(part.dst), part.window, OwnScratchpad());
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(Pooling(pd), {{DNNL_ARG_SRC, part.src}, {DNNL_ARG_DST, part.dst}}, &scratchpad);
  }
  return true;
}

/// Planes of pixels of so many numbers side by side, and the windows over them; axes that are not there have one element.
struct Planes {
  int64_t outer, inner;
  std::array<int64_t, 3> input, output, kernel, strides, dilations, begin;
};

/// Nothing where they lie in another way.
std::optional<Planes> PlanesOf(const Desc& layout, const WindowShape& window) {
  const Dims dims = DimsOf(layout);
  const DataType type = TypeOf(layout);
  const int64_t block = ChannelBlock();
  Planes planes{.outer = dims[0],
                .inner = 1,
                .input = {1, 1, 1},
                .output = {1, 1, 1},
                .kernel = {1, 1, 1},
                .strides = {1, 1, 1},
                .dilations = {1, 1, 1},
                .begin = {0, 0, 0}};
  if (layout == Plain(dims, type)) {
    planes.outer = CheckedMul(planes.outer, dims[1]);
  } else if (layout == Nhwc(dims, type)) {
    planes.inner = dims[1];
  } else if (layout == ChannelNchw8c(dims, type) && dims[1] % block == 0) {
    planes.outer = CheckedMul(planes.outer, dims[1] / block);
    planes.inner = block;
  } else {
    return std::nullopt;
  }
  const size_t axes = dims.size() - 2, missing = 3 - axes;
  for (size_t i = 0; i < axes; ++i) {
    const size_t to = missing + i;
    planes.input[to] = dims[i + 2];
    planes.output[to] = window.output[i];
    planes.kernel[to] = window.window.kernel[i];
    planes.strides[to] = window.window.strides[i];
    planes.dilations[to] = window.window.dilations[i] + 1;
    planes.begin[to] = window.window.pad_begin[i];
  }
  return planes;
}

/// The largest number of each window; NaN is larger than any.
template <class T>
class LargestStep final : public NativeStep {
 public:
  explicit LargestStep(const Planes& planes) : p_(planes) {}

  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    const auto* x = static_cast<const T*>(memories[0]);
    auto* y = static_cast<T*>(memories[1]);
    const double ns = kNsPerTap * static_cast<double>(p_.inner) *
                      static_cast<double>(p_.input[2] * p_.kernel[0] * p_.kernel[1] + p_.output[2] * p_.kernel[2]);
    threads.ParallelFor(p_.outer * p_.output[0] * p_.output[1], ns, [&](int64_t begin, int64_t end) {
      const WorkArray<std::conditional_t<sizeof(T) == 2, uint16_t, float>> row_maxima(
          static_cast<size_t>(p_.input[2] * p_.inner));
      for (int64_t row = begin; row < end; ++row)
        Row(x, row, reinterpret_cast<T*>(row_maxima.data()), y + row * p_.output[2] * p_.inner);
    });
  }

 private:
  static constexpr double kNsPerTap = 0.2;
  static constexpr T Least() { return static_cast<T>(-std::numeric_limits<float>::infinity()); }

  /// Calls use(place) for each tap of a window that is inside.
  template <class Use>
  void ForTaps(size_t axis, int64_t output, const Use& use) const {
    int64_t place = output * p_.strides[axis] - p_.begin[axis];
    const int64_t outside = place < 0 ? CeilDiv(-place, p_.dilations[axis]) : 0;
    place += outside * p_.dilations[axis];
    for (int64_t i = outside; i < p_.kernel[axis] && place < p_.input[axis]; ++i, place += p_.dilations[axis]) use(place);
  }

  /// The lines under the windows as one, then along that.
  void Row(const T* x, int64_t row, T* row_maxima, T* y) const {
    const int64_t plane = row / (p_.output[0] * p_.output[1]), width = p_.input[2] * p_.inner;
    std::fill_n(row_maxima, width, Least());
    ForTaps(0, row / p_.output[1] % p_.output[0], [&](int64_t z) {
      ForTaps(1, row % p_.output[1], [&](int64_t down) {
        CountWork(kNsPerTap * static_cast<double>(width));
        Join(x + ((plane * p_.input[0] + z) * p_.input[1] + down) * width, width, row_maxima);
      });
    });
    std::fill_n(y, p_.output[2] * p_.inner, Least());
    // The other taps see nothing, wherever the window is.
    const int64_t last_begin = (p_.output[2] - 1) * p_.strides[2] - p_.begin[2];
    const int64_t first_tap = last_begin < 0 ? CeilDiv(-last_begin, p_.dilations[2]) : 0;
    const int64_t last_tap = std::min(p_.kernel[2] - 1, (p_.input[2] - 1 + p_.begin[2]) / p_.dilations[2]);
    for (int64_t tap = first_tap; tap <= last_tap; ++tap) {
      const int64_t offset = tap * p_.dilations[2] - p_.begin[2], stride = p_.strides[2];
      const int64_t first = offset < 0 ? CeilDiv(-offset, stride) : 0;
      const int64_t end = offset < p_.input[2] ? std::min(p_.output[2], CeilDiv(p_.input[2] - offset, stride)) : 0;
      CountWork(kNsPerTap * static_cast<double>(p_.output[2] * p_.inner));
      if (stride == 1 && first < end)
        Join(row_maxima + (first + offset) * p_.inner, (end - first) * p_.inner, y + first * p_.inner);
      for (int64_t i = first; stride > 1 && i < end; ++i)
        Join(row_maxima + (i * stride + offset) * p_.inner, p_.inner, y + i * p_.inner);
    }
  }

  static void Join(const T* from, int64_t count, T* to) {
    if constexpr (std::is_same_v<T, float>) {
      if (count > 1) return cpu::RaiseRow(from, count, to);
    }
    for (int64_t i = 0; i < count; ++i) {
      const float old = static_cast<float>(to[i]), other = static_cast<float>(from[i]);
      to[i] = other > old || std::isnan(other) ? from[i] : to[i];
    }
  }

  Planes p_;
};

std::shared_ptr<const NativeStep> LargestOf(DataType type, const Planes& planes) {
  if (type == DataType::bf16) return std::make_shared<LargestStep<BFloat16>>(planes);
  if (type == DataType::f16) return std::make_shared<LargestStep<Float16>>(planes);
  return std::make_shared<LargestStep<float>>(planes);
}

/// Laid out as the input, or in rows. Numbers that stand alone in rows are put in blocks where that does not pad.
void LowerLargest(ProgramBuilder& builder, const Node& node, const RegionValue& x, const Dims& out,
                  const WindowShape& window) {
  const DataType type = TypeOf(builder.desc(x.memory));
  const Desc rows = Plain(x.dims, type);
  const bool blocks = builder.desc(x.memory) == rows && x.dims[1] % ChannelBlock() == 0;
  MemoryIndex src = blocks ? builder.InLayout(x.memory, ChannelNchw8c(x.dims, type)) : x.memory;
  if (!PlanesOf(builder.desc(src), window)) src = builder.InLayout(src, rows);
  const Desc layout = builder.desc(src);
  const Desc result = layout == rows                 ? Plain(out, type)
                      : layout == Nhwc(x.dims, type) ? Nhwc(out, type)
                                                     : ChannelNchw8c(out, type);
  const MemoryIndex dst = builder.Temporary(result);
  builder.AddNative(LargestOf(type, *PlanesOf(layout, window)), {src, dst});
  builder.SetOutput(node, {out, dst});
}

void Lower(ProgramBuilder& builder, const Node& node, dnnl::algorithm algorithm, const RegionValue& x,
           const WindowShape& window) {
  Dims out = {x.dims[0], x.dims[1]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // A blocked input's layout is kept. Row-major ones are reordered where that does not pad: their implementation is scalar.
  // Quantized values are pooled pixel after pixel.
  const DataType type = TypeOf(builder.desc(x.memory));
  if (Elements(out) == 0) {  // oneDNN makes no descriptor where a dilated window is larger than its input
    builder.SetOutput(node, {out, builder.Temporary(Plain(out, type))});
    return;
  }
  const bool reorder = builder.desc(x.memory) == Plain(x.dims, type) && x.dims[1] % ChannelBlock() == 0 &&
                       window.window.kernel.back() <= kMostTapsOfLine,
             is_quantized = Unrounded(type) != DataType::f32;
  if (algorithm == dnnl::algorithm::pooling_max && !is_quantized) return LowerLargest(builder, node, x, out, window);
  const MemoryIndex src = is_quantized ? builder.InLayout(x.memory, Nhwc(x.dims, type))
                          : reorder    ? builder.InLayout(x.memory, ChannelNchw8c(x.dims, type))
                                       : x.memory;
  const auto pd = PoolingDesc(CpuEngine(), algorithm, builder.desc(src), AnyLayout(out, type), window.window, attr);
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  const double ns = 8 * GemmNs(static_cast<double>(Elements(out)) * static_cast<double>(Elements(window.window.kernel)),
                               pd.impl_info_str());
  builder.SetOutput(node, {out, dst});
  auto axes = ChannelAxes(out);
  auto boxes = BoxesOf(out, axes, ns);
  // Parts of a plane are left to the implementation for every layout, which is slow: only where planes take too long.
  if (IsReference(pd.impl_info_str()) || IsLong(ns / static_cast<double>(boxes.size()))) {
    for (size_t i = 2; i < out.size(); ++i) axes.push_back({.axis = i});
    boxes = BoxesOf(out, axes, ns);
  }
  if (AddInParts(builder, boxes, algorithm, window.window, src, dst)) return;
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(Pooling(pd), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}, &scratchpad);
}

void LowerPool(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const PoolAttributes attributes(node);
  const dnnl::algorithm algorithm = node.op_type.ends_with("MaxPool") ? dnnl::algorithm::pooling_max
                                    : attributes.count_include_pad    ? dnnl::algorithm::pooling_avg_include_padding
                                                                      : dnnl::algorithm::pooling_avg_exclude_padding;
  Lower(builder, node, algorithm, x, WindowShapeOf(attributes.Fit(Shape(x.dims))));
}

constexpr Lowering kPoolingLowerings[] = {
    {"MaxPool", 1, kLatestVersion, false, RefusePool, LowerPool, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"AveragePool", 1, kLatestVersion, false, RefusePool, LowerPool},
    {"GlobalAveragePool", 1, kLatestVersion, false, RefusePool, LowerPool},
    {"GlobalMaxPool", 1, kLatestVersion, false, RefusePool, LowerPool}};

}  // namespace

std::span<const Lowering> PoolingLowerings() { return kPoolingLowerings; }

}  // namespace tessera::onednn
