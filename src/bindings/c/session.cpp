// Sessions: made from files and bytes, and what they say of their models.

#include "bindings/c/session.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "bindings/c/allocator.h"
#include "bindings/c/assigned_nodes.h"
#include "bindings/c/async_runs.h"
#include "bindings/c/devices.h"
#include "bindings/c/editor/unfinished_session.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "bindings/c/session_options.h"
#include "bindings/c/type_info.h"
#include "session/recorded_runs.h"
#include "session/session_state.h"

/// Nothing of it is needed: sessions of a process share packed weights whether they have one or not.
struct OrtPrepackedWeightsContainer {
  tessera::c_abi::Mark<OrtPrepackedWeightsContainer> mark;
};

namespace tessera::c_abi {
namespace {

const Session& Loaded(const OrtSession* session) { return Given(session, "the session").loaded(); }

/// What a session says of its model, also while that is edited.
template <class Answer>
decltype(auto) OfModel(const OrtSession* session, const Answer& answer) {
  const OrtSession& given = Given(session, "the session");
  return given.unfinished != nullptr ? answer(given.unfinished->model) : answer(given.loaded());
}
const std::vector<NamedType>& InputsOf(const OrtSession* session) {
  return OfModel(session, [](const auto& model) -> auto& { return model.inputs(); });
}
const std::vector<NamedType>& OutputsOf(const OrtSession* session) {
  return OfModel(session, [](const auto& model) -> auto& { return model.outputs(); });
}
const std::vector<NamedType>& OverridableOf(const OrtSession* session) {
  return OfModel(session, [](const auto& model) -> auto& { return model.overridable_initializers(); });
}

void Make(const OrtEnv* env, const OrtSessionOptions* options, const std::filesystem::path& model, OrtSession** out,
          const LoadSession& load) {
  Given(out, "out");
  auto session = std::make_unique<OrtSession>();
  Load(*session, env, options, model, load);
  *out = session.release();
}

void RefuseFolder(const std::filesystem::path& path) {
  std::error_code error;
  Require(!is_directory(path, error), "'{}' is a folder; a package of models is opened by CreateModelPackageContext",
          path.string());
}

/// Of a file whose external data lies in another folder than its own.
Session SessionWithWeights(const std::filesystem::path& model, const std::filesystem::path& weights,
                           const SessionOptions& core, const Environment& environment) {
  const MappedFile file = MapFile(model);
  const auto maps = core.config.find("session.map_files");
  const bool copies = maps != core.config.end() && maps->second == "0";
  try {
    return Session(file.bytes, core, environment, copies ? nullptr : file.owner, weights);
  } catch (const Error& error) {
    throw error.At(model.string());
  }
}

/// Where what reads the input wants it: the host where several memories do.
const MemoryInfo& MemoryOfInput(const Session& session, size_t input) {
  const LoadedModel& model = *session.state()->model;
  return model.resources.memories[static_cast<size_t>(model.MemoryOfInput(model.required[input]))].info;
}

std::string DenotationOf(const OrtSession& session, const std::string& value) {
  if (session.unfinished != nullptr) return session.unfinished->model.Denotation(value);
  const auto& denotations = session.loaded().state()->model->denotations;
  const auto found = denotations.find(value);
  return found == denotations.end() ? std::string() : found->second;
}

/// The type of an input or output, with what the model says that it stands for.
OrtTypeInfo* InfoOfValue(const OrtSession* session, const NamedType& value) {
  std::unique_ptr<OrtTypeInfo> info = InfoOf(value.type);
  info->denotation = DenotationOf(*session, value.name);
  return info.release();
}

const NamedType& At(const std::vector<NamedType>& all, size_t index, std::string_view what) {
  if (index >= all.size()) Fail(ErrorCode::kFail, "the model has {} {}, number {} is asked for", all.size(), what, index);
  return all[index];
}

}  // namespace

void FailUnfinished() {
  Fail(ErrorCode::kFail, "the session's model is edited: finish it by FinalizeModelEditorSession first");
}

void Load(OrtSession& session, const OrtEnv* env, const OrtSessionOptions* options, const std::filesystem::path& model,
          const LoadSession& load) {
  OrtEnv& environment = const_cast<OrtEnv&>(Given(env, "the environment"));  // there is one, which the client may change
  static const OrtSessionOptions plain;
  OrtSessionOptions given = options == nullptr ? plain : Given(options, "the session options");
  ChooseDevices(given, environment);
  std::vector<LogLine> notes;
  SessionOptions core = OptionsFor(given, environment, notes);
  TakeCompiledModel(given, model, core);
  std::unique_ptr<SessionLog> log;
  if (given.log.function != nullptr) {
    log = std::make_unique<SessionLog>(given.log, core.log_id);
    core.log_id = log->id();
  }
  Session loaded = load(core, environment.environment);
  for (const LogLine& note : notes) loaded.state()->log(note.level, "{}", note.text);
  const auto record = given.config.find("session.record_ep_graph_assignment_info");
  if (record != given.config.end() && record->second == "1")
    session.assigned = std::make_unique<AssignedNodes>(loaded.placement());
  session.log = std::move(log);
  session.session.emplace(std::move(loaded));
}

OrtStatusPtr CreateSession(const OrtEnv* env, const char* model_path, const OrtSessionOptions* options,
                           OrtSession** out) noexcept {
  return Guarded([&] {
    const std::filesystem::path path = &Given(model_path, "the path");
    RefuseFolder(path);
    Make(env, options, path, out, [&](const SessionOptions& core, const Environment& environment) {
      const std::filesystem::path weights = ExternalFolder(options);
      return weights.empty() ? Session(path, core, environment) : SessionWithWeights(path, weights, core, environment);
    });
  });
}

OrtStatusPtr CreateSessionFromArray(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                    const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guarded([&] {
    Require(model_data != nullptr && model_data_length > 0, "the model is {} bytes at {}; give its bytes",
            model_data_length, model_data);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(model_data), model_data_length);
    Make(env, options, {}, out, [&](const SessionOptions& core, const Environment& environment) {
      return Session(bytes, core, environment, options == nullptr ? nullptr : options->model_owner,
                     ExternalFolder(options));
    });
  });
}

