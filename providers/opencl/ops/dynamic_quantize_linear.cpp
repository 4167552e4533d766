// DynamicQuantizeLinear (11).

#include <algorithm>

#include "base/rounding.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

class DynamicQuantizeLinear final : public Kernel {
 public:
  explicit DynamicQuantizeLinear(const KernelInfo& info)
      : by_parts_(!SettingsOf(info).tiles),
        most_parts_(by_parts_ ? int64_t{kPartsOfUnit} * DeviceOf(info).capabilities().compute_units : kMostGroups),
        extremes_(DeviceOf(info), "quantization", fmt::format("#define LANES {}\n", kLanes),
                  by_parts_ ? "extremes_of_part" : "extremes"),
        choose_(DeviceOf(info), "quantization", "", "choose_scale"),
        quantize_(DeviceOf(info), "quantization",
                  Computed('X', ElementType::kFloat) + Computed('S', ElementType::kFloat) +
                      Computed('Y', ElementType::kUInt8) +
                      "#define HAS_ZERO\n#define ROUND(v) (v)\n#define LOWEST 0\n#define HIGHEST 255\n",
                  "quantize_all") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& y = *context.output(0, x.shape());
    const Tensor *given_scale = context.output(1, Shape{}), *given_zero = context.output(2, Shape{});
    const int64_t count = x.num_elements();
    const int64_t parts_here = std::clamp<int64_t>(CeilDiv(count, by_parts_ ? kLeastPart : kLanes), 1, most_parts_);
    const auto groups = static_cast<size_t>(parts_here);
    const DeviceScratch parts(context, groups * 2 * sizeof(cl_float)), own_scale(context, sizeof(cl_float)),
        own_zero(context, sizeof(cl_uchar));
    const BufferRange scale = given_scale != nullptr ? DeviceAllocator::Find(given_scale->raw()) : own_scale.range();
    const BufferRange zero = given_zero != nullptr ? DeviceAllocator::Find(given_zero->raw()) : own_zero.range();
    if (by_parts_) {
      extremes_(context, {groups, 1, 1}, {1, 1, 1}, x, parts.range(), cl_long{count}, cl_long{CeilDiv(count, parts_here)});
    } else {
      extremes_(context, {groups * kLanes, 1, 1}, {kLanes, 1, 1}, x, parts.range(), cl_long{count},
                static_cast<cl_long>(groups * kLanes));
    }
    choose_.Linear(context, 1, parts.range(), scale, zero, static_cast<cl_int>(groups));
    quantize_.Linear(context, count, x, scale, zero, y);
  }

 private:
  static constexpr int64_t kLanes = 64, kMostGroups = 256, kPartsOfUnit = 4, kLeastPart = 1024;
  bool by_parts_;  // on processors
  int64_t most_parts_;
  Launchable extremes_, choose_, quantize_;
};

}  // namespace

void RegisterDynamicQuantizeLinear(KernelRegistry& registry) {
  registry.Add(Op("DynamicQuantizeLinear").Versions(11).Types(0, {ElementType::kFloat}).Make<DynamicQuantizeLinear>());
}

}  // namespace tessera::opencl
