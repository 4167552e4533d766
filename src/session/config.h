#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/precision.h"
#include "tessera/session.h"

namespace tessera {

inline constexpr std::string_view kTuningKey = "session.tuning";

inline constexpr std::string_view kAffinitiesKey = "session.intra_op_thread_affinities";

/// Of a limit of memory: by the size of the model and of what a run is given.
inline constexpr int64_t kAutomaticLimit = -1;

/// Session configuration entries, parsed; their defaults stand in session_config_schema().
struct SessionConfig {
  int64_t min_island_nodes = 0;
  bool allow_spinning = false;
  bool force_spinning_stop = false;
  int64_t spin_duration_us = -1;  // the library's
  std::string affinities;
  bool use_env_allocators = false;
  bool disable_prepacking = false;
  bool denormal_as_zero = false;
  bool disable_cpu_fallback = false;
  bool context_enable = false;
  std::string context_file_path;
  bool context_embed = false;
  std::string optimized_weights_file;
  int64_t optimized_weights_least = 0;
  bool tuning = false;
  Precision precision = Precision::kFloat32;
  int64_t nbits_accuracy_level = 0;
  bool round_halves = false;
  bool strict_attributes = false;
  bool ignore_unknown_dimensions = false;
  bool ignore_unknown_initializers = false;
  bool map_files = false;
  int64_t load_memory_limit = kAutomaticLimit;
  int64_t run_memory_limit = kAutomaticLimit;
  std::vector<std::string> without_effect;  // entries that were given and do nothing here
};

/// Whether an entry tells of the session's context file. They were called "ep.context_..." once, as are ONNX Runtime's
/// entries for models that providers compile; those names still work.
bool IsOfContext(std::string_view name) noexcept;

/// Throws Error for unknown keys, listing those that are known, and for bad values.
SessionConfig ParseConfig(const SessionOptions& options);

}  // namespace tessera
