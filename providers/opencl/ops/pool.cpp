// MaxPool (1-22), AveragePool (1-22), LpPool (1-22), and their forms over whole planes.

#include "base/rounding.h"
#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in pool.cl.
struct Rules {
  cl_int reach[3], include_padding, column_major;
};

bool IsNorm(const KernelInfo& info) { return info.node().op_type.ends_with("LpPool"); }

/// p is a float in version 1 and an integer since.
float Power(const KernelInfo& info) {
  if (!IsNorm(info)) return 1;
  const float p =
      info.since_version() == 1 ? info.attribute<float>("p", 2.0f) : static_cast<float>(info.attribute<int64_t>("p", 2));
  Require(p > 0, "attribute 'p' is {}, which must be positive", p);
  return p;
}

std::string PoolDefines(const KernelInfo& info) {
  const ElementType type = info.input_type(0);
  if (info.node().op_type.ends_with("AveragePool")) return Computed('X', type) + "#define MEAN\n";
  if (IsNorm(info))
    return Computed('X', type) + fmt::format("#define NORM {}\n", Power(info) == 1 ? 1 : Power(info) == 2 ? 2 : 0);
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
        window_(info.node()),
        global_(info.node().op_type.starts_with("Global")),
        include_padding_(info.attribute<int64_t>("count_include_pad", 0) != 0),
        column_major_(info.attribute<int64_t>("storage_order", 0) != 0),
        power_(Power(info)) {
    const bool vectors = by_rows_ && info.node().outputs.size() == 1;
    (!vectors ? kernel_ : global_ ? planes_ : rows_).Compile();
    if (vectors && !global_ && MayBeNarrow(info.output_info(0))) kernel_.Compile();
  }

  static bool MayBeNarrow(const TypeInfo& result) {
    return !result.shape || result.shape->empty() || !result.shape->back().known() || result.shape->back().value < kNarrow;
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& xs = x.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5, "the input is {}; 3 to 5 dimensions are expected", xs);
    const std::span<const int64_t> sizes = xs.dims().subspan(2);
    Window w;
    if (global_ || !window_.has_kernel()) {  // LpPool 1 may leave it out
      const Shape ones(sizes.size(), 1), zeros(sizes.size());
      w = {.input = Shape(sizes),
           .output = ones,
           .kernel = Shape(sizes),
           .strides = ones,
           .dilations = ones,
           .begin = zeros,
           .end = zeros};
    } else {
      w = window_.Fit(sizes, window_.kernel().dims());
    }
    Shape ys = xs;
    for (size_t i = 0; i < w.rank(); ++i) ys[i + 2] = w.output[i];
    const Tensor& y = *context.output(0, ys);
    const Tensor* indices = context.num_outputs() > 1 ? context.output(1, ys) : nullptr;
    const Geometry g = GeometryOf(w);
    Rules rules{};
    for (size_t i = 0; i < 3; ++i)
      rules.reach[i] = g.in[i] + (i + w.rank() < 3 ? 0 : static_cast<cl_int>(w.end[i + w.rank() - 3]));
    rules.include_padding = include_padding_;
    rules.column_major = column_major_;
    if (by_rows_ && indices == nullptr && global_) {
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
  WindowAttributes window_;
  bool global_, include_padding_, column_major_;
  cl_float power_;
};

}  // namespace

void RegisterPooling(KernelRegistry& registry) {
  registry.Add(Op("MaxPool").Versions(1).Types(0, kReals | TypeSet{ElementType::kInt8, ElementType::kUInt8}).Make<Pool>());
  for (const char* op : {"AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
    registry.Add(Op(op).Versions(1).Types(0, kReals).Make<Pool>());
  }
}

}  // namespace tessera::opencl
