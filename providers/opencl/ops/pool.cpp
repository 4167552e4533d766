#include "opencl/ops/pool.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/rounding.h"
#include "opencl/conv/window.h"
#include "opencl/device/scratch.h"
#include "ops/nn/pool.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in pool.cl.
struct Rules {
  cl_int reach[3], include_padding, column_major;
};

constexpr cl_int kColumns = 16;  // results, or accumulators of one, that an item of a kernel for processors has

std::string ByColumns(const KernelInfo& info, const std::string& defines) {
  return defines + fmt::format("#define COLUMNS {}\n#define BYTES {}\n", kColumns, BitWidth(info.input_type(0)) / 8);
}

class Pool final : public Kernel {
 public:
  Pool(const KernelInfo& info, const std::string& defines)
      : kernel_(DeviceOf(info), "pool", defines, "pool"),
        rows_(DeviceOf(info), "pool", ByColumns(info, defines), "pool_rows"),
        slices_(DeviceOf(info), "pool", defines, "pool_slices"),
        join_(DeviceOf(info), "pool", defines, "join_windows"),
        by_rows_(!SettingsOf(info).tiles),
        attributes_(info.node()),
        power_(static_cast<cl_float>(attributes_.p)) {
    const bool vectors = by_rows_ && info.node().outputs.size() == 1;
    (!vectors ? kernel_ : rows_).Compile();
    if (vectors && MayBeNarrow(info.output_info(0))) kernel_.Compile();
  }

  static bool MayBeNarrow(const TypeInfo& result) {
    return !result.shape || result.shape->empty() || !result.shape->back().known() || result.shape->back().value < kNarrow;
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& xs = x.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5, "the input is {}; 3 to 5 dimensions are expected", xs);
    const Window w = attributes_.Fit(xs);
    const Shape ys = PoolAttributes::ResultShape(xs, w);
    const Tensor& y = *context.output(0, ys);
    const Tensor* indices = context.num_outputs() > 1 ? context.output(1, ys) : nullptr;
    const Geometry g = GeometryOf(w);
    Rules rules{};
    for (size_t i = 0; i < 3; ++i)
      rules.reach[i] = g.in[i] + (i + w.rank() < 3 ? 0 : static_cast<cl_int>(w.end[i + w.rank() - 3]));
    rules.include_padding = attributes_.count_include_pad;
    rules.column_major = attributes_.column_major;
    const int64_t taps = LargestWindow(g);
    if (taps >= (by_rows_ ? kLargeForProcessors : kLargeForGpus)) return InSlices(context, x, y, indices, g, rules, taps);
    if (by_rows_ && indices == nullptr && g.out[2] >= kNarrow) {
      const auto columns = static_cast<size_t>(CeilDiv(g.out[2], kColumns));
      const auto rows = static_cast<size_t>(g.out[0]) * static_cast<size_t>(g.out[1]),
                 planes = static_cast<size_t>(xs[0] * xs[1]);
      return rows_.Compile()(context, {columns, rows, planes}, {1, 1, 1}, x, y, g, rules, power_);
    }
    kernel_.Compile().Grid(context, Positions(g), xs[0] * xs[1], 1, x, y, indices, g, rules, power_);
  }

 private:
  static constexpr int64_t kNarrow = kColumns / 2;  // rows shorter than this are not worth vectors
  // Elements of windows that several items share: so many that a group of items of a processor takes 10 ms, or that
  // GPUs have enough to do for all of their items.
  static constexpr int64_t kLargeForProcessors = int64_t{1} << 18, kLargeForGpus = int64_t{1} << 14;

  /// Elements that a window has at most.
  static int64_t LargestWindow(const Geometry& g) {
    int64_t taps = 1;
    for (size_t d = 0; d < 3; ++d) taps *= std::min(g.window[d], CeilDiv(g.in[d], g.dilation[d]));
    return taps;
  }

  /// Windows by several items each, whose results are joined; as many outputs at a time as their parts have room for.
  void InSlices(KernelContext& context, const Tensor& x, const Tensor& y, const Tensor* indices, const Geometry& g,
                const Rules& rules, int64_t taps) {
    constexpr int64_t kMostParts = int64_t{1} << 20, kPartBytes = 16;
    const int64_t slices = Slices<2048>(taps).count, outputs = y.num_elements(),
                  together = std::min(outputs, kMostParts / slices);
    const DeviceScratch parts(context, static_cast<size_t>(together * slices * kPartBytes));
    for (int64_t first = 0; first < outputs; first += together) {
      const int64_t count = std::min(together, outputs - first);
      slices_.Compile().Linear(context, count * slices, x, parts.range(), g, cl_long{first}, cl_long{slices}, power_);
      join_.Compile().Linear(context, count, parts.range(), y, indices, g, rules, cl_long{first}, cl_long{slices}, power_);
    }
  }

  LazyLaunchable kernel_, rows_, slices_, join_;
  bool by_rows_;
  PoolAttributes attributes_;
  cl_float power_;
};

class GlobalPool final : public Kernel {
 public:
  GlobalPool(const KernelInfo& info, const std::string& defines, const Fold& fold)
      : reduction_(DeviceOf(info), info.input_type(0), fold),
        planes_(DeviceOf(info), "pool", ByColumns(info, defines), "pool_planes"),
        by_planes_(!SettingsOf(info).tiles),
        attributes_(info.node()) {
    if (by_planes_) {
      planes_.Compile();
    } else {
      const auto x = KnownShape(info.input_info(0));
      reduction_.Expect(x && x->rank() >= 2 ? std::optional(x->SizeOfRange(2, x->rank())) : std::nullopt);
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() >= 3, "the input is {}; 3 or more dimensions are expected", shape);
    const Tensor& y = *context.output(0, PoolAttributes::ResultShape(shape, attributes_.Fit(shape)));
    const RowLayout planes = RowLayout::Contiguous(shape[0] * shape[1], shape.SizeOfRange(2, shape.rank()));
    if (!by_planes_ || planes.count >= kLongForProcessors) return reduction_.Run(context, x, y, planes);
    planes_.Compile().Linear(context, y.num_elements(), x, y, cl_long{planes.count}, static_cast<cl_float>(attributes_.p));
  }

 private:
  static constexpr int64_t kLongForProcessors = int64_t{1} << 20;  // a few milliseconds

  Reduction reduction_;
  LazyLaunchable planes_;
  bool by_planes_;
  PoolAttributes attributes_;
};

}  // namespace

int WholePower(double p) {
  constexpr int kMostByProducts = 16;
  return p >= 1 && p <= kMostByProducts && p == std::floor(p) ? static_cast<int>(p) : 0;
}

std::string NormDefines(double p) { return fmt::format("#define NORM {}\n", WholePower(p)); }

std::unique_ptr<Kernel> MakePool(const KernelInfo& info, const std::string& kind) {
  return std::make_unique<Pool>(info, Computed('X', info.input_type(0)) + kind);
}
std::unique_ptr<Kernel> MakeGlobalPool(const KernelInfo& info, const std::string& kind, const Fold& fold) {
  return std::make_unique<GlobalPool>(info, Computed('X', info.input_type(0)) + kind, fold);
}

}  // namespace tessera::opencl