OrtStatusPtr CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer** out) noexcept {
  return Making(out, [&] { return new OrtPrepackedWeightsContainer; });
}

void ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer* input) { Release(input); }

OrtStatusPtr CreateSessionWithPrepackedWeightsContainer(const OrtEnv* env, const char* model_path,
                                                        const OrtSessionOptions* options,
                                                        OrtPrepackedWeightsContainer* /*prepacked_weights_container*/,
                                                        OrtSession** out) noexcept {
  return CreateSession(env, model_path, options, out);
}

OrtStatusPtr CreateSessionFromArrayWithPrepackedWeightsContainer(
    const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options,
    OrtPrepackedWeightsContainer* /*prepacked_weights_container*/, OrtSession** out) noexcept {
  return CreateSessionFromArray(env, model_data, model_data_length, options, out);
}

void ReleaseSession(OrtSession* input) { Release(input); }

OrtStatusPtr SessionGetInputCount(const OrtSession* session, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = InputsOf(session).size(); });
}

OrtStatusPtr SessionGetOutputCount(const OrtSession* session, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = OutputsOf(session).size(); });
}

OrtStatusPtr SessionGetOverridableInitializerCount(const OrtSession* session, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = OverridableOf(session).size(); });
}

OrtStatusPtr SessionGetInputTypeInfo(const OrtSession* session, size_t index, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return InfoOfValue(session, At(InputsOf(session), index, "inputs")); });
}

OrtStatusPtr SessionGetOutputTypeInfo(const OrtSession* session, size_t index, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return InfoOfValue(session, At(OutputsOf(session), index, "outputs")); });
}

OrtStatusPtr SessionGetOverridableInitializerTypeInfo(const OrtSession* session, size_t index,
                                                      OrtTypeInfo** type_info) noexcept {
  return Guarded([&] {
    const NamedType& input = At(OverridableOf(session), index, "overridable initializers");
    Give(type_info, [&] { return InfoOfValue(session, input); });
  });
}

OrtStatusPtr SessionGetInputName(const OrtSession* session, size_t index, OrtAllocator* allocator, char** value) noexcept {
  return Making(value, [&] { return CopyText(At(InputsOf(session), index, "inputs").name, allocator); });
}

OrtStatusPtr SessionGetOutputName(const OrtSession* session, size_t index, OrtAllocator* allocator, char** value) noexcept {
  return Making(value, [&] { return CopyText(At(OutputsOf(session), index, "outputs").name, allocator); });
}

