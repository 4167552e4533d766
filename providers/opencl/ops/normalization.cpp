// Softmax, LogSoftmax (1, 11 flatten; 13 along one axis), LayerNormalization (17, ONNX Runtime's 1), RMSNormalization (23),
// InstanceNormalization (6, 22), GroupNormalization (18, 21), BatchNormalization (7-15, inference), LRN (1, 13).

#include <algorithm>

#include "base/rounding.h"
#include "opencl/device/kernel.h"

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
      : row_per_item_(!SettingsOf(info).tiles),
        kernel_(DeviceOf(info), "normalization", Computed('X', info.input_type(0)) + RowDefines(info),
                row_per_item_ ? "softmax_rows" : "softmax"),
        flattens_(info.since_version() < 13),
        axis_(info.attribute<int64_t>("axis", flattens_ ? 1 : -1)),
        logarithm_(info.node().op_type == "LogSoftmax") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const size_t rank = x.shape().rank();
    // A vector may be flattened past its end; a scalar is a line of one.
    const bool past = flattens_ && axis_ == static_cast<int64_t>(rank);
    const size_t axis = rank == 0 || past ? rank : Axis(axis_, rank);
    const int64_t rest = x.shape().SizeOfRange(std::min(axis + 1, rank), rank), size = axis < rank ? x.shape()[axis] : 1;
    const int64_t n = flattens_ ? size * rest : size, stride = flattens_ ? 1 : rest;
    const int64_t num_rows = x.num_elements() / n;
    if (!row_per_item_) return kernel_.Groups(context, num_rows, kRowLanes, x, y, cl_long{n}, cl_long{stride}, logarithm_);
    const int64_t together = RowsTogether(n),
                  items = stride == 1 ? CeilDiv(num_rows, together) : num_rows / stride * CeilDiv(stride, kStep);
    kernel_(context, {static_cast<size_t>(items), 1, 1}, {1, 1, 1}, x, y, cl_long{n}, cl_long{stride}, logarithm_,
            cl_long{num_rows}, static_cast<cl_int>(together));
  }

 private:
  const bool row_per_item_;
  Launchable kernel_;
  bool flattens_;
  int64_t axis_;
  cl_int logarithm_;
};

/// The kernel that rows are standardized by; see normalization.cl.
class Standardize : public Kernel {
 public:
  Standardize(const KernelInfo& info, bool center)
      : by_rows_(!SettingsOf(info).tiles),
        kernel_(DeviceOf(info), "normalization",
                Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('Y', info.output_type(0)) +
                    Computed('M', info.has_output(1)   ? info.output_type(1)
                                  : info.has_output(2) ? info.output_type(2)
                                                       : ElementType::kFloat) +
                    RowDefines(info),
                by_rows_ ? "standardize_rows" : "standardize"),
        epsilon_(info.attribute<float>("epsilon", 1e-5f)),
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
    const auto launch = [&](size_t items, size_t group, const auto&... more) {
      kernel_(context, {items, 1, 1}, {group, 1, 1}, x, context.required_input(1), bias, y, mean, inverse,
              cl_long{rows.size}, cl_long{rows.period}, cl_long{rows.step}, cl_long{rows.inner}, epsilon_, center_,
              more...);
    };
    if (!by_rows_) return launch(static_cast<size_t>(count) * kRowLanes, kRowLanes);
    const int64_t together = RowsTogether(rows.size);
    launch(static_cast<size_t>(CeilDiv(count, together)), 1, cl_long{count}, static_cast<cl_int>(together));
  }

  bool center() const noexcept { return center_ != 0; }

 private:
  const bool by_rows_;
  Launchable kernel_;
  float epsilon_;
  cl_int center_;
};

/// LayerNormalization, RMSNormalization, ONNX Runtime's SimplifiedLayerNormalization: the dimensions from an axis on are a
/// row.
class TrailingNormalization final : public Standardize {
 public:
  explicit TrailingNormalization(const KernelInfo& info)
      : Standardize(info, info.node().op_type == "LayerNormalization"), axis_(info.attribute<int64_t>("axis", -1)) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const size_t axis = Axis(axis_, shape.rank());
    Shape reduced = shape;
    std::fill(reduced.begin() + axis, reduced.end(), 1);
    const Tensor& y = *context.output(0, shape);
    const Tensor *mean = center() ? context.output(1, reduced) : nullptr,
                 *inverse = context.output(center() ? 2 : 1, reduced);
    Launch(context, {shape.SizeOfRange(axis, shape.rank()), 1, 0, 1}, y, mean, inverse);
  }

 private:
  int64_t axis_;
};

