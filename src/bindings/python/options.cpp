#include "bindings/python/options.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings/python/arrays.h"
#include "bindings/python/device.h"
#include "bindings/python/strings.h"

namespace tessera::python {
namespace {

using Owned = std::unique_ptr<OrtSessionOptions, void (*)(OrtSessionOptions*)>;
using Options = Locked<PySessionOptions>;

Owned NewOptions() {
  OrtSessionOptions* made = nullptr;
  CheckCall(Api().CreateSessionOptions(&made));
  return {made, Api().ReleaseSessionOptions};
}

Owned CopyOf(const OrtSessionOptions& options) {
  OrtSessionOptions* made = nullptr;
  CheckCall(Api().CloneSessionOptions(&options, &made));
  return {made, Api().ReleaseSessionOptions};
}

std::string ConfigEntry(const PySessionOptions& self, const std::string& key) {
  const auto found = self.options->config.find(key);
  if (found == self.options->config.end())
    throw std::runtime_error("SessionOptions does not have configuration with key: " + key);
  return found->second;
}

void AddProvider(PySessionOptions& self, const std::string& name, const std::map<std::string, std::string>& options) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(CharactersOf(key));
    values.push_back(CharactersOf(value));
  }
  Check(Api().SessionOptionsAppendExecutionProvider(self.options.get(), CharactersOf(name), keys.data(), values.data(),
                                                    keys.size()));
}

void AddDevices(PySessionOptions& self, const nb::list& devices, const std::map<std::string, std::string>& options) {
  std::vector<const OrtEpDevice*> given;
  for (const nb::handle device : devices)
    given.push_back(reinterpret_cast<const OrtEpDevice*>(nb::cast<uintptr_t>(device.attr("_address"))));
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(CharactersOf(key));
    values.push_back(CharactersOf(value));
  }
  Check(Api().SessionOptionsAppendExecutionProvider_V2(self.options.get(), &Env(), given.data(), given.size(), keys.data(),
                                                       values.data(), keys.size()));
}

void RegisterLibrary(PySessionOptions& self, const std::string& path) {
  Check(Api().RegisterCustomOpsLibrary_V2(self.options.get(), CharactersOf(path)));
  self.custom_op_libraries.push_back(path);
}

void AddInitializer(PySessionOptions& self, const std::string& name, nb::handle value) {
  const Value* given = ValueIn(value);
  HeldValue held(given == nullptr ? Take(value, {}) : *given);
  // The C ABI takes tensors over memory that the client keeps: these options do, and the sessions made with them.
  Tensor& tensor = held.value.tensor();
  const OrtValue view(Value(Tensor::View(tensor.type(), tensor.shape(), tensor.mutable_raw(), tensor.memory())));
  self.initializers.reserve(self.initializers.size() + 1);
  Check(Api().AddInitializer(self.options.get(), CharactersOf(name), &view));
  self.initializers.emplace_back(name, std::move(held));
}

void AddExternal(PySessionOptions& self, const std::vector<std::string>& names, const nb::list& values) {
  if (names.size() != values.size()) throw nb::value_error("there must be as many names as values");
  std::vector<const char*> keys;
  std::vector<const OrtValue*> given;
  const size_t before = self.initializers.size();
  for (size_t i = 0; i < names.size(); ++i) {
    const Value* inside = ValueIn(values[i]);
    self.initializers.emplace_back(names[i], HeldValue(inside == nullptr ? Take(values[i], {}) : *inside));
    keys.push_back(CharactersOf(names[i]));
  }
  for (size_t i = before; i < self.initializers.size(); ++i) given.push_back(&self.initializers[i].second.value);
  Check(Api().AddExternalInitializers(self.options.get(), keys.data(), given.data(), given.size()));
}

