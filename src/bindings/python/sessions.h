#pragma once

// Sessions as Python objects.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/c/session.h"
#include "bindings/python/options.h"
#include "bindings/python/ort_value.h"

namespace tessera::python {

/// A session that is made, with its names as Python compares them.
struct Loaded {
  explicit Loaded(OrtSession* made);
  ~Loaded();
  static std::shared_ptr<Loaded> Make(OrtSession* made);
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const Session& core() const noexcept { return *session->session; }
  /// The declared type of an input that a run may be given; null: there is none of that name. Programs mostly feed inputs
  /// in the model's order: `k` is looked at first.
  const NamedType* InputNamed(size_t k, std::string_view name) const noexcept;

  /// Sessions whose last owner lets go on this thread, while there is such an object on it, end on a thread of their own.
  class EndElsewhere {
   public:
    EndElsewhere() noexcept;
    ~EndElsewhere();
    EndElsewhere(const EndElsewhere&) = delete;
    EndElsewhere& operator=(const EndElsewhere&) = delete;

   private:
    const bool before_;
  };

  OrtSession* session;
  std::vector<const char*> output_names;
  std::vector<ProviderRequest> providers;  // as they were asked for
  /// What the session looks at and does not own.
  std::vector<std::pair<std::string, HeldValue>> initializers;
  std::vector<std::pair<std::string, std::shared_ptr<Py_buffer>>> files;
  std::shared_ptr<Callbacks> callbacks;
};

/// Made in two steps, as programs of the C extension's own interface do: the constructor keeps what is needed, and
/// initialize_session loads, perhaps once more with other providers.
class PySession {
 public:
  PySession(const PySessionOptions& options, nb::object model, bool from_file, bool read_config);

  void Initialize(const std::vector<std::string>& providers, const nb::list& provider_options,
                  const std::vector<std::string>& disabled_optimizers);
  /// Throws where it was not initialized.
  std::shared_ptr<Loaded> loaded() const;
  const PySessionOptions& options() const noexcept { return options_; }
  /// For the interpreter's search for cycles.
  int Visit(visitproc visit, void* arg) const;
  void Forget() { options_.Forget(); }
  /// Whether the last load failed for a function of the program's.
  bool function_failed() const noexcept { return function_failed_; }

  nb::list Run(nb::handle output_names, nb::handle feed, nb::handle run_options) const;
  void RunAsync(nb::handle output_names, nb::handle feed, nb::object callback, nb::object user_data,
                nb::object run_options) const;
  nb::list RunWithValues(nb::handle output_names, nb::handle feed, nb::handle run_options) const;
  /// `results`: memory for the outputs, where there is some; what the run gave is returned.
  std::vector<HeldValue> RunWithVectors(nb::handle run_options, const std::vector<std::string>& feed_names,
                                        const std::vector<HeldValue>& feeds, const std::vector<std::string>& output_names,
                                        std::vector<HeldValue> results) const;

 private:
  PySessionOptions options_;
  const nb::object model_;  // a path, or bytes
  const bool from_file_;
  mutable std::mutex mutex_;  // of the pointer only
  std::shared_ptr<Loaded> loaded_;
  std::atomic<bool> function_failed_ = false;
};

/// NodeArg, ModelMetadata and the reports.
void BindMetadata(nb::module_& module);
void BindReports(nb::class_<PySession>& session);

}  // namespace tessera::python
