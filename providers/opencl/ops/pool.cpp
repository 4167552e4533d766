// MaxPool (1-22), AveragePool (1-22), LpPool (1-22), and their forms over whole planes.

#include "ops/nn/pool.h"
#include "base/rounding.h"
#include "opencl/claims/refusals.h"
#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in pool.cl.
struct Rules {
  cl_int reach[3], include_padding, column_major;
};

std::string PoolDefines(const KernelInfo& info) {
  const ElementType type = info.input_type(0);
  if (info.node().op_type.ends_with("AveragePool")) return Computed('X', type) + "#define MEAN\n";
  if (info.node().op_type.ends_with("LpPool")) {
    const double p = PoolAttributes(info.node()).p;
    return Computed('X', type) + fmt::format("#define NORM {}\n", p == 1 ? 1 : p == 2 ? 2 : 0);
  }
  const char* lowest = type == ElementType::kInt8 ? "CHAR_MIN" : type == ElementType::kUInt8 ? "0" : "-INFINITY";
  return Computed('X', type) + fmt::format("#define LOWEST {}\n", lowest);
}

class Pool final : public Kernel {
 public:
  explicit Pool(const KernelInfo& info)
      : kernel_(DeviceOf(info), "pool", PoolDefines(info), "pool"),
        rows_(DeviceOf(info), "pool", ByColumns(info), "pool_rows"),
        planes_(DeviceOf(info), "pool", ByColumns(info), "pool_planes"),
        by_rows_(!SettingsOf(info).tiles),
        attributes_(info.node()),
        power_(static_cast<cl_float>(attributes_.p)) {
    const bool vectors = by_rows_ && info.node().outputs.size() == 1;
    (!vectors ? kernel_ : attributes_.global ? planes_ : rows_).Compile();
    if (vectors && !attributes_.global && MayBeNarrow(info.output_info(0))) kernel_.Compile();
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
    if (by_rows_ && indices == nullptr && attributes_.global) {
      return planes_.Compile().Linear(context, y.num_elements(), x, y, cl_long{xs.SizeOfRange(2, xs.rank())}, power_);
    }
    if (by_rows_ && indices == nullptr && g.out[2] >= kNarrow) {
      const auto columns = static_cast<size_t>(CeilDiv(g.out[2], kColumns));
      const auto rows = static_cast<size_t>(g.out[0]) * static_cast<size_t>(g.out[1]),
                 planes = static_cast<size_t>(xs[0] * xs[1]);
      return rows_.Compile()(context, {columns, rows, planes}, {1, 1, 1}, x, y, g, rules, power_);
    }
    kernel_.Compile().Grid(context, ys.SizeOfRange(2, ys.rank()), xs[0] * xs[1], 1, x, y, indices, g, rules, power_);
  }

 private:
  static constexpr cl_int kColumns = 16;            // that an item of rows_ computes
  static constexpr int64_t kNarrow = kColumns / 2;  // rows shorter than this are not worth vectors

  static std::string ByColumns(const KernelInfo& info) {
    return PoolDefines(info) +
           fmt::format("#define COLUMNS {}\n#define BYTES {}\n", kColumns, BitWidth(info.input_type(0)) / 8);
  }

  LazyLaunchable kernel_, rows_, planes_;
  bool by_rows_;
  PoolAttributes attributes_;
  cl_float power_;
};

}  // namespace

void RegisterPooling(KernelRegistry& registry) {
  constexpr TypeSet kOrdered = kReals | TypeSet{ElementType::kInt8, ElementType::kUInt8};
  registry.Add(Op("MaxPool").Versions(1).Types(0, kOrdered).Unless(SpatialRefusal).Make<Pool>());
  for (const char* op : {"AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
    registry.Add(Op(op).Versions(1).Types(0, kReals).Unless(SpatialRefusal).Make<Pool>());
  }
}

}  // namespace tessera::opencl
