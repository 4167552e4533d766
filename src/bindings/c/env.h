#pragma once

// The environment of the process, and its log.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/c/allocator.h"
#include "bindings/c/handle.h"
#include "bindings/c/key_values.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

/// There is one, which counts who asked for it.
struct OrtEnv {
  tessera::c_abi::Mark<OrtEnv> mark;
  explicit OrtEnv(const tessera::EnvironmentOptions& options) : environment(options) {}

  const tessera::Environment environment;
  size_t count = 0;
  std::atomic<int> log_level{ORT_LOGGING_LEVEL_WARNING};
  bool global_threads = false;
  bool denormal_as_zero = false;
  OrtKeyValuePairs config;
  std::mutex mutex;
  tessera::ThreadWorkObserver observer;     // of threads of sessions that are made from now on; behind the mutex
  std::vector<OrtAllocator*> registered;    // the clients'
  std::vector<const OrtEpDevice*> devices;  // that GetEpDevices shows, until libraries come or go

  /// The devices of the libraries that are registered, from now on.
  void TellDevices(std::vector<const OrtEpDevice*> of_libraries);
};

namespace tessera::c_abi {

/// Where a client wants lines of the log.
struct LogTarget {
  OrtLoggingFunction function = nullptr;
  void* param = nullptr;
};

/// From now on, lines go to the target; none: to standard error.
void SetEnvLog(const LogTarget& target);

/// While it lives, lines of who logs under id() go to the target, as those of `name`.
class SessionLog {
 public:
  SessionLog(const LogTarget& target, std::string_view name);
  ~SessionLog();
  SessionLog(const SessionLog&) = delete;
  SessionLog& operator=(const SessionLog&) = delete;
  const std::string& id() const noexcept { return id_; }

 private:
  std::string id_;
};

}  // namespace tessera::c_abi
