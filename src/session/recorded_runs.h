#pragma once

// Runs that a provider has recorded on its device (a CUDA graph, say), and replays.

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "base/stop_signal.h"
#include "runtime/plan/plan.h"
#include "runtime/resources.h"
#include "session/session_state.h"

namespace tessera {

/// Throws Error where nodes are another provider's that `provider` cannot record.
void RequireRecordable(const Plan& plan, const SessionResources& resources, const ExecutionProvider& provider);

/// Recordings hold addresses: only a run with the buffers of the one that was recorded is replayed, all others are made.
class RecordedRuns {
 public:
  explicit RecordedRuns(ExecutionProvider& provider) : provider_(provider) {}

  /// Replays recording `number` (below 0: none), or makes the run by `once`, again until the provider has recorded it. One
  /// at a time; throws the error of a run that `stop` ends while it waits for another.
  void Run(const Session::State::Request& request, int number, const StopSignal& stop, const std::function<void()>& once);
  /// The next run with that number records anew.
  void Forget(int number);

 private:
  ExecutionProvider& provider_;
  std::timed_mutex mutex_;
  std::map<int, std::vector<const void*>> buffers_;  // of inputs and results of recorded runs
  std::vector<const void*> given_;                   // of the run that comes, whose memory is kept
};

}  // namespace tessera
