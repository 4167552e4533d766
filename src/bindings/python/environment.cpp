// What belongs to the process: the environment, its log, its providers, versions.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>

#include "bindings/python/interpreter.h"
#include "bindings/python/runtime.h"
#include "bindings/python/strings.h"
#include "tessera/log.h"
#include "tessera/providers/names.h"
#include "tessera/session.h"

/// The library's way to its table, under a name of its own: another ONNX Runtime may be in the process.
extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::python {
namespace {

struct EnvironmentSlot {
  std::mutex mutex;
  OrtEnv* env = nullptr;
  int severity = ORT_LOGGING_LEVEL_WARNING;
  bool own_pools = false;  // of the environment, which sessions share
  int intra_op_threads = 0, inter_op_threads = 0;
};

/// Never freed, as the environment: sessions may be released while the process ends.
EnvironmentSlot& TheSlot() {
  static EnvironmentSlot& slot = *new EnvironmentSlot;
  return slot;
}

OrtEnv* MakeEnv(const EnvironmentSlot& slot) {
  OrtEnv* env = nullptr;
  const auto level = static_cast<OrtLoggingLevel>(slot.severity);
  if (!slot.own_pools) {
    CheckCall(Api().CreateEnv(level, "Default", &env));
    return env;
  }
  OrtThreadingOptions* threads = nullptr;
  CheckCall(Api().CreateThreadingOptions(&threads));
  OrtStatus* status = Api().SetGlobalIntraOpNumThreads(threads, slot.intra_op_threads);
  if (status == nullptr) status = Api().SetGlobalInterOpNumThreads(threads, slot.inter_op_threads);
  if (status == nullptr) status = Api().CreateEnvWithGlobalThreadPools(level, "Default", threads, &env);
  Api().ReleaseThreadingOptions(threads);
  CheckCall(status);
  return env;
}

void SetSeverity(int severity) {
  if (severity < 0 || severity > 4)
    throw std::runtime_error("Invalid logging severity " + std::to_string(severity) + "; give 0 to 4");
  EnvironmentSlot& slot = TheSlot();
  const std::lock_guard lock(slot.mutex);
  slot.severity = severity;
  if (slot.env != nullptr) CheckCall(Api().UpdateEnvWithCustomLogLevel(slot.env, static_cast<OrtLoggingLevel>(severity)));
}

void SetPools(int intra_op_num_threads, int inter_op_num_threads) {
  EnvironmentSlot& slot = TheSlot();
  const std::lock_guard lock(slot.mutex);
  if (slot.env != nullptr)
    throw std::runtime_error(
        "the environment's threads are there already; set their number before the first session is made");
  slot.own_pools = true;
  slot.intra_op_threads = intra_op_num_threads;
  slot.inter_op_threads = inter_op_num_threads;
}

/// Lines of the log to a Python callable; None: to standard error, as before.
void SetSink(nb::object sink) {
  LogSink routed;
  if (!sink.is_none()) {
    if (!PyCallable_Check(sink.ptr())) throw nb::type_error("the sink is called with (level, id, message)");
    routed = [held = Held(std::move(sink))](LogLevel level, std::string_view id, std::string_view message) {
      if (!InterpreterRuns()) return;
      const Inside locked;
      try {
        held.get()(static_cast<int>(level), nb::str(id.data(), id.size()), nb::str(message.data(), message.size()));
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("tessera.set_log_sink");
      }
    };
  }
  Env();                    // it sets a sink of its own when it is made
  const Unlocked unlocked;  // the sink that is replaced may be at work, and waits for the lock
  SetLogSink(std::move(routed));
}

std::vector<std::string> AllProviders() {
  std::vector<std::string> names = available_providers();
  for (const char* compiled_in : {kOpenclProvider, kOnednnProvider, kCpuProvider}) {
    if (std::ranges::find(names, compiled_in) != names.end()) continue;
    names.insert(names.end() - 1, compiled_in);
  }
  return names;
}

}  // namespace

const OrtApi& Api() {
  static const OrtApi& api = *TesseraGetOrtApiBase()->GetApi(ORT_API_VERSION);
  return api;
}

OrtEnv& Env() {
  EnvironmentSlot& slot = TheSlot();
  const std::lock_guard lock(slot.mutex);
  if (slot.env == nullptr) slot.env = MakeEnv(slot);
  return *slot.env;
}

void BindEnvironment(nb::module_& module) {
  module.def(
      "get_version_string", [] { return TesseraGetOrtApiBase()->GetVersionString(); },
      "Release of ONNX Runtime whose interface this is.");
  module.def("get_build_info", [] { return Api().GetBuildInfoString(); }, "Name and version of the library itself.");
  module.def("tessera_version", [] { return std::string(version()); }, "Version of Tessera.");
  module.def("get_available_providers", &available_providers,
             "Names of the providers that are worth their while on this machine, best first, CPU last.");
  module.def("get_all_providers", &AllProviders, "Names of all providers that can be asked for, best first, CPU last.");
  module.def("get_device", [] { return "CPU"; }, "Kind of device that the build is for.");
  module.def(
      "set_default_logger_severity", &SetSeverity, nb::arg("severity"),
      "Level from which on sessions log that do not say it themselves: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.");
  module.def("set_default_logger_verbosity", [](int) {}, nb::arg("verbosity"), "Accepted: verbose lines are of one kind.");
  module.def("set_log_sink", &SetSink, nb::arg("sink").none(),
             "Sends the log to sink(level, id, message) instead of standard error; None restores that.");
  module.def("set_global_thread_pool_sizes", &SetPools, nb::arg("intra_op_num_threads") = 0,
             nb::arg("inter_op_num_threads") = 0,
             "Threads for sessions with use_per_session_threads = False; 0: one for each core. Before the first session.");
  module.def("set_seed", [](int64_t) {}, nb::arg("seed"), "Accepted: random operators take their seeds from the model.");
  module.def("enable_telemetry_events", [] {}, "Nothing is sent anywhere.");
  module.def("disable_telemetry_events", [] {}, "Nothing is sent anywhere.");
  module.def("has_collective_ops", [] { return false; });
  module.def(
      "register_execution_provider_library",
      [](const std::string& name, const std::string& path) {
        CheckCall(Api().RegisterExecutionProviderLibrary(&Env(), CharactersOf(name), CharactersOf(path)));
      },
      nb::arg("registration_name"), nb::arg("library_path"), nb::call_guard<Unlocked>());
  module.def(
      "unregister_execution_provider_library",
      [](const std::string& name) { CheckCall(Api().UnregisterExecutionProviderLibrary(&Env(), CharactersOf(name))); },
      nb::arg("registration_name"), nb::call_guard<Unlocked>());
  module.def(
      "session_config_schema",
      [] {
        constexpr const char* kTypes[] = {"string", "bool", "int", "bytes", "enum"};
        nb::list entries;
        for (const OptionSchema& schema : session_config_schema()) {
          nb::dict entry;
          nb::list allowed;
          for (const std::string_view value : schema.allowed) allowed.append(nb::str(value.data(), value.size()));
          entry["name"] = std::string(schema.name);
          entry["type"] = kTypes[static_cast<size_t>(schema.type)];
          entry["default"] = std::string(schema.default_value);
          entry["description"] = std::string(schema.description);
          entry["allowed"] = allowed;
          entries.append(entry);
        }
        return entries;
      },
      "Configuration entries that have an effect, as dicts of name, type, default, description and allowed values.");
}

}  // namespace tessera::python
