#include "runtime/copy_kernel.h"

#include "runtime/step_context.h"

namespace tessera {

void CopyKernel::Compute(KernelContext& context) {
  const Tensor& from = context.required_input(0);
  Tensor* to = context.output(0, from.type(), from.shape());
  resources_.Copy(from, *to, context.stream());
}

}  // namespace tessera
