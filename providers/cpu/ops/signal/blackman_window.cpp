// BlackmanWindow (ai.onnx 17).

#include "cpu/ops/ops.h"
#include "cpu/ops/signal/cosine_window.h"

namespace tessera::cpu {
namespace {

class BlackmanWindow final : public CosineWindow {
 public:
  explicit BlackmanWindow(const KernelInfo& info) : CosineWindow(info, 0.42, 0.5, 0.08) {}
};

}  // namespace

void RegisterBlackmanWindow(KernelRegistry& registry) {
  registry.Add(Op("BlackmanWindow").Versions(17).Make<BlackmanWindow>());
}

}  // namespace tessera::cpu
