#include "runtime/threads/thread_pools.h"

namespace tessera {
namespace {

class SerialPool final : public SessionThreadPool {
 public:
  int num_threads() const noexcept override { return 1; }
  void BeginRun() noexcept override {}
  void EndRun() noexcept override {}

 protected:
  void DoParallelFor(int64_t total, double, FunctionRef<void(int64_t, int64_t)> body) override { body(0, total); }
};

}  // namespace

std::shared_ptr<SessionThreadPool> MakeSerialPool() { return std::make_shared<SerialPool>(); }

bool& InsideRegion() noexcept {
  static thread_local bool inside = false;
  return inside;
}

}  // namespace tessera
