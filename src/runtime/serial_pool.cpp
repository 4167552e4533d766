#include "runtime/thread_pools.h"

namespace tessera {
namespace {

class SerialPool final : public ThreadPool {
 public:
  int num_threads() const noexcept override { return 1; }

 protected:
  void DoParallelFor(int64_t total, double, FunctionRef<void(int64_t, int64_t)> body) override { body(0, total); }
};

}  // namespace

std::shared_ptr<ThreadPool> MakeSerialPool() { return std::make_shared<SerialPool>(); }

}  // namespace tessera