void AddFiles(PySessionOptions& self, const std::vector<std::string>& names, const nb::sequence& buffers,
              const std::vector<size_t>& lengths) {
  if (names.size() != nb::len(buffers) || names.size() != lengths.size())
    throw nb::value_error("there must be as many names as buffers and lengths");
  std::vector<std::shared_ptr<Py_buffer>> held;
  std::vector<const char*> keys;
  std::vector<char*> bytes;
  for (size_t i = 0; i < names.size(); ++i) {
    held.push_back(BufferOf(buffers[i]));
    if (lengths[i] > static_cast<size_t>(held.back()->len))
      throw nb::value_error(("the buffer of '" + names[i] + "' is shorter than its length").c_str());
    held.back()->len = static_cast<Py_ssize_t>(lengths[i]);  // what there is of the file
    keys.push_back(CharactersOf(names[i]));
    bytes.push_back(static_cast<char*>(held.back()->buf));
  }
  Check(Api().AddExternalInitializersFromFilesInMemory(self.options.get(), keys.data(), bytes.data(), lengths.data(),
                                                       names.size()));
  for (size_t i = 0; i < names.size(); ++i) self.files.emplace_back(names[i], held[i]);
}

void SetContextSource(PySessionOptions& self, nb::object function, size_t most) {
  if (function.is_none()) throw std::runtime_error("there is no function: clear_ep_context_data_read_func() forgets one");
  if (PyCallable_Check(function.ptr()) == 0) throw nb::type_error("expected a function");
  if (most == 0 || most == std::numeric_limits<size_t>::max())
    throw std::runtime_error("the most bytes that the function may give are " + std::to_string(most));
  self.context_source = {std::make_shared<const Held>(std::move(function)), most};
}

nb::object ContextSourceOf(const PySessionOptions& self) {
  const auto& [function, most] = self.context_source;
  return function == nullptr ? nb::none() : nb::object(nb::make_tuple(function->get(), most));
}

void BindThreads(Options& options) {
  options.def_prop_rw(
      "intra_op_num_threads", [](const PySessionOptions& self) { return self.options->intra_op_threads; },
      [](PySessionOptions& self, int count) { CheckCall(Api().SetIntraOpNumThreads(self.options.get(), count)); },
      "Threads within an operator, the caller's included; 0: one for each core.");
  options.def_prop_rw(
      "inter_op_num_threads", [](const PySessionOptions& self) { return self.options->inter_op_threads; },
      [](PySessionOptions& self, int count) { CheckCall(Api().SetInterOpNumThreads(self.options.get(), count)); },
      "Threads between operators, at ORT_PARALLEL; 0: one for each core.");
  options.def_prop_rw(
      "use_per_session_threads", [](const PySessionOptions& self) { return self.options->per_session_threads; },
      [](PySessionOptions& self, nb::handle own) { self.options->per_session_threads = Truth(own); },
      nb::for_setter(nb::arg("value").none()), "False: the threads of set_global_thread_pool_sizes.");
  options.def_prop_rw(
      "execution_mode",
      [](const PySessionOptions& self) { return static_cast<::ExecutionMode>(self.options->core.execution_mode); },
      [](PySessionOptions& self, ::ExecutionMode mode) {
        CheckCall(Api().SetSessionExecutionMode(self.options.get(), mode));
      },
      nb::for_setter(nb::arg("value").noconvert()), "Whether operators that do not depend on each other run at once.");
  options.def_rw("execution_order", &PySessionOptions::execution_order, "Accepted without effect: the order is Tessera's.");
  options.def_rw("use_deterministic_compute", &PySessionOptions::deterministic,
                 "Accepted: results have the same bits from run to run in any case.");
}

void BindMemory(Options& options) {
  options.def_prop_rw(
      "enable_cpu_mem_arena", [](const PySessionOptions& self) { return self.options->core.enable_arena; },
      [](PySessionOptions& self, nb::handle on) { self.options->core.enable_arena = Truth(on); },
      nb::for_setter(nb::arg("value").none()), "Keeps memory for the next run.");
  options.def_prop_rw(
      "enable_mem_pattern", [](const PySessionOptions& self) { return self.options->core.enable_memory_pattern; },
      [](PySessionOptions& self, nb::handle on) { self.options->core.enable_memory_pattern = Truth(on); },
      nb::for_setter(nb::arg("value").none()), "Plans what lies between operators as one block.");
  options.def_rw("enable_mem_reuse", &PySessionOptions::memory_reuse, "Accepted without effect: memory is reused.");
}

