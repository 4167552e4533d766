// Range (11).

#include <type_traits>

#include "opencl/device/kernel.h"
#include "ops/movement/range.h"

namespace tessera::opencl {
namespace {

/// Integers step in longs, each other type in itself.
template <class T, class Step>
class Range final : public Kernel {
 public:
  explicit Range(const KernelInfo& info)
      : kernel_(
            DeviceOf(info), "range",
            Computed('X', info.output_type(0)) + fmt::format("#define STEP {}\n", std::is_same_v<Step, cl_long> ? "long"
                                                                                  : std::is_same_v<Step, float> ? "float"
                                                                                                                : "double"),
            "range") {}

  void Compute(KernelContext& context) override {
    const RangeBounds<T> bounds(context.required_input(0), context.required_input(1), context.required_input(2));
    Tensor& y = *context.output(0, Shape{bounds.Count()});
    kernel_.Linear(context, y.num_elements(), y, static_cast<Step>(bounds.start), static_cast<Step>(bounds.delta));
  }

 private:
  Launchable kernel_;
};

template <class T, class Step>
void AddRange(KernelRegistry& registry) {
  const TypeSet type = {ElementTypeOf<T>};
  registry.Add(Op("Range").Versions(11).Types(0, type).HostInput(0).HostInput(1).HostInput(2).Make<Range<T, Step>>());
}

}  // namespace

void RegisterRange(KernelRegistry& registry) {
  AddRange<float, float>(registry);
  AddRange<double, double>(registry);
  AddRange<int16_t, cl_long>(registry);
  AddRange<int32_t, cl_long>(registry);
  AddRange<int64_t, cl_long>(registry);
}

}  // namespace tessera::opencl
