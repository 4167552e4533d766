// MaxPool (1-22), AveragePool (1-22), LpPool (1-22), and their forms over whole planes.

#include "ops/nn/pool.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/rounding.h"
#include "opencl/claims/refusals.h"
#include "opencl/conv/window.h"
#include "opencl/device/scratch.h"
#include "opencl/ops/reduction.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in pool.cl.
struct Rules {
  cl_int reach[3], include_padding, column_major;
};

/// The norm's power where it is computed by products, otherwise 0.
int WholePower(double p) {
  constexpr int kMostByProducts = 16;
  return p >= 1 && p <= kMostByProducts && p == std::floor(p) ? static_cast<int>(p) : 0;
}

std::string PoolDefines(const KernelInfo& info) {
  const ElementType type = info.input_type(0);
  if (info.node().op_type.ends_with("AveragePool")) return Computed('X', type) + "#define MEAN\n";
  if (info.node().op_type.ends_with("LpPool"))
    return Computed('X', type) + fmt::format("#define NORM {}\n", WholePower(PoolAttributes(info.node()).p));
  const char* lowest = type == ElementType::kInt8 ? "CHAR_MIN" : type == ElementType::kUInt8 ? "0" : "-INFINITY";
  return Computed('X', type) + fmt::format("#define LOWEST {}\n", lowest);
}

constexpr cl_int kColumns = 16;  // results, or accumulators of one, that an item of a kernel for processors has

std::string ByColumns(const KernelInfo& info) {
  return PoolDefines(info) +
         fmt::format("#define COLUMNS {}\n#define BYTES {}\n", kColumns, BitWidth(info.input_type(0)) / 8);
}

class Pool final : public Kernel {
 public:
  explicit Pool(const KernelInfo& info)
      : kernel_(DeviceOf(info), "pool", PoolDefines(info), "pool"),
        rows_(DeviceOf(info), "pool", ByColumns(info), "pool_rows"),
        slices_(DeviceOf(info), "pool", PoolDefines(info), "pool_slices"),
        join_(DeviceOf(info), "pool", PoolDefines(info), "join_windows"),
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

/// Over whole planes: a reduction, or on processors, where planes are not long, one by an item each, in vectors.
class GlobalPool final : public Kernel {
 public:
  explicit GlobalPool(const KernelInfo& info)
      : reduction_(DeviceOf(info), info.input_type(0), FoldOf(info)),
        planes_(DeviceOf(info), "pool", ByColumns(info), "pool_planes"),
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

  static Fold FoldOf(const KernelInfo& info) {
    const std::string& op = info.node().op_type;
    if (op == "GlobalMaxPool") return Maximum("-INFINITY");
    if (op == "GlobalAveragePool") return {"0", "value + element", "value + other", "value / (TX)max(count, 1L)"};
    const double p = PoolAttributes(info.node()).p;
    std::string power = "fabs(element)";
    for (int i = 1; i < WholePower(p); ++i) power += " * fabs(element)";
    if (WholePower(p) == 0) power = fmt::format("pow(fabs(element), (TX){:#.9g}f)", p);
    return {"0", "value + " + power, "value + other",
            p == 1   ? "value"
            : p == 2 ? "sqrt(value)"
                     : fmt::format("pow(value, (TX){:#.9g}f)", 1 / p)};
  }

  Reduction reduction_;
  LazyLaunchable planes_;
  bool by_planes_;
  PoolAttributes attributes_;
};

}  // namespace

void RegisterPool(KernelRegistry& registry) {
  constexpr TypeSet kOrdered = kReals | TypeSet{ElementType::kInt8, ElementType::kUInt8};
  registry.Add(Op("MaxPool").Versions(1).Types(0, kOrdered).Unless(SpatialRefusal).Make<Pool>());
  for (const char* op : {"AveragePool", "LpPool"})
    registry.Add(Op(op).Versions(1).Types(0, kReals).Unless(SpatialRefusal).Make<Pool>());
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
    registry.Add(Op(op).Versions(1).Types(0, kReals).Unless(SpatialRefusal).Make<GlobalPool>());
}

}  // namespace tessera::opencl
