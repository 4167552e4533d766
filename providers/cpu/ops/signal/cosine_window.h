#pragma once

// HannWindow, HammingWindow, BlackmanWindow (ai.onnx 17).

#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// a0 - a1 cos(t) + a2 cos(2 t), t from 0 to 2 pi.
class CosineWindow : public Kernel {
 public:
  CosineWindow(const KernelInfo& info, double a0, double a1, double a2);
  void Compute(KernelContext& context) override;

 private:
  ElementType type_;
  bool periodic_;
  double a0_, a1_, a2_;
};

}  // namespace tessera::cpu
