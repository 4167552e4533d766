#pragma once

// What Cast, CastLike and BitCast share.

#include "cpu/engine/cast.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// The attribute 'to' of Cast and BitCast: a number, or its name in the first version.
ElementType TargetType(const KernelInfo& info);

/// Elements of input 0 in another type.
class CastKernel final : public Kernel {
 public:
  CastKernel(const KernelInfo& info, ElementType to);
  void Compute(KernelContext& context) override;

 private:
  const ElementCast cast_;
};

}  // namespace tessera::cpu