class GroupNormalization final : public Standardize {
 public:
  explicit GroupNormalization(const KernelInfo& info)
      : Standardize(info, true),
        groups_(info.attribute<int64_t>("num_groups", 0)),
        scales_groups_(info.node().op_type == "GroupNormalization" && info.since_version() < 21) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    Require(shape.rank() >= 2, "the input is {}; batch and channels are expected", shape);
    const int64_t channels = shape[1], groups = groups_ == 0 ? channels : groups_,
                  spatial = shape.SizeOfRange(2, shape.rank());
    Require(groups > 0 ? channels % groups == 0 : channels == 0, "{} channels do not fall into {} groups", channels,
            groups);
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    const int64_t size = channels / groups * spatial;
    if (scales_groups_) return Launch(context, {size, groups, 1, size}, y);
    Launch(context, {size, groups, channels / groups, spatial}, y);
  }

 private:
  int64_t groups_;  // 0: every channel is one
  bool scales_groups_;
};

class BatchNormalization final : public Kernel {
 public:
  explicit BatchNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization",
                Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('M', info.input_type(3)),
                "batch_norm"),
        epsilon_(info.attribute<float>("epsilon", 1e-5f)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() >= 2, "the input is {}; at least two dimensions are expected", shape);
    for (size_t i = 1; i < 5; ++i) {
      Require(context.required_input(i).num_elements() == shape[1], "input {} needs one element a channel, {} in all", i,
              shape[1]);
    }
    Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, x.num_elements(), x, context.required_input(1), context.required_input(2),
                   context.required_input(3), context.required_input(4), y, cl_long{shape.SizeOfRange(2, shape.rank())},
                   cl_long{shape[1]}, epsilon_);
  }

 private:
  Launchable kernel_;
  float epsilon_;
};

class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization", Computed('X', info.input_type(0)), "lrn"),
        size_(info.attribute<int64_t>("size")),
        alpha_(info.attribute<float>("alpha", 1e-4f) / static_cast<float>(size_)),
        beta_(info.attribute<float>("beta", 0.75f)),
        bias_(info.attribute<float>("bias", 1.0f)) {
    Require(size_ > 0, "size is {}, a positive number is expected", size_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() >= 2, "the input is {}; batch and channels are expected", shape);
    const int64_t before = std::min((size_ - 1) / 2, shape[1]), after = std::min(size_ / 2, shape[1]);
    Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, x.num_elements(), x, y, cl_long{shape.SizeOfRange(2, shape.rank())}, cl_long{shape[1]},
                   cl_long{before}, cl_long{after}, alpha_, beta_, bias_);
  }

 private:
  Launchable kernel_;
  int64_t size_;
  float alpha_, beta_, bias_;
};

}  // namespace

void RegisterNormalization(KernelRegistry& registry) {
  registry.Add(Op("Softmax").Versions(1).Types(0, kReals).Make<Softmax>());
  registry.Add(Op("LogSoftmax").Versions(1).Types(0, kReals).Make<Softmax>());
  registry.Add(Op("LayerNormalization").Versions(1).Types(0, kReals).Make<TrailingNormalization>());
  registry.Add(Op("SimplifiedLayerNormalization").Types(0, kReals).Types(1, kReals).Make<TrailingNormalization>());
  registry.Add(Op("RMSNormalization").Versions(23).Types(0, kReals).Types(1, kReals).Make<TrailingNormalization>());
  registry.Add(Op("InstanceNormalization").Versions(6).Types(0, kReals).Make<GroupNormalization>());
  registry.Add(Op("GroupNormalization").Versions(18).Types(0, kReals).Make<GroupNormalization>());
  registry.Add(Op("BatchNormalization").Versions(7).Types(0, kReals).InPlace(0, 0).Make<BatchNormalization>());
  registry.Add(Op("LRN").Versions(1).Types(0, kReals).Make<Lrn>());
}

}  // namespace tessera::opencl
