#pragma once

// Options of sessions and runs as Python programs set them.

#include <memory>
#include <string>
#include <vector>

#include "bindings/c/run_options.h"
#include "bindings/c/session_options.h"
#include "bindings/python/callbacks.h"
#include "bindings/python/enums.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/ort_value.h"
#include "bindings/python/runtime.h"

namespace tessera::python {

/// The C ABI's options, and what it has no memory of.
struct PySessionOptions {
  PySessionOptions();
  PySessionOptions(const PySessionOptions& other);
  PySessionOptions& operator=(const PySessionOptions&) = delete;

  /// Loads with these options end, too, where loads with the others, which the program holds, are cancelled.
  void EndLoadsWith(const PySessionOptions& held) { options->cancel = held.options->cancel; }

  /// With profiling and the options of a session that have no setting of their own, for one session.
  std::unique_ptr<OrtSessionOptions, void (*)(OrtSessionOptions*)> ForSession() const;

  /// For the interpreter's search for cycles.
  int Visit(visitproc visit, void* arg) const;
  void Forget();

  std::unique_ptr<OrtSessionOptions, void (*)(OrtSessionOptions*)> options;
  bool profiling = false;
  std::string profile_prefix = "onnxruntime_profile_";
  int verbosity = 0;
  bool memory_reuse = true, deterministic = false;
  ExecutionOrder execution_order = ExecutionOrder::kDefault;
  std::vector<std::string> custom_op_libraries;
  /// Chooses devices; the options of the C ABI have its address.
  HeldFunction selection_delegate;
  /// Has what providers stored outside of a model.
  ContextSource context_source;
  /// Initializers by name; they live as long as the sessions.
  std::vector<std::pair<std::string, HeldValue>> initializers;
  /// Files of weights by name, in memory of Python's, which lives as long.
  std::vector<std::pair<std::string, std::shared_ptr<Py_buffer>>> files;
};

struct PyRunOptions {
  OrtRunOptions options;
  bool only_path_to_outputs = false;
  std::vector<std::shared_ptr<const void>> adapters;  // that the options refer to
};

/// Programs set switches to numbers and None, too. What only is empty or not, as texts and lists, is a TypeError.
bool Truth(nb::handle value);

/// Of a run's options, or null where None is given.
const OrtRunOptions* OptionsIn(nb::handle run_options);

}  // namespace tessera::python
