// Softmax, LogSoftmax (1, 11 flatten; 13 along one axis), LayerNormalization (17, ONNX Runtime's 1), RMSNormalization (23),
// InstanceNormalization (6, 22), GroupNormalization (18, 21), BatchNormalization (7-15, inference).

#include <algorithm>

#include "base/rounding.h"
#include "opencl/ops/long_rows.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/row_parameter.h"
#include "ops/normalization/softmax.h"

namespace tessera::opencl {
namespace {

constexpr size_t kRowLanes = 64;
constexpr int64_t kStep = 16, kKeptOfRow = 2048;

/// Groups share a row on GPUs; on processors an item has several.
std::string RowDefines(const KernelInfo& info) {
  return SettingsOf(info).tiles ? fmt::format("#define LANES {}\n", kRowLanes)
                                : fmt::format("#define STEP {}\n#define KEPT {}\n", kStep, kKeptOfRow);
}

/// Rows of so many elements that an item has.
int64_t RowsTogether(int64_t elements) {
  constexpr int64_t kElementsOfItem = 2048;
  return std::max<int64_t>(kElementsOfItem / std::max<int64_t>(elements, 1), 1);
}

class Softmax final : public Kernel {
 public:
  explicit Softmax(const KernelInfo& info)
      : settings_(SettingsOf(info)),
        kernel_(DeviceOf(info), "normalization", Computed('X', info.input_type(0)) + RowDefines(info),
                settings_.tiles ? "softmax" : "softmax_rows"),
        long_rows_(DeviceOf(info), {info.input_type(0), info.input_type(0), info.input_type(0), info.input_type(0)}),
        attributes_(info.node()),
        logarithm_(info.node().op_type == "LogSoftmax") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const AxisView view = attributes_.View(x.shape());
    const int64_t n = view.count, stride = view.inner, num_rows = view.outer * view.inner;
    if (LongRows::Pay(settings_, n))
      return long_rows_.Softmax(context, x, y, RowLayout::Lines(num_rows, n, stride), logarithm_ != 0);
    if (settings_.tiles) return kernel_.Groups(context, num_rows, kRowLanes, x, y, cl_long{n}, cl_long{stride}, logarithm_);
    const int64_t together = RowsTogether(n),
                  items = stride == 1 ? CeilDiv(num_rows, together) : num_rows / stride * CeilDiv(stride, kStep);
    kernel_(context, {static_cast<size_t>(items), 1, 1}, {1, 1, 1}, x, y, cl_long{n}, cl_long{stride}, logarithm_,
            cl_long{num_rows}, static_cast<cl_int>(together));
  }

 private:
  const Settings& settings_;
  Launchable kernel_;
  LongRows long_rows_;
  SoftmaxAttributes attributes_;
  cl_int logarithm_;
};

/// The kernel that rows are standardized by; see normalization.cl.
class Standardize : public Kernel {
 public:
  Standardize(const KernelInfo& info, float epsilon, bool center)
      : settings_(SettingsOf(info)),
        kernel_(DeviceOf(info), "normalization",
                Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('Y', info.output_type(0)) +
                    Computed('M', StatisticsType(info)) + RowDefines(info),
                settings_.tiles ? "standardize" : "standardize_rows"),
        long_rows_(DeviceOf(info), {info.input_type(0), info.input_type(1), info.output_type(0), StatisticsType(info)}),
        epsilon_(epsilon),
        center_(center) {}

 protected:
  struct Rows {
    int64_t size, period, step, inner;
  };
  void Launch(KernelContext& context, const Rows& rows, const Tensor& y, const Tensor* mean = nullptr,
              const Tensor* inverse = nullptr) {
    const Tensor& x = context.required_input(0);
    const Tensor* bias = center_ ? context.input(2) : nullptr;
    if (x.num_elements() == 0) return;
    const int64_t last = (rows.period - 1) * rows.step + (rows.size - 1) / rows.inner;
    Require(context.required_input(1).num_elements() == last + 1 && (bias == nullptr || bias->num_elements() == last + 1),
            "scale and bias need {} elements", last + 1);
    const int64_t count = x.num_elements() / rows.size;
    if (LongRows::Pay(settings_, rows.size)) {
      return long_rows_.Standardize(context, RangeOf(x), y, RowLayout::Contiguous(count, rows.size),
                                    {.centers = center_ != 0,
                                     .epsilon = epsilon_,
                                     .parameters = {&context.required_input(1), bias, rows.period, rows.step, rows.inner},
                                     .mean = mean,
                                     .inverse = inverse});
    }
    const auto launch = [&](size_t items, size_t group, const auto&... more) {
      kernel_(context, {items, 1, 1}, {group, 1, 1}, x, context.required_input(1), bias, y, mean, inverse,
              cl_long{rows.size}, cl_long{rows.period}, cl_long{rows.step}, cl_long{rows.inner}, epsilon_, center_,
              more...);
    };
    if (settings_.tiles) return launch(static_cast<size_t>(count) * kRowLanes, kRowLanes);
    const int64_t together = RowsTogether(rows.size);
    launch(static_cast<size_t>(CeilDiv(count, together)), 1, cl_long{count}, static_cast<cl_int>(together));
  }

