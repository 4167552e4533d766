#include "runtime/plan/copy_kernel.h"

#include "runtime/step_context.h"

namespace tessera {

std::optional<Tensor> CopyKernel::Shared(StepContext& context, const Tensor& from) const {
  const Step& step = context.step();
  MemorySharing* const sharing = resources_.providers[static_cast<size_t>(step.provider)].sharing;
  if (sharing == nullptr) return std::nullopt;
  Frame& frame = context.frame();
  const Plan& plan = frame.plan();
  const SlotIndex source = plan.inputs_of(step)[0], target = plan.outputs_of(step)[0];
  if (from.memory().host_accessible) return sharing->OnDevice(from, false);
  // Results go to the caller with their buffer, which nobody else reads by then.
  const Slot& slot = plan.slots[static_cast<size_t>(source)];
  const bool last =
      slot.is_output && slot.source == SlotSource::kStep && &plan.steps[static_cast<size_t>(slot.last_use)] == &step;
  if (!last || resources_.parallel || from.owner() == nullptr || frame.is_bound(target)) return std::nullopt;
  std::optional<Tensor> shared = sharing->OnHost(from, *context.stream());
  if (shared) frame.Release(source);
  return shared;
}

void CopyKernel::Compute(KernelContext& context) {
  auto& step = static_cast<StepContext&>(context);
  if (step.frame().is_skipped(step.step())) return;
  const Value* value = context.input_value(0);
  if (value->is_none()) return context.set_output(0, Value());  // an empty optional
  const Tensor& from = context.required_input(0);
  if (std::optional<Tensor> shared = Shared(step, from)) return context.set_output(0, Value(std::move(*shared)));
  Tensor* to = context.output(0, from.type(), from.shape());
  // No queue orders the work of two devices: the copy waits for all of it, and is done on return.
  const bool between_devices = !from.memory().host_accessible && !to->memory().host_accessible;
  if (between_devices) step.frame().Synchronize();
  resources_.Copy(from, *to, between_devices ? nullptr : context.stream());
  // Concurrent steps cannot tell who waited for the queue already.
  if (resources_.parallel && to->memory().host_accessible && context.stream() != nullptr) context.stream()->Synchronize();
}

}  // namespace tessera
