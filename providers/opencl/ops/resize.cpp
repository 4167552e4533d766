// Resize (10-19), Upsample (1-10). Plans say which elements an output position reads, with which weights; their tables
// are sent once for each plan.

#include <cmath>
#include <limits>
#include <mutex>

#include "opencl/device/kernel.h"
#include "ops/image/resize_planner.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in resize.cl.
struct DevicePlan {
  cl_int rank = 0, weighted = 0;
  std::array<cl_long, kMostDims> in_stride{}, out{}, first{}, weights{}, taps{};
};

/// Tables of one plan on the device. Buffers without elements are none.
struct SentPlan {
  std::shared_ptr<const ResamplePlan> source;
  DevicePlan plan;
  Buffer firsts, weights;
  MemoryCharge charge;  // of both
};

/// The nearest integer of `type`, as the bits of a long.
int64_t IntegerFill(ElementType type, float value) {
  if (kReals.contains(type) || std::isnan(value)) return 0;
  if (type == ElementType::kBool) return value != 0;
  const int bits = BitWidth(type);
  const bool is_signed = kSigned.contains(type);
  const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0, high = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double rounded = std::nearbyint(static_cast<double>(value));
  if (rounded >= high) return is_signed ? static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1) : -1;
  return rounded <= low ? static_cast<int64_t>(low)
         : is_signed    ? static_cast<int64_t>(rounded)
                        : static_cast<int64_t>(static_cast<uint64_t>(rounded));
}

class Resize final : public Kernel {
 public:
  explicit Resize(const KernelInfo& info)
      : device_(DeviceOf(info)),
        by_rows_(!SettingsOf(info).tiles),
        kernel_(device_, "resize", Computed('X', info.input_type(0)), "resize"),
        rows_(device_, "resize", Computed('X', info.input_type(0)) + Launchable::RowPieceDefines(), "resize_rows"),
        planner_(info),
        type_(info.input_type(0)) {
    const auto shape = KnownShape(info.input_info(0));
    if (by_rows_) rows_.Compile();
    if (!by_rows_ || !shape || shape->rank() == 0 || (*shape)[shape->rank() - 1] > Launchable::kRowPiece) kernel_.Compile();
  }

  void Compute(KernelContext& context) override {
    const auto [plan, y] = planner_.Plan(context);
    const Tensor& x = context.required_input(0);
    if (y == nullptr || plan->empty) return;
    Require(plan->options.mode == ResampleMode::kNearest || kReals.contains(type_),
            "integers are interpolated on the CPU provider");
    const auto sent = Send(context, plan);
    const float fill = plan->options.extrapolation_value;
    const BufferRange firsts{sent->firsts.get(), 0}, weights{sent->weights.get(), 0};
    const cl_long integer_fill = IntegerFill(type_, fill);
    const bool fits =
        !plan->dims.empty() && (plan->dims.back().table == nullptr || plan->dims.back().in <= Launchable::kRowPiece);
    if (!by_rows_ || !fits)
      return kernel_.Compile().Linear(context, y->num_elements(), x, firsts, weights, *y, sent->plan, fill, integer_fill);
    const int64_t width = plan->dims.back().out;
    rows_.Compile().Rows(context, width, y->num_elements() / width, x, firsts, weights, *y, sent->plan, fill, integer_fill,
                         cl_long{plan->dims.back().in});
  }

 private:
  std::shared_ptr<const SentPlan> Send(const KernelContext& context, const std::shared_ptr<const ResamplePlan>& plan) {
    const std::lock_guard lock(mutex_);
    if (sent_ != nullptr && sent_->source == plan) return sent_;
    auto made = std::make_shared<SentPlan>();
    made->source = plan;
    Require(plan->dims.size() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", plan->dims.size(), kMostDims);
    made->plan.rank = static_cast<cl_int>(plan->dims.size());
    made->plan.weighted = plan->options.mode != ResampleMode::kNearest;
    std::vector<cl_int> firsts;
    std::vector<double> weights;
    cl_long stride = 1;
    for (size_t d = plan->dims.size(); d-- > 0;) {
      const ResampleDim& dim = plan->dims[d];
      made->plan.in_stride[d] = stride;
      made->plan.out[d] = dim.out;
      made->plan.first[d] = -1;
      stride *= dim.in;
      if (dim.table == nullptr) continue;
      const AxisTable& table = *dim.table;
      made->plan.first[d] = static_cast<cl_long>(firsts.size());
      made->plan.weights[d] = static_cast<cl_long>(weights.size());
      made->plan.taps[d] = table.taps;
      for (size_t o = 0; o < table.first.size(); ++o)
        firsts.push_back(!table.outside.empty() && table.outside[o] ? -1 : table.first[o]);
      weights.insert(weights.end(), table.weights.begin(), table.weights.end());
    }
    made->charge = MemoryCharge(context.allocator(), firsts.size() * sizeof firsts[0] + weights.size() * sizeof weights[0]);
    if (!firsts.empty()) made->firsts = device_.BufferOf(firsts.data(), firsts.size() * sizeof firsts[0]);
    const std::vector<float> rounded(weights.begin(), weights.end());
    if (!weights.empty() && type_ == ElementType::kDouble)
      made->weights = device_.BufferOf(weights.data(), weights.size() * sizeof weights[0]);
    if (!weights.empty() && type_ != ElementType::kDouble)
      made->weights = device_.BufferOf(rounded.data(), rounded.size() * sizeof rounded[0]);
    sent_ = made;
    return made;
  }

  Device& device_;
  const bool by_rows_;  // on processors
  LazyLaunchable kernel_, rows_;
  ResizePlanner planner_;
  ElementType type_;
  std::mutex mutex_;
  std::shared_ptr<const SentPlan> sent_;
};

std::string InterpolationRefusal(const NodeInfo& info) {
  const bool copies = ResizeAttributes(info.node()).options.mode == ResampleMode::kNearest;
  return copies || kReals.contains(info.input_type(0)) ? "" : "integers are interpolated on the CPU provider";
}

}  // namespace

void RegisterResize(KernelRegistry& registry) {
  constexpr TypeSet kResizable = kNumbers | TypeSet{ElementType::kBool};
  registry.Add(Op("Resize")
                   .Versions(10)
                   .Types(0, kResizable)
                   .HostInput(1)
                   .HostInput(2)
                   .HostInput(3)
                   .Unless(InterpolationRefusal)
                   .Make<Resize>());
  registry.Add(Op("Upsample").Versions(1).Types(0, kResizable).HostInput(1).Unless(InterpolationRefusal).Make<Resize>());
}

}  // namespace tessera::opencl
