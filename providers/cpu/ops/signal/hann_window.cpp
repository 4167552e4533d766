// HannWindow (ai.onnx 17).

#include "cpu/ops/ops.h"
#include "cpu/ops/signal/cosine_window.h"

namespace tessera::cpu {
namespace {

class HannWindow final : public CosineWindow {
 public:
  explicit HannWindow(const KernelInfo& info) : CosineWindow(info, 0.5, 0.5, 0) {}
};

}  // namespace

void RegisterHannWindow(KernelRegistry& registry) { registry.Add(Op("HannWindow").Versions(17).Make<HannWindow>()); }

}  // namespace tessera::cpu
