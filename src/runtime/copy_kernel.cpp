#include "runtime/copy_kernel.h"

#include "runtime/step_context.h"

namespace tessera {

void CopyKernel::Compute(KernelContext& context) {
  const auto& step = static_cast<const StepContext&>(context);
  if (step.frame().is_skipped(step.step())) return;
  const Value* value = context.input_value(0);
  if (value->is_none()) return context.set_output(0, Value());  // an empty optional
  const Tensor& from = context.required_input(0);
  Tensor* to = context.output(0, from.type(), from.shape());
  resources_.Copy(from, *to, context.stream());
  // Concurrent steps cannot tell who waited for the queue already.
  if (resources_.parallel && to->memory().host_accessible && context.stream() != nullptr) context.stream()->Synchronize();
}

}  // namespace tessera
