#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "runtime/threads/cpu_quota.h"
#include "runtime/threads/thread_pools.h"

namespace tessera {

namespace {

/// Cores that the scheduler may put this process on, counting one hardware thread each.
int CoresByAffinity() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  try {
    std::set<std::string> cores;  // by the list of hardware threads that share one
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed)) continue;
      std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
      std::string siblings;
      cores.insert(std::getline(file, siblings) ? siblings : std::to_string(cpu));
    }
    return std::max<int>(1, static_cast<int>(cores.size()));
  } catch (...) {
    return std::max(1, CPU_COUNT(&allowed));
  }
}

}  // namespace

int UsableCores() noexcept {
  const int cores = CoresByAffinity();
  try {
    return std::min(cores, CoresByQuota().value_or(cores));
  } catch (...) {
    return cores;
  }
}

}  // namespace tessera
