// HammingWindow (ai.onnx 17).

#include "cpu/ops/ops.h"
#include "cpu/ops/signal/cosine_window.h"

namespace tessera::cpu {
namespace {

class HammingWindow final : public CosineWindow {
 public:
  explicit HammingWindow(const KernelInfo& info) : CosineWindow(info, 25.0 / 46.0, 21.0 / 46.0, 0) {}
};

}  // namespace

void RegisterHammingWindow(KernelRegistry& registry) {
  registry.Add(Op("HammingWindow").Versions(17).Make<HammingWindow>());
}

}  // namespace tessera::cpu