void BindLog(Options& options) {
  options.def_prop_rw(
      "logid", [](const PySessionOptions& self) { return self.options->core.log_id; },
      [](PySessionOptions& self, const std::string& id) { self.options->core.log_id = id; }, "Who writes, in the log.");
  options.def_prop_rw(
      "log_severity_level", [](const PySessionOptions& self) { return self.options->log_severity; },
      [](PySessionOptions& self, int level) { self.options->log_severity = level; },
      "Level from which on the session logs; -1: that of set_default_logger_severity.");
  options.def_rw("log_verbosity_level", &PySessionOptions::verbosity, "Accepted: verbose lines are of one kind.");
  options.def_prop_rw(
      "enable_profiling", [](const PySessionOptions& self) { return self.profiling; },
      [](PySessionOptions& self, nb::handle on) { self.profiling = Truth(on); }, nb::for_setter(nb::arg("value").none()),
      "Writes a trace of the load and the runs.");
  options.def_rw("profile_file_prefix", &PySessionOptions::profile_prefix, "The trace's path begins so; the time follows.");
}

void BindModel(Options& options) {
  options.def_prop_rw(
      "optimized_model_filepath",
      [](const PySessionOptions& self) { return self.options->core.optimized_model_path.string(); },
      [](PySessionOptions& self, const std::string& path) { self.options->core.optimized_model_path = path; },
      "Where the optimized model is written; empty: nowhere.");
  options.def_prop_rw(
      "graph_optimization_level",
      [](const PySessionOptions& self) {
        return static_cast<::GraphOptimizationLevel>(self.options->core.optimization_level);
      },
      [](PySessionOptions& self, ::GraphOptimizationLevel level) {
        CheckCall(Api().SetSessionGraphOptimizationLevel(self.options.get(), level));
      },
      nb::for_setter(nb::arg("value").noconvert()), "How much is done to the graph before it runs.");
  options.def(
      "add_free_dimension_override_by_name",
      [](PySessionOptions& self, const std::string& name, int64_t value) {
        CheckCall(Api().AddFreeDimensionOverrideByName(self.options.get(), CharactersOf(name), value));
      },
      nb::arg("name"), nb::arg("value"), "Fixes a dimension by its name in the model.");
  options.def(
      "add_free_dimension_override_by_denotation",
      [](PySessionOptions& self, const std::string& denotation, int64_t value) {
        CheckCall(Api().AddFreeDimensionOverride(self.options.get(), CharactersOf(denotation), value));
      },
      nb::arg("denotation"), nb::arg("value"), "Fixes dimensions by what they stand for.");
  options.def(
      "add_session_config_entry",
      [](PySessionOptions& self, const std::string& key, const std::string& value) {
        CheckCall(Api().AddSessionConfigEntry(self.options.get(), CharactersOf(key), CharactersOf(value)));
      },
      nb::arg("key"), nb::arg("value"), "Sets an entry; session_config_schema() lists those with an effect.");
  options.def("get_session_config_entry", &ConfigEntry, nb::arg("key"),
              "The value of an entry; RuntimeError where it was not set.");
  options.def("register_custom_ops_library", &RegisterLibrary, nb::arg("path"),
              "Operators from a library with RegisterCustomOps.");
  options.def("add_initializer", &AddInitializer, nb::arg("name"), nb::arg("value"), "A weight in place of the model's.");
  options.def("add_external_initializers", &AddExternal, nb::arg("names"), nb::arg("values"),
              "Weights that the model has outside of its file.");
  options.def("add_external_initializers_from_files_in_memory", &AddFiles, nb::arg("names"), nb::arg("buffers"),
              nb::arg("lengths"), "Files of such weights, by the names that the model has for them.");
  options.def(
      "set_load_cancellation_flag",
      [](PySessionOptions& self, bool cancel) {
        CheckCall(Api().SessionOptionsSetLoadCancellationFlag(self.options.get(), cancel));
      },
      nb::arg("cancel"), "Ends loads with these options, from any thread.");
}

