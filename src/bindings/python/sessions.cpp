#include "bindings/python/sessions.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <thread>
#include <utility>

#include "bindings/python/arrays.h"
#include "bindings/python/device.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/strings.h"

namespace tessera::python {
namespace {

thread_local bool ends_elsewhere = false;

/// The entries of a dictionary as texts.
class Entries {
 public:
  explicit Entries(const nb::dict& given) {
    for (const auto& [key, value] : given) {
      texts_.push_back(TextOf(key.ptr()));
      texts_.push_back(TextOf(value.ptr()));
    }
    for (size_t i = 0; i < texts_.size(); i += 2) {
      keys_.push_back(CharactersOf(texts_[i]));
      values_.push_back(CharactersOf(texts_[i + 1]));
    }
  }

  size_t size() const noexcept { return keys_.size(); }
  const char* const* keys() const noexcept { return keys_.data(); }
  const char* const* values() const noexcept { return values_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> keys_, values_;
};

void AppendProvider(OrtSessionOptions& options, const std::string& name, const nb::dict& given) {
  const Entries entries(given);
  Check(Api().SessionOptionsAppendExecutionProvider(&options, CharactersOf(name), entries.keys(), entries.values(),
                                                    entries.size()));
}

OrtStatus* Load(const OrtSessionOptions& options, nb::handle model, bool from_file, OrtSession*& made) {
  OrtEnv& env = Env();
  if (from_file) {
    const auto path = nb::cast<std::string>(model);
    const char* characters = CharactersOf(path);
    const Unlocked unlocked;
    return Api().CreateSession(&env, characters, &options, &made);
  }
  const auto bytes = nb::cast<nb::bytes>(model);
  const Unlocked unlocked;
  return Api().CreateSessionFromArray(&env, bytes.c_str(), bytes.size(), &options, &made);
}

nb::dict ProviderOptionsOf(const PySession& self) {
  const std::shared_ptr<Loaded> loaded = self.loaded();
  nb::dict all;
  for (const std::string& name : loaded->core().providers()) {
    nb::dict given;
    for (const ProviderRequest& request : loaded->providers) {
      if (request.name != name) continue;
      for (const auto& [key, value] : request.options) given[nb::str(key.c_str(), key.size())] = value;
    }
    all[nb::str(name.c_str(), name.size())] = given;
  }
  return all;
}

std::string EndProfiling(const PySession& self) {
  const std::shared_ptr<Loaded> loaded = self.loaded();
  OrtAllocator* allocator = nullptr;
  Check(Api().GetAllocatorWithDefaultOptions(&allocator));
  char* text = nullptr;
  Check(Api().SessionEndProfiling(loaded->session, allocator, &text));
  std::string path = text;
  Check(Api().AllocatorFree(allocator, text));
  return path;
}

uint64_t ProfilingStart(const PySession& self) {
  uint64_t start = 0;
  Check(Api().SessionGetProfilingStartTimeNs(self.loaded()->session, &start));
  return start;
}

void SetDynamicOptions(const PySession& self, const nb::dict& options) {
  const Entries entries(options);
  Check(Api().SetEpDynamicOptions(self.loaded()->session, entries.keys(), entries.values(), entries.size()));
}

HeldValue CreateValue(const PySession&, const std::vector<int64_t>& shape, nb::handle type, const Device& device) {
  if (device.type != 0) throw std::runtime_error("memory of devices is bound, not made: bind the output to the device");
  return HeldValue(Tensor(ElementTypeFrom(type), Shape(shape)));
}

void ReleaseCapturedGraph(const PySession& self, int number) {
  CheckCall(Api().SessionReleaseCapturedGraph(self.loaded()->session, number));
}

void BindRuns(nb::class_<PySession>& session) {
  session.def("run", &PySession::Run, nb::arg("output_names").none(), nb::arg("input_feed"),
              nb::arg("run_options") = nb::none(),
              "Runs the model on a dict of inputs and returns a list of the named outputs, of all where None is given.\n\n"
              "Arrays that lie in memory as tensors do are read where they are; results are arrays over the memory that\n"
              "the run wrote. Other threads run meanwhile.");
  session.def("run_with_ort_values", &PySession::RunWithValues, nb::arg("output_names").none(),
              nb::arg("input_dict_ort_values"), nb::arg("run_options") = nb::none(), "The same from and to OrtValues.");
  session.def(
      "run_with_ortvaluevector",
      [](const PySession& self, nb::handle run_options, const std::vector<std::string>& feed_names, nb::handle feeds,
         const std::vector<std::string>& output_names, nb::handle results, nb::handle) {
        auto& taken = nb::cast<HeldValues&>(results);
        const auto copied = [](nb::handle vector) {  // which other threads may change while the run is under way
          const Exclusive alone(vector);
          return nb::cast<const HeldValues&>(vector).all;
        };
        std::vector<HeldValue> made =
            self.RunWithVectors(run_options, feed_names, copied(feeds), output_names, copied(results));
        const Exclusive alone(results);
        taken.all.swap(made);
      },
      nb::arg("run_options").none(), nb::arg("feed_names"), nb::arg("feeds"), nb::arg("fetch_names"), nb::arg("fetches"),
      nb::arg("fetch_devices") = nb::none());
  session.def(
      "run_async", &PySession::RunAsync, nb::arg("output_names").none(), nb::arg("input_feed"), nb::arg("callback"),
      nb::arg("user_data").none(), nb::arg("run_options") = nb::none(),
      "Runs on another thread, which then calls callback(results, user_data, error): error is \"\" where all went well.");
}

}  // namespace

Loaded::EndElsewhere::EndElsewhere() noexcept : before_(std::exchange(ends_elsewhere, true)) {}
Loaded::EndElsewhere::~EndElsewhere() { ends_elsewhere = before_; }

std::shared_ptr<Loaded> Loaded::Make(OrtSession* made) {
  return {new Loaded(made), [](Loaded* last) {
            if (ends_elsewhere) {
              std::thread([last] { delete last; }).detach();
            } else {
              delete last;
            }
          }};
}

Loaded::Loaded(OrtSession* made) : session(made) {
  for (const NamedType& output : core().outputs()) output_names.push_back(output.name.c_str());
}

Loaded::~Loaded() {
  // It waits for runs under way on other threads, which may need the lock to end.
  if (PyGILState_Check() != 0) {
    const Unlocked unlocked;
    Api().ReleaseSession(session);
  } else {
    Api().ReleaseSession(session);
  }
}

const NamedType* Loaded::InputNamed(size_t k, std::string_view name) const noexcept {
  const std::vector<NamedType>& inputs = core().inputs();
  if (k < inputs.size() && inputs[k].name == name) [[likely]]
    return &inputs[k];
  for (const auto* named : {&inputs, &core().overridable_initializers()}) {
    const auto found = std::ranges::find(*named, name, &NamedType::name);
    if (found != named->end()) return &*found;
  }
  return nullptr;
}

PySession::PySession(const PySessionOptions& options, nb::object model, bool from_file, bool /*read_config*/)
    : options_(options), model_(std::move(model)), from_file_(from_file) {
  options_.EndLoadsWith(options);
}

std::shared_ptr<Loaded> PySession::loaded() const {
  const std::lock_guard lock(mutex_);
  if (loaded_ == nullptr) throw std::runtime_error("the session is not initialized");
  return loaded_;
}

int PySession::Visit(visitproc visit, void* arg) const {
  if (const int shown = options_.Visit(visit, arg); shown != 0) return shown;
  const std::lock_guard lock(mutex_);
  if (loaded_ == nullptr || loaded_.use_count() > 1) return 0;
  return Show(loaded_->callbacks->read.function, visit, arg);
}

void PySession::Initialize(const std::vector<std::string>& providers, const nb::list& provider_options,
                           const std::vector<std::string>& disabled_optimizers) {
  auto given = options_.ForSession();
  for (size_t i = 0; i < providers.size(); ++i)
    AppendProvider(*given, providers[i],
                   i < provider_options.size() ? nb::cast<nb::dict>(provider_options[i]) : nb::dict());
  std::string disabled;
  for (const std::string& name : disabled_optimizers) disabled += (disabled.empty() ? "" : ";") + name;
  if (!disabled.empty())
    Check(Api().AddSessionConfigEntry(given.get(), "optimization.disable_specified_optimizers", CharactersOf(disabled)));
  if (!from_file_) given->model_owner = Owner(model_);
  auto callbacks = std::make_shared<Callbacks>();
  callbacks->read = {HeldAgain(options_.context_source.function), options_.context_source.most};
  callbacks->ReadBy(*given);
  OrtSession* session = nullptr;
  OrtStatus* status = Load(*given, model_, from_file_, session);
  function_failed_ = status != nullptr && callbacks->thrown.any();
  callbacks->thrown.Check(status);
  auto made = Loaded::Make(session);
  made->callbacks = std::move(callbacks);
  made->providers = given->core.providers;
  made->initializers = options_.initializers;
  made->files = options_.files;
  const std::lock_guard lock(mutex_);
  loaded_.swap(made);
}

void BindSessions(nb::module_& module) {
  nb::class_<PySession> session(module, "InferenceSession", "A loaded model.",
                                nb::type_slots(Collected<PySession>::kSlots));
  session.def(nb::init<const PySessionOptions&, nb::object, bool, bool>(), nb::arg("session_options").lock(),
              nb::arg("model"), nb::arg("from_file"), nb::arg("read_config") = false);
  session.def("initialize_session", &PySession::Initialize, nb::arg("providers") = nb::list(),
              nb::arg("provider_options") = nb::list(), nb::arg("disabled_optimizers") = nb::list());
  BindRuns(session);
  session.def("end_profiling", &EndProfiling, "Ends profiling and returns the trace's path.");
  session.def("get_profiling_start_time_ns", &ProfilingStart, "When profiling began, in nanoseconds of a steady clock.");
  session.def(
      "get_providers", [](const PySession& self) { return self.loaded()->core().providers(); },
      "Names of the active providers, best first.");
  session.def("get_provider_options", &ProviderOptionsOf, "Options of each active provider.");
  session.def("set_ep_dynamic_options", &SetDynamicOptions, nb::arg("options"));
  session.def("_function_failed", &PySession::function_failed);
  session.def("_options", [](const PySession& self) { return PySessionOptions(self.options()); });
  session.def_prop_ro("session_options", [](const PySession& self) { return PySessionOptions(self.options()); });
  for (const char* name : {"create_ortvalue_from_shape_and_onnx_type", "_create_value"})
    session.def(name, &CreateValue, nb::arg("shape"), nb::arg("element_type"), nb::arg("device"));
  session.def("release_captured_graph", &ReleaseCapturedGraph, nb::arg("graph_annotation_id") = 0,
              "Forgets what a provider has recorded of runs with this number.");
  session.def("is_webgpu_graph_capture_enabled", [](const PySession&) { return false; });
  session.def("webgpu_context_id", [](const PySession&) { return -1; });
  BindMetadata(module);
  BindReports(session);
  BindSessionDevices(session);
}

}  // namespace tessera::python
