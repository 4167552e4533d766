#pragma once

// A case of ONNX test data whose inputs grow until a run of it is long, and is cancelled then.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "input_growth.h"
#include "model/proto.h"
#include "tessera/session.h"

namespace tessera::fuzz {

using Clock = std::chrono::steady_clock;

inline double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

inline constexpr double kLateMs = 50;  // from the cancelling to the end

struct CancelSettings {
  SessionOptions session;
  double most_bytes = 1e9;  // of inputs
  int seconds = 120;        // for a case
  bool declare = false;     // the shapes of grown inputs: what compiles regions claims them then
};

/// Plain memory: what the process that runs a case writes, another reads.
struct CancelResult {
  char op[96];
  char provider[32];
  double run_ms = 0, latency_ms = -1, megabytes = 0;
  double processor_ms = -1;  // of all threads, within the latency
  int outcome = 0;           // 0: not long enough, 1: cancelled, 2: went to its end
  char growth[256];
};

std::vector<std::byte> ReadBytes(const std::filesystem::path& path);

class CancelledCase {
 public:
  CancelledCase(const std::filesystem::path& folder, const CancelSettings& settings, CancelResult& result);

  /// Grows the inputs until a run is long, then cancels some.
  void Run(const std::string& growth);

 private:
  void Load();
  /// Milliseconds; -1 for an error. Ends about when patience does.
  double TimeOf(const std::vector<Value>& inputs);
  /// Runs, cancelled after `ms`; milliseconds from the cancelling to the end, or -1 where the end came first. `processor`:
  /// by what the process computed.
  double RunUntil(const std::vector<Value>& inputs, RunOptions& options, double ms, std::string* error,
                  double* processor = nullptr);
  void Note(const Growth& way, int64_t times);
  void Repeat(const std::string& growth);
  /// Takes the way along which time grows most, again and again. Ways are forgotten where they lead to errors.
  void Search();
  void Cancel(double at);

  const CancelSettings& settings_;
  CancelResult& result_;
  onnx::ModelProto model_;
  std::vector<Value> inputs_;
  std::optional<Session> session_;
};

}  // namespace tessera::fuzz