void BindProviders(Options& options) {
  options.def("add_provider", &AddProvider, nb::arg("provider_name"), nb::arg("provider_options"),
              "Appends a provider, best first.");
  options.def("add_provider_for_devices", &AddDevices, nb::arg("ep_devices"), nb::arg("provider_options"),
              "Appends the provider of devices that get_ep_devices() lists.");
  options.def(
      "set_provider_selection_policy",
      [](PySessionOptions& self, OrtExecutionProviderDevicePolicy policy) {
        CheckCall(Api().SessionOptionsSetEpSelectionPolicy(self.options.get(), policy));
      },
      nb::arg("policy"), "How providers are chosen where none is named.");
  options.def(
      "set_provider_selection_policy_delegate", &SetSelectionDelegate, nb::arg("delegate").none(),
      "A function (devices, model_metadata, runtime_metadata, most) that returns those to take, where no provider is "
      "named. The metadata are empty: it is asked before the model is read.");
  options.def("_selection_delegate", &SelectionDelegate);
  options.def(
      "set_ep_context_data_read_func", &SetContextSource, nb::arg("read_func").none(), nb::arg("max_data_size"),
      "A function (name, buffer) that has what a provider stored outside of a model: it calls buffer.allocate(size), "
      "size being max_data_size at the most, and buffer.write(data, offset), on any thread.");
  options.def(
      "clear_ep_context_data_read_func", [](PySessionOptions& self) { self.context_source = {}; },
      "Providers read the files beside the model again.");
  options.def(
      "has_providers",
      [](const PySessionOptions& self) {
        return !self.options->core.providers.empty() || self.selection_delegate != nullptr ||
               self.options->policy != OrtExecutionProviderDevicePolicy_DEFAULT;
      },
      "True where it was said how providers are chosen.");
}

/// What a copy in another process is made from.
nb::dict StateOf(const PySessionOptions& self) {
  nb::dict config, dimensions, denotations;
  for (const auto& [key, value] : self.options->config) config[nb::str(key.c_str(), key.size())] = value;
  for (const auto& [name, value] : self.options->core.free_dimensions)
    dimensions[nb::str(name.c_str(), name.size())] = value;
  for (const auto& [name, value] : self.options->core.free_dimensions_by_denotation)
    denotations[nb::str(name.c_str(), name.size())] = value;
  nb::list providers, initializers;
  for (const ProviderRequest& request : self.options->core.providers) {
    nb::dict given;
    for (const auto& [key, value] : request.options) given[nb::str(key.c_str(), key.size())] = value;
    providers.append(nb::make_tuple(request.name, given));
  }
  for (const auto& [name, held] : self.initializers) initializers.append(nb::make_tuple(name, ToPython(held.value)));
  nb::list files;
  for (const auto& [name, file] : self.files)
    files.append(nb::make_tuple(name, nb::bytes(file->buf, static_cast<size_t>(file->len))));
  nb::dict state;
  state["config"] = config;
  state["dimensions"] = dimensions;
  state["denotations"] = denotations;
  state["providers"] = providers;
  state["initializers"] = initializers;
  state["files"] = files;
  state["custom_op_libraries"] = self.custom_op_libraries;
  state["selection_delegate"] = SelectionDelegate(self);
  state["context_source"] = ContextSourceOf(self);
  return state;
}

void BindSessionOptions(nb::module_& module) {
  Options options(module, "SessionOptions", "How a session is made.", nb::type_slots(Collected<PySessionOptions>::kSlots));
  options.def(nb::init<>());
  options.def("_copy", [](const PySessionOptions& self) { return PySessionOptions(self); });
  options.def("_state", &StateOf);
  BindThreads(options);
  BindMemory(options);
  BindLog(options);
  BindModel(options);
  BindProviders(options);
}

/// A file of tensors that runs lay over the model's.
class Adapter {
 public:
  void Load(const std::string& path) {
    OrtLoraAdapter* made = nullptr;
    Check(Api().CreateLoraAdapter(CharactersOf(path), nullptr, &made));
    adapter_ = std::shared_ptr<OrtLoraAdapter>(made, Api().ReleaseLoraAdapter);
  }
  const OrtLoraAdapter* get() const noexcept { return adapter_.get(); }
  std::shared_ptr<const void> share() const noexcept { return adapter_; }

 private:
  std::shared_ptr<OrtLoraAdapter> adapter_;
};

void BindAdapter(nb::module_& module) {
  nb::class_<Adapter> adapter(module, "LoraAdapter", "A file of tensors that runs lay over the model's.");
  adapter.def(nb::init<>());
  adapter.def("Load", &Adapter::Load, nb::arg("path"), "Reads the file.");
}

