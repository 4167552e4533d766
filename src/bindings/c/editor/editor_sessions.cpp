// Sessions of made models, and of loaded ones that are changed first.

#include <cstring>
#include <utility>

#include "bindings/c/editor/unfinished_session.h"
#include "bindings/c/entry.h"
#include "bindings/c/model_editor.h"
#include "bindings/c/session.h"

namespace tessera::c_abi {
namespace {

/// A copy, unless something keeps the client's bytes: they may be gone before the session is finished.
SharedBytes BytesToKeep(const void* data, size_t size, const OrtSessionOptions& options) {
  const auto* bytes = static_cast<const std::byte*>(data);
  if (options.model_owner != nullptr) return {{bytes, size}, options.model_owner};
  const std::shared_ptr<std::byte[]> copy = std::make_unique_for_overwrite<std::byte[]>(size);
  std::memcpy(copy.get(), bytes, size);
  return {{copy.get(), size}, copy};
}

/// A session whose model is made by what `open` says of the options.
template <class Open>
OrtStatusPtr MakeUnfinished(const OrtEnv* env, const OrtSessionOptions* options, OrtSession** out,
                            const Open& open) noexcept {
  return Guarded([&] {
    Given(env, "the environment");
    Given(out, "out");
    static const OrtSessionOptions plain;
    const OrtSessionOptions& given = options == nullptr ? plain : Given(options, "the session options");
    auto session = std::make_unique<OrtSession>();
    session->unfinished = std::make_unique<UnfinishedSession>(UnfinishedSession{env, given, open(given)});
    *out = session.release();
  });
}

Session LoadBuilt(const BuiltModel& model, const SessionOptions& options, const Environment& environment) {
  SessionOptions with_weights = options;
  with_weights.external_files.insert(model.files.begin(), model.files.end());
  return {std::as_bytes(std::span(*model.bytes)), with_weights, environment, model.owner};
}

/// Nothing for a domain that the session's model does not import.
std::optional<int64_t> OpsetOf(const OrtSession& session, const std::string& domain) {
  if (session.unfinished != nullptr) return session.unfinished->model.Opset(domain);
  const auto& opsets = session.loaded().metadata().opsets;
  auto found = opsets.find(domain);
  if (found == opsets.end() && domain.empty()) found = opsets.find("ai.onnx");
  return found == opsets.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

OrtStatusPtr CreateSessionFromModel(const OrtEnv* env, const OrtModel* model, const OrtSessionOptions* options,
                                    OrtSession** out) noexcept {
  return Guarded([&] {
    const BuiltModel built = Build(Given(model, "the model"));
    Given(out, "out");
    auto session = std::make_unique<OrtSession>();
    session->weights = built.owner;
    Load(*session, env, options, {},
         [&](const SessionOptions& core, const Environment& environment) { return LoadBuilt(built, core, environment); });
    *out = session.release();
  });
}

OrtStatusPtr CreateModelEditorSession(const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
                                      OrtSession** out) noexcept {
  return MakeUnfinished(env, options, out,
                        [&](const OrtSessionOptions&) { return EditedModel(&Given(model_path, "the path")); });
}

OrtStatusPtr CreateModelEditorSessionFromArray(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                               const OrtSessionOptions* options, OrtSession** out) noexcept {
  return MakeUnfinished(env, options, out, [&](const OrtSessionOptions& given) {
    Require(model_data != nullptr && model_data_length > 0, "the model is {} bytes at {}; give its bytes",
            model_data_length, model_data);
    return EditedModel(BytesToKeep(model_data, model_data_length, given), ExternalFolder(&given));
  });
}

OrtStatusPtr SessionGetOpsetForDomain(const OrtSession* session, const char* domain, int* opset) noexcept {
  return Guarded([&] {
    const OrtSession& given = Given(session, "the session");
    const std::string name = &Given(domain, "the domain");
    const std::optional<int64_t> version = OpsetOf(given, name);
    if (!version) Fail(ErrorCode::kFail, "the model does not import domain '{}'", name);
    Given(opset, "out") = static_cast<int>(*version);
  });
}

OrtStatusPtr ApplyModelToModelEditorSession(OrtSession* session, OrtModel* model) noexcept {
  return Guarded([&] {
    const OrtSession& given = Given(session, "the session");
    const OrtModel& changes = Given(model, "the model");
    if (given.unfinished == nullptr)
      Fail(ErrorCode::kModelLoaded, "the session has loaded its model, which cannot be changed any more");
    given.unfinished->model.Apply(changes);
  });
}

// Of the options, ONNX Runtime takes those that the session was created with; clients give the same here.
OrtStatusPtr FinalizeModelEditorSession(OrtSession* session, const OrtSessionOptions* options,
                                        OrtPrepackedWeightsContainer* /*prepacked_weights_container*/) noexcept {
  return Guarded([&] {
    OrtSession& given = Given(session, "the session");
    if (options != nullptr) Given(options, "the session options");
    if (given.unfinished == nullptr) return;
    const UnfinishedSession& parts = *given.unfinished;
    given.weights = parts.model.owner();
    Load(given, parts.env, options == nullptr ? &parts.options : options, parts.model.file(),
         [&](const SessionOptions& core, const Environment& environment) { return parts.model.Load(core, environment); });
    given.unfinished.reset();
  });
}

}  // namespace tessera::c_abi
