#include "provider.h"

#include <vector>

#include "claims.h"
#include "compiled_group.h"
#include "factory.h"

namespace teaching {
namespace {

constexpr const char* kOptionPrefix = "ep.teachingexecutionprovider.";  // "ep.", and the provider's name in small letters
constexpr const char* kLogRuns = "ep.dynamic.teaching.log_runs";

Provider* Of(OrtEp* ep) { return static_cast<Provider*>(ep); }

}  // namespace

Provider::Provider(const Api& api, const OrtSessionOptions& options, const OrtLogger& logger)
    : OrtEp{},
      api_(api),
      logger_(logger),
      compiles_(Chosen(options, "compile")),
      has_kernels_(Chosen(options, "kernels")),
      registry_(api) {
  ort_version_supported = kApiVersion;

  GetName = [](const OrtEp*) { return kProviderName; };

  // For each graph of the model, nested ones first.
  GetCapability = [](OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* support) noexcept {
    return Of(ep)->api_.Guarded([&] { Of(ep)->Claim(*graph, *support); });
  };

  // Once for all groups of a graph that were claimed with AddNodesToFuse and that the runtime agreed to.
  Compile = [](OrtEp* ep, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count, OrtNodeComputeInfo** infos,
               OrtNode** /*ep_context_nodes*/) noexcept {
    return Of(ep)->api_.Guarded([&] { Of(ep)->CompileGroups(graphs, fused_nodes, count, infos); });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
    for (size_t i = 0; i < count; ++i) delete static_cast<CompiledGroup*>(infos[i]);
  };

  // Where the runtime looks for the kernel of a node that was claimed with AddSingleNode.
  GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** registry) noexcept -> OrtStatus* {
    *registry = Of(ep)->has_kernels_ ? Of(ep)->registry_.get() : nullptr;
    return nullptr;
  };

  // Several threads may run a session at once: nothing of what a run writes is shared here. Where that cannot be said, the
  // runtime lets one run in after another.
  IsConcurrentRunSupported = [](OrtEp*, bool* supported) noexcept -> OrtStatus* {
    *supported = true;
    return nullptr;
  };

  // Around each run of the session: a place to wake a device, or to look at the run's options.
  OnRunStart = [](OrtEp* ep, const OrtRunOptions* options) noexcept {
    return Of(ep)->api_.Guarded([&] {
      const uint64_t run = ++Of(ep)->runs_;
      if (!Of(ep)->log_runs_) return;
      const char* tag = "";
      Of(ep)->api_.Check(Of(ep)->api_->RunOptionsGetRunTag(options, &tag));
      Of(ep)->Log("run " + std::to_string(run) + " starts: " + (tag == nullptr ? "" : tag));
    });
  };
  OnRunEnd = [](OrtEp* ep, const OrtRunOptions*, bool /*sync_stream*/) noexcept {
    return Of(ep)->api_.Guarded([&] {
      if (Of(ep)->log_runs_) Of(ep)->Log("a run ends");
    });
  };

  // Options that a session changes while it lives. Keys that are not ours may be another provider's: they are let be.
  SetDynamicOptions = [](OrtEp* ep, const char* const* keys, const char* const* values, size_t count) noexcept {
    return Of(ep)->api_.Guarded([&] {
      for (size_t i = 0; i < count; ++i) Of(ep)->SetOption(keys[i], values[i]);
    });
  };
}

/// Whether an option says "all", as by default, and not "none". Provider options arrive as entries of the session's
/// configuration.
bool Provider::Chosen(const OrtSessionOptions& options, const std::string& option) const {
  const std::string key = kOptionPrefix + option;
  int given = 0;
  api_.Check(api_->HasSessionConfigEntry(&options, key.c_str(), &given));
  if (given == 0) return true;
  size_t size = 0;  // with the zero at the end; asked first, so that the text has room
  api_.Check(api_->GetSessionConfigEntry(&options, key.c_str(), nullptr, &size));
  std::string value(size, '\0');
  api_.Check(api_->GetSessionConfigEntry(&options, key.c_str(), value.data(), &size));
  value.resize(size - 1);
  if (value != "all" && value != "none") {
    throw Error(ORT_INVALID_ARGUMENT,
                std::string(kProviderName) + ": option '" + option + "' is '" + value + "', and can be all or none");
  }
  return value == "all";
}

void Provider::Claim(const OrtGraph& graph, OrtEpGraphSupportInfo& support) {
  const Claims claims = ClaimsOf(api_, graph, support, has_kernels_, compiles_);
  for (const OrtNode* node : claims.single) api_.Check(api_.ep()->EpGraphSupportInfo_AddSingleNode(&support, node));

  OrtNodeFusionOptions options = {};
  options.ort_version_supported = kApiVersion;
  options.drop_constant_initializers = true;  // they go into what we compile, so no run has to hand them over
  for (const std::vector<const OrtNode*>& group : claims.groups)
    api_.Check(api_.ep()->EpGraphSupportInfo_AddNodesToFuse(&support, group.data(), group.size(), &options));
}

/// The graphs can be looked at during this call only; what is needed later is copied or compiled.
void Provider::CompileGroups(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                             OrtNodeComputeInfo** infos) {
  // When one fails, all have failed: those that are there already are let go by `made`, and the runtime gets none.
  std::vector<std::unique_ptr<CompiledGroup>> made;
  for (size_t i = 0; i < count; ++i) made.push_back(std::make_unique<CompiledGroup>(api_, *graphs[i], *fused_nodes[i]));
  for (size_t i = 0; i < count; ++i) infos[i] = made[i].release();
}

void Provider::SetOption(const std::string& key, const std::string& value) {
  if (key != kLogRuns) return;
  if (value != "0" && value != "1") throw Error(ORT_INVALID_ARGUMENT, key + " is '" + value + "', and can be 0 or 1");
  log_runs_ = value == "1";
}

void Provider::Log(const std::string& text) const {
  api_.Check(api_->Logger_LogMessage(&logger_, ORT_LOGGING_LEVEL_WARNING, text.c_str(), ORT_TSTR("provider.cpp"), __LINE__,
                                     "TeachingExecutionProvider"));
}

}  // namespace teaching
