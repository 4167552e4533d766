#include "plugin/source.h"

#include "base/ascii.h"
#include "base/check.h"
#include "bindings/c/context_keys.h"
#include "bindings/c/entry.h"
#include "bindings/c/session_options.h"
#include "plugin/call.h"
#include "plugin/ep.h"
#include "plugin/plugin_provider.h"
#include "plugin/session_view.h"

namespace tessera::plugin {
namespace {

/// A model to be written of what the library compiles, in the entries by which ONNX Runtime's clients ask for it.
void ShowCompiledModel(const CompiledModelOptions& model, OrtSessionOptions& shown) {
  if (!model.wanted() || shown.config.contains(c_abi::kWriteCompiled)) return;  // a client of the C ABI asks so itself
  shown.config.insert_or_assign(c_abi::kWriteCompiled, "1");
  shown.config.insert_or_assign(c_abi::kCompiledPath, model.path.string());
  shown.config.insert_or_assign(c_abi::kEmbedCompiled, model.embed ? "1" : "0");
}

/// What a client of the C ABI gives for what the library stores outside of models.
void ShowContextData(const SessionOptions& session, OrtSessionOptions& shown) {
  if (session.made_of == nullptr) return;
  const auto& given = *static_cast<const OrtSessionOptions*>(session.made_of);
  shown.source_model = given.source_model;
  shown.context_functions = given.context_functions;
}

/// The session's options as the library reads them: its own under the provider's name, and those that stand for options of
/// Tessera's as entries, too.
OrtSessionOptions OptionsFor(const std::vector<const OrtEpDevice*>& devices, const ProviderOptions& options,
                             const SessionOptions& session) {
  OrtSessionOptions shown;
  shown.core = session;
  shown.config = ConfigEntriesOf(session);
  shown.intra_op_threads = session.intra_op_threads;
  shown.inter_op_threads = session.inter_op_threads;
  shown.per_session_threads = !session.use_global_threads;
  c_abi::FillMirrors(shown);
  ShowCompiledModel(session.compiled_model, shown);
  ShowContextData(session, shown);
  const std::string prefix = fmt::format("ep.{}.", AsciiLower(devices.front()->provider));
  for (const auto& [key, value] : options) shown.config.insert_or_assign(prefix + key, value);
  for (const OrtEpDevice* device : devices) {
    for (const auto& [key, value] : device->options.entries) shown.config.try_emplace(prefix + key, value);
  }
  return shown;
}

}  // namespace

Source::Source(const std::shared_ptr<Library>& library, std::vector<const OrtEpDevice*> devices)
    : library_(library), devices_(std::move(devices)), name_(devices_.front()->provider), library_name_(library->name()) {
  factory_.name = name_;
  factory_.cli_name = factory_.name;
  factory_.device = c_abi::TypeOf(devices_.front()->device->type);
}

std::unique_ptr<ExecutionProvider> Source::Create(const ProviderOptions& options, const SessionOptions& session) {
  std::shared_ptr<Library> library = library_.lock();
  Require(library != nullptr, "library '{}' was unregistered", library_name_);
  const OrtSessionOptions shown = OptionsFor(devices_, options, session);
  auto logger = std::make_unique<OrtLogger>(LoggerOf(session, library_name_));
  std::vector<const OrtHardwareDevice*> hardware;
  std::vector<const OrtKeyValuePairs*> metadata;
  for (const OrtEpDevice* device : devices_) {
    hardware.push_back(device->device);
    metadata.push_back(&device->metadata);
  }
  OrtEpFactory& factory = *devices_.front()->factory;
  OrtEp* made = nullptr;
  try {
    c_abi::ThrowIfFailed(
        Call(factory.CreateEp, &factory, hardware.data(), metadata.data(), hardware.size(), &shown, logger.get(), &made));
  } catch (...) {
    if (made != nullptr) Quietly([&] { factory.ReleaseEp(&factory, made); });
    throw;
  }
  Require(made != nullptr, "the library made no provider");
  return std::make_unique<PluginProvider>(
      std::make_shared<Ep>(std::move(library), factory, *made, devices_, std::move(logger), shown),
      session.error_on_failure);
}

}  // namespace tessera::plugin