OrtStatusPtr SessionGetOverridableInitializerName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                                  char** value) noexcept {
  return Guarded([&] {
    const NamedType& input = At(OverridableOf(session), index, "overridable initializers");
    Give(value, [&] { return CopyText(input.name, allocator); });
  });
}

OrtStatusPtr SessionGetMemoryInfoForInputs(const OrtSession* session, const OrtMemoryInfo** inputs_memory_info,
                                           size_t num_inputs) noexcept {
  return Guarded([&] {
    const Session& loaded = Loaded(session);
    Require(num_inputs >= loaded.inputs().size(), "there is room for {} inputs, the model has {}", num_inputs,
            loaded.inputs().size());
    for (size_t i = 0; i < loaded.inputs().size(); ++i)
      (&Given(inputs_memory_info, "out"))[i] = InfoOf(MemoryOfInput(loaded, i));
  });
}

// Results that no memory was bound for lie in the processor's.
OrtStatusPtr SessionGetMemoryInfoForOutputs(const OrtSession* session, const OrtMemoryInfo** outputs_memory_info,
                                            size_t num_outputs) noexcept {
  return Guarded([&] {
    const size_t count = Loaded(session).outputs().size();
    Require(num_outputs >= count, "there is room for {} outputs, the model has {}", num_outputs, count);
    if (count > 0) std::fill_n(&Given(outputs_memory_info, "out"), count, CpuInfo());
  });
}

OrtStatusPtr SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                                         size_t num_inputs) noexcept {
  return Guarded([&] {
    const Session& loaded = Loaded(session);
    Require(num_inputs >= loaded.inputs().size(), "there is room for {} inputs, the model has {}", num_inputs,
            loaded.inputs().size());
    for (size_t i = 0; i < loaded.inputs().size(); ++i) {
      (&Given(inputs_ep_devices, "out"))[i] = DeviceOf(MemoryOfInput(loaded, i), *loaded.state()->environment);
    }
  });
}

OrtStatusPtr SessionGetEpDeviceForOutputs(const OrtSession* session, const OrtEpDevice** outputs_ep_devices,
                                          size_t num_outputs) noexcept {
  return Guarded([&] {
    const size_t count = Loaded(session).outputs().size();
    Require(num_outputs >= count, "there is room for {} outputs, the model has {}", num_outputs, count);
    if (count > 0) std::fill_n(&Given(outputs_ep_devices, "out"), count, &CpuDevice());
  });
}

OrtStatusPtr SessionEndProfiling(OrtSession* session, OrtAllocator* allocator, char** out) noexcept {
  return Guarded([&] {
    Session& loaded = Given(session, "the session").loaded();
    const bool profiles = loaded.state()->profiler != nullptr;
    Give(out, [&] { return CopyText(profiles ? loaded.EndProfiling().string() : "", allocator); });
  });
}

OrtStatusPtr SessionGetProfilingStartTimeNs(const OrtSession* session, uint64_t* out) noexcept {
  return Guarded([&] {
    const Profiler* profiler = Loaded(session).state()->profiler.get();
    const auto start = profiler == nullptr ? Profiler::Clock::duration() : profiler->origin().time_since_epoch();
    Given(out, "out") = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(start).count());
  });
}

OrtStatusPtr SetEpDynamicOptions(OrtSession* sess, const char* const* keys, const char* const* values,
                                 size_t kv_len) noexcept {
  return Guarded([&] {
    const Session& loaded = Loaded(sess);
    Require(kv_len > 0 && keys != nullptr && values != nullptr, "no options are given");
    std::vector<std::pair<std::string_view, std::string_view>> options;
    for (size_t i = 0; i < kv_len; ++i) {
      Require(keys[i] != nullptr && *keys[i] != '\0' && values[i] != nullptr, "option {} has no name or no value", i);
      options.emplace_back(keys[i], values[i]);
    }
    for (const ProviderEntry& entry : loaded.state()->model->resources.providers)
      entry.provider->SetDynamicOptions(options);
  });
}

OrtStatusPtr SessionReleaseCapturedGraph(OrtSession* session, int graph_annotation_id) noexcept {
  return Guarded([&] {
    const Session::State& state = *Loaded(session).state();
    if (state.recorded != nullptr) state.recorded->Forget(graph_annotation_id);
  });
}

}  // namespace tessera::c_abi

OrtSession::OrtSession() : async(std::make_unique<tessera::c_abi::AsyncRuns>()) {}

OrtSession::~OrtSession() = default;