void BindRunOptions(nb::module_& module) {
  Locked<PyRunOptions> run(module, "RunOptions", "How a run, or several, are done.");
  run.def(nb::init<>());
  run.def_prop_rw(
      "log_severity_level", [](const PyRunOptions& self) { return self.options.log_severity; },
      [](PyRunOptions& self, int level) { CheckCall(Api().RunOptionsSetRunLogSeverityLevel(&self.options, level)); });
  run.def_prop_rw(
      "log_verbosity_level", [](const PyRunOptions& self) { return self.options.log_verbosity; },
      [](PyRunOptions& self, int level) { self.options.log_verbosity = level; });
  run.def_prop_rw(
      "logid", [](const PyRunOptions& self) { return self.options.core.tag; },
      [](PyRunOptions& self, const std::string& tag) { self.options.core.tag = tag; }, "Names the run in the log.");
  run.def_prop_rw(
      "terminate", [](const PyRunOptions& self) { return self.options.core.cancelled(); },
      [](PyRunOptions& self, nb::handle stop) {
        Truth(stop) ? self.options.core.Cancel() : self.options.core.ResetCancel();
      },
      "True ends runs with these options, also those under way.");
  run.def_rw("only_execute_path_to_fetches", &PyRunOptions::only_path_to_outputs,
             "Accepted: what no output needs never runs.");
  run.def(
      "add_active_adapter",
      [](PyRunOptions& self, const Adapter& adapter) {
        CheckCall(Api().RunOptionsAddActiveLoraAdapter(&self.options, adapter.get()));
        self.adapters.push_back(adapter.share());
      },
      nb::arg("adapter"), "Lays an adapter's tensors over the model's for the run.");
  run.def(
      "add_run_config_entry",
      [](PyRunOptions& self, const std::string& key, const std::string& value) {
        CheckCall(Api().AddRunConfigEntry(&self.options, CharactersOf(key), CharactersOf(value)));
      },
      nb::arg("key"), nb::arg("value"));
  run.def(
      "get_run_config_entry",
      [](const PyRunOptions& self, const std::string& key) {
        const char* value = Api().GetRunConfigEntry(&self.options, CharactersOf(key));
        if (value == nullptr) throw std::runtime_error("RunOptions does not have configuration with key: " + key);
        return std::string(value);
      },
      nb::arg("key"));
}

}  // namespace

bool Truth(nb::handle value) {
  const PyNumberMethods* number = Py_TYPE(value.ptr())->tp_as_number;
  if (number == nullptr || number->nb_bool == nullptr) throw nb::type_error("expected True or False");
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth != 0;
}

PySessionOptions::PySessionOptions() : options(NewOptions()) {}

PySessionOptions::PySessionOptions(const PySessionOptions& other)
    : options(CopyOf(*other.options)),
      profiling(other.profiling),
      profile_prefix(other.profile_prefix),
      verbosity(other.verbosity),
      memory_reuse(other.memory_reuse),
      deterministic(other.deterministic),
      execution_order(other.execution_order),
      custom_op_libraries(other.custom_op_libraries),
      context_source{HeldAgain(other.context_source.function), other.context_source.most},
      initializers(other.initializers),
      files(other.files) {
  if (other.selection_delegate != nullptr) SetSelectionDelegate(*this, nb::borrow(other.selection_delegate->get()));
}

int PySessionOptions::Visit(visitproc visit, void* arg) const {
  const int shown = Show(selection_delegate, visit, arg);
  return shown != 0 ? shown : Show(context_source.function, visit, arg);
}

void PySessionOptions::Forget() {
  context_source = {};
  if (selection_delegate != nullptr) SetSelectionDelegate(*this, nb::none());
}

Owned PySessionOptions::ForSession() const {
  Owned copy = CopyOf(*options);
  copy->cancel = options->cancel;
  if (profiling) CheckCall(Api().EnableProfiling(copy.get(), CharactersOf(profile_prefix)));
  return copy;
}

const OrtRunOptions* OptionsIn(nb::handle run_options) {
  if (!run_options.is_valid() || run_options.is_none()) return nullptr;
  const PyRunOptions* options = nullptr;
  if (!nb::try_cast(run_options, options, false)) throw nb::type_error("the options of a run are RunOptions, or None");
  return &options->options;
}

void BindOptions(nb::module_& module) {
  BindSessionOptions(module);
  BindAdapter(module);
  BindRunOptions(module);
}

}  // namespace tessera::python