 private:
  static ElementType StatisticsType(const KernelInfo& info) {
    return info.has_output(1) ? info.output_type(1) : info.has_output(2) ? info.output_type(2) : ElementType::kFloat;
  }

  const Settings& settings_;
  Launchable kernel_;
  LongRows long_rows_;
  float epsilon_;
  cl_int center_;
};

/// LayerNormalization, RMSNormalization, ONNX Runtime's SimplifiedLayerNormalization: the dimensions from an axis on are a
/// row.
class TrailingNormalization final : public Standardize {
 public:
  explicit TrailingNormalization(const KernelInfo& info)
      : TrailingNormalization(info, LayerNormalizationAttributes(info.node())) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const size_t axis = NormalizeAxis(attributes_.axis, shape.rank());
    const Shape reduced = LayerNormalizationAttributes::StatisticsShape(shape, axis);
    const Tensor& y = *context.output(0, shape);
    const Tensor *mean = attributes_.centers ? context.output(1, reduced) : nullptr,
                 *inverse = context.output(attributes_.inverse_output(), reduced);
    Launch(context, {shape.SizeOfRange(axis, shape.rank()), 1, 0, 1}, y, mean, inverse);
  }

 private:
  TrailingNormalization(const KernelInfo& info, const LayerNormalizationAttributes& attributes)
      : Standardize(info, attributes.epsilon, attributes.centers), attributes_(attributes) {}

  LayerNormalizationAttributes attributes_;
};

class GroupNormalization final : public Standardize {
 public:
  explicit GroupNormalization(const KernelInfo& info)
      : GroupNormalization(info, GroupNormalizationAttributes(info.node())) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const int64_t groups = attributes_.Groups(shape), channels = shape[1], spatial = shape.SizeOfRange(2, shape.rank());
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    const int64_t size = channels / groups * spatial;
    if (attributes_.scales_groups) return Launch(context, {size, groups, 1, size}, y);
    Launch(context, {size, groups, channels / groups, spatial}, y);
  }

 private:
  GroupNormalization(const KernelInfo& info, const GroupNormalizationAttributes& attributes)
      : Standardize(info, attributes.epsilon, true), attributes_(attributes) {}

  GroupNormalizationAttributes attributes_;
};

class BatchNormalization final : public Kernel {
 public:
  explicit BatchNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization",
                Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('M', info.input_type(3)),
                "batch_norm"),
        epsilon_(BatchNormalizationAttributes(info.node()).epsilon) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const int64_t channels = BatchNormalizationAttributes::Channels(shape);
    for (size_t i = 1; i < 5; ++i) {
      Require(context.required_input(i).num_elements() == channels, "input {} needs one element a channel, {} in all", i,
              channels);
    }
    Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, x.num_elements(), x, context.required_input(1), context.required_input(2),
                   context.required_input(3), context.required_input(4), y,
                   cl_long{shape.SizeOfRange(std::min<size_t>(2, shape.rank()), shape.rank())}, cl_long{channels},
                   epsilon_);
  }

 private:
  Launchable kernel_;
  float epsilon_;
};

std::string BroadcastRefusal(const NodeInfo& info) {
  const auto& shape = info.input_info(0).shape;
  const auto first = AxisWithin(LayerNormalizationAttributes(info.node()).axis, shape ? shape->size() : 0);
  if (!first) return "the normalized dimensions are not known";
  for (size_t i = 1; i < info.num_inputs(); ++i) {
    const auto& parameter = info.input_info(i).shape;
    if (info.has_input(i) && !(parameter && IsOfRow(*shape, *first, *parameter)))
      return "a scale or bias that broadcasts is left to the CPU provider";
  }
  return {};
}

std::string StatisticsRefusal(const NodeInfo& info) {
  if (info.has_output(1)) return "only the first output is computed on the device";
  const BatchNormalizationAttributes attributes(info.node());
  if (attributes.training) return "training is left to the CPU provider";
  return attributes.spatial ? "" : "statistics of each element are left to the CPU provider";
}

}  // namespace

void RegisterNormalization(KernelRegistry& registry) {
  registry.Add(Op("Softmax").Versions(1).Types(0, kReals).Make<Softmax>());
  registry.Add(Op("LogSoftmax").Versions(1).Types(0, kReals).Make<Softmax>());
  registry.Add(
      Op("LayerNormalization").Versions(1).Types(0, kReals).Unless(BroadcastRefusal).Make<TrailingNormalization>());
  registry.Add(Op("SimplifiedLayerNormalization")
                   .Types(0, kReals)
                   .Types(1, kReals)
                   .Unless(BroadcastRefusal)
                   .Make<TrailingNormalization>());
  registry.Add(Op("RMSNormalization")
                   .Versions(23)
                   .Types(0, kReals)
                   .Types(1, kReals)
                   .Unless(BroadcastRefusal)
                   .Make<TrailingNormalization>());
  registry.Add(Op("InstanceNormalization").Versions(6).Types(0, kReals).Make<GroupNormalization>());
  registry.Add(Op("GroupNormalization").Versions(18).Types(0, kReals).Make<GroupNormalization>());
  registry.Add(Op("BatchNormalization")
                   .Versions(7)
                   .Types(0, kReals)
                   .InPlace(0, 0)
                   .Unless(StatisticsRefusal)
                   .Make<BatchNormalization>());
}

}  // namespace tessera::opencl
