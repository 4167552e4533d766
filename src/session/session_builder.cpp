#include "session/session_builder.h"

#include <algorithm>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checksum.h"
#include "base/content_stamp.h"
#include "graph/check_types.h"
#include "lowering/fused_kernels.h"
#include "runtime/plan/stand_in.h"
#include "runtime/threads/float_mode.h"
#include "runtime/threads/openmp_team.h"
#include "session/compiled_model.h"
#include "session/context/context_cache.h"
#include "session/model_sizes.h"
#include "session/precision.h"
#include "session/recorded_runs.h"
#include "session/tuning.h"

namespace tessera {
namespace {

/// Where a limit of memory follows the size of the model and the inputs: what there is for small ones.
constexpr int64_t kFreeOfSize = int64_t{1} << 30;
constexpr int64_t kLoadTimesModel = 64;
constexpr size_t kMostModelBytes = size_t{1} << 48;  // no product with it overflows

}  // namespace

std::unique_ptr<const LoadedModel> SessionBuilder::Build() {
  const CallersFloatMode float_mode;
  StartLimits();
  const CancelScope stop(&resources_.limits->stop(), LoadLimits::ThrowStopped);
  {
    const ProfileScope scope(session_.profiler.get(), "start providers", "Load");
    StartResources();
  }
  const InsideLibrary inside(ForeignThreads::kOneDnn, made_.openmp_threads);
  const std::unique_ptr<ContextCache> cache = MakeContext();
  // What a context holds was rewritten for the providers: no model is written from it.
  if (cache == nullptr || !options_.optimized_model_path.empty() || !LoadFromContext(*cache)) {
    const Tuning tuning = ChooseTuning();
    LeaveOut(tuning.left_out);
    LoadAndOptimize();
    WriteOptimizedModel();
    FailedKernels none;
    AssignAndLower(none);
    SetAlgorithms(*model_.graph, trial_ != nullptr ? trial_->AlgorithmsFor(*model_.graph) : tuning.algorithms);
    if (cache != nullptr) cache->Record(model_, made_.optimization, tuning.left_out);
    resources_.packed = cache.get();
    MakePlan();
    if (cache != nullptr) {
      const ProfileScope scope(session_.profiler.get(), "write context", "Load");
      cache->Write(resources_.load_threads(), *resources_.limits);
    }
  }
  resources_.packed = nullptr;
  TellProviders();
  resources_.CheckLoad();
  resources_.limits->Finish();
  for (const std::string& warning : model_.warnings) log_(LogLevel::kWarning, "{}", warning);
  if (cache != nullptr) {
    made_.context = cache->report();
    const bool failed = !made_.context.used && !made_.context.written;
    log_(failed ? LogLevel::kWarning : LogLevel::kInfo, "context {}: {}", made_.context.path.string(),
         made_.context.detail);
  }
  Describe();
  CheckPrecisionUsed(config_.precision, made_.placement, log_);
  if (log_.enabled(LogLevel::kVerbose)) log_(LogLevel::kVerbose, "placement:\n{}", made_.placement.ToText());
  return std::move(loaded_);
}

void SessionBuilder::StartLimits() {
  Require(options_.load_timeout.count() >= 0, "SessionOptions::load_timeout is {} ms, expected 0 for no limit or more",
          options_.load_timeout.count());
  const auto budget = [](std::string_view option, int64_t limit, const std::shared_ptr<MemoryBudget>& shared) {
    return std::make_shared<MemoryBudget>(std::string(option), limit == kAutomaticLimit ? kFreeOfSize : limit, shared);
  };
  resources_.limits = std::make_shared<LoadLimits>(
      budget("session.load_memory_limit", config_.load_memory_limit, session_.environment->load_memory),
      options_.load_cancel, options_.load_timeout);
  made_.run_memory = budget("session.run_memory_limit", config_.run_memory_limit, session_.environment->run_memory);
}

void SessionBuilder::AllowFor(size_t model_bytes) {
  const auto bytes = static_cast<int64_t>(std::min(model_bytes, kMostModelBytes));
  if (config_.load_memory_limit == kAutomaticLimit) resources_.limits->budget().Extend(kLoadTimesModel * bytes);
  if (config_.run_memory_limit == kAutomaticLimit) made_.run_memory->Extend(Session::State::kRunTimesGiven * bytes);
}

void SessionBuilder::WriteOptimizedModel() const {
  if (options_.optimized_model_path.empty()) return;
  // Operators of the program's are nodes as before; what others compiled cannot be written.
  const ContextNode as_it_was;
  const auto part_of = [&](const Node& node) -> std::optional<OpaquePart> {
    const EarlyPart* part = FindEarlyPart(made_.early.parts, node);
    if (part == nullptr || !resources_.providers[static_cast<size_t>(part->provider)].of_program) return std::nullopt;
    return OpaquePart{&as_it_was, part->graph.get()};
  };
  ModelOutput output;
  output.path = options_.optimized_model_path;
  output.weights_file = config_.optimized_weights_file;
  output.least_weight = static_cast<size_t>(config_.optimized_weights_least);
  WriteModel(*model_.graph, model_.metadata, output, part_of);
}

std::unique_ptr<ContextCache> SessionBuilder::MakeContext() const {
  if (!config_.context_enable) return nullptr;
  if (!options_.initializers.empty() || !options_.external_files.empty()) {
    log_(LogLevel::kWarning, "no context is read or written: weights of the model come from the program's memory");
    return nullptr;
  }
  for (const ProviderEntry& entry : resources_.providers) {
    if (!entry.provider->ClaimsModelAsWritten()) continue;
    log_(LogLevel::kWarning, "no context is read or written: {} makes parts of the model, which no context can hold",
         entry.provider->name());
    return nullptr;
  }
  std::filesystem::path path = config_.context_file_path;
  if (path.empty()) {
    Require(!origin_.file.empty(), "a model from memory has no name to call its context by: set session.context_file_path");
    path = origin_.file.parent_path() / (origin_.file.stem().string() + "_ctx.tessera");
  }
  Require(path.extension() != ".onnx", "the context's file is '{}', and it holds no ONNX model: name it otherwise",
          path.string());
  ContextConditions conditions;
  AddBuildConditions(conditions);
  conditions.emplace_back("model", origin_.file.empty()
                                       ? fmt::format("{} bytes with checksum {:x}, folder '{}'", origin_.bytes.size(),
                                                     Checksum(origin_.bytes), origin_.folder.string())
                                       : ContentStamp(origin_.file, kSamplingOfModel));
  conditions.emplace_back("optimization level", std::to_string(static_cast<int>(options_.optimization_level)));
  conditions.emplace_back("writable", options_.optimized_model_path.empty() ? "no" : "yes");
  std::string dimensions, entries, providers;
  for (const auto& [name, size] : options_.free_dimensions) dimensions += fmt::format("{}={};", name, size);
  for (const auto& [word, size] : options_.free_dimensions_by_denotation) dimensions += fmt::format("({})={};", word, size);
  for (const auto& [name, value] : options_.config) {
    if (!IsOfContext(name)) entries += fmt::format("{}={};", name, value);
  }
  for (const ProviderEntry& entry : resources_.providers) {
    providers += fmt::format("{}(", entry.provider->name());
    for (const auto& [name, value] : entry.provider->options()) providers += fmt::format("{}={};", name, value);
    providers += ")";
  }
  conditions.emplace_back("constants", config_.context_embed ? "embedded" : "in the model's files");
  conditions.emplace_back("free dimensions", dimensions);
  conditions.emplace_back("configuration", entries);
  conditions.emplace_back("providers", providers);
  return std::make_unique<ContextCache>(path, origin_.file, std::move(conditions),
                                        config_.context_embed || !config_.map_files,
                                        config_.map_files ? nullptr : &resources_.load_memory());
}

bool SessionBuilder::LoadFromContext(ContextCache& cache) {
  const size_t providers = resources_.providers.size();
  try {
    {
      const ProfileScope scope(session_.profiler.get(), "read context", "Load");
      auto held = cache.Read(resources_.load_threads(), OptionsOfLoad(), made_.optimization);
      if (!held) return false;
      model_ = std::move(held->model);
      made_.sizes = SizesOf(*model_.graph);
      LeaveOut(held->left_out);
      model_.graph->set_definitions(&CollectDefinitions());
    }
    resources_.packed = &cache;
    MakePlan();
    return true;
  } catch (const Error& error) {
    resources_.CheckLoad();
    // The same may be wrong with the model; then it fails once more.
    cache.Reject(error.what());
    made_.executor.reset();
    resources_.ForgetDeviceConstants();  // they are told by where the model's are
    model_ = {};
    made_.optimization = {};
    if (resources_.providers.size() < providers) {  // what the context leaves out takes part again
      started_ = {};
      resources_.providers.clear();
      resources_.memories.clear();
      StartResources();
    }
    return false;
  }
}

Tuning SessionBuilder::ChooseTuning() const {
  if (trial_ != nullptr) return {.left_out = trial_->left_out(), .algorithms = {}};
  if (!config_.tuning) return {};
  const ProfileScope scope(session_.profiler.get(), "tune", "Load");
  return Tune(session_, *resources_.limits, origin_, load_);
}

void SessionBuilder::LeaveOut(const LeftOutProviders& names) {
  for (const auto& [name, why] : names) {
    std::erase_if(resources_.providers, [&](const ProviderEntry& entry) { return entry.provider->name() == name; });
    for (PlacementReport::ProviderEntry& entry : started_.providers) {
      if (entry.name == name) entry.status = why;
    }
  }
}

const OperatorDefinitions& SessionBuilder::CollectDefinitions() {
  std::vector<const ExecutionProvider*> definers;
  definers.reserve(resources_.providers.size());
  for (const ProviderEntry& entry : resources_.providers) definers.push_back(entry.provider.get());
  return resources_.definitions.emplace(std::move(definers));
}

LoadOptions SessionBuilder::OptionsOfLoad() {
  LoadOptions load_options;
  load_options.free_dimensions = options_.free_dimensions;
  load_options.free_dimensions_by_denotation = options_.free_dimensions_by_denotation;
  load_options.initializers = options_.initializers;
  load_options.ignore_unknown_initializers = config_.ignore_unknown_initializers;
  load_options.external_files = options_.external_files;
  load_options.ignore_unknown_dimensions = config_.ignore_unknown_dimensions;
  load_options.strict_attributes = config_.strict_attributes;
  load_options.copy_files = !config_.map_files;
  load_options.limits = resources_.limits;
  load_options.definitions = &CollectDefinitions();
  load_options.on_data = [this](size_t bytes) { AllowFor(bytes); };
  // The last provider: everything falls to it that others refuse or fail to make.
  load_options.keep_function = [&](const Graph& graph, const Node& node) {
    return HasKernel(graph, node, *resources_.providers.back().provider);
  };
  return load_options;
}

void SessionBuilder::LoadAndOptimize() {
  RequireRoomForCompiledModel(options_.compiled_model);
  {
    const ProfileScope scope(session_.profiler.get(), "load model", "Load");
    model_ = load_(OptionsOfLoad());
    made_.sizes = SizesOf(*model_.graph);
  }
  for (const ProviderEntry& entry : resources_.providers) entry.provider->OnModel(model_.metadata, origin_.file);
  const bool typed = TypesAreKnown(*model_.graph);
  made_.optimization = {};
  if (options_.optimization_level != OptimizationLevel::kNone) Canonicalize();
  {
    const ProfileScope scope(session_.profiler.get(), "claims of the model as written", "Load");
    FailedKernels none;
    const bool context_nodes = options_.compiled_model.wanted();
    made_.early = DrawEarlyClaims(*model_.graph, resources_, OptionsOfPartition(none), context_nodes, log_);
    WriteCompiledModel(model_, made_.early, resources_, options_.compiled_model, log_);
  }
  if (options_.optimization_level == OptimizationLevel::kNone) return;
  Optimize();
  if (!typed) CheckTypes(*model_.graph);  // where rewrites show types, their readers were not checked for them
}

void SessionBuilder::Canonicalize() {
  const ProfileScope scope(session_.profiler.get(), "canonicalize", "Load");
  Append(made_.optimization, CanonicalizeGraph(*model_.graph, resources_, OptionsOfOptimizer()));
}

void SessionBuilder::Optimize() {
  const ProfileScope scope(session_.profiler.get(), "optimize", "Load");
  OptimizerOptions optimizer = OptionsOfOptimizer();
  optimizer.writable = !options_.optimized_model_path.empty();
  Append(made_.optimization, OptimizeGraph(*model_.graph, resources_, optimizer));
}

OptimizerOptions SessionBuilder::OptionsOfOptimizer() const {
  return {.level = options_.optimization_level,
          .precision = config_.precision,
          .int8_beside_nbits = config_.nbits_accuracy_level == kInt8AccuracyLevel,
          .round_halves = config_.round_halves,
          .log = log_};
}

void SessionBuilder::TellProviders() {
  if (session_.profiler != nullptr) made_.StartProviders(*session_.profiler);
  for (const ProviderEntry& entry : resources_.providers) {
    ExecutionProvider& provider = *entry.provider;
    provider.OnLoaded();
    if (provider.WatchesRuns()) made_.watch_runs.push_back(&provider);
    if (!provider.AllowsConcurrentRuns()) made_.one_run_at_a_time = true;
    if (provider.RecordsRuns() != ExecutionProvider::Recording::kNone) {
      RequireRecordable(made_.executor->plan(), resources_, provider);
      made_.recorder = &provider;
    }
  }
}

void SessionBuilder::Describe() {
  const Graph& graph = *model_.graph;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphValue& value = graph.value(graph.inputs()[i]);
    made_.input_position[value.name] = i;
    if (value.default_value.has_value()) {
      made_.overridable.push_back({value.name, value.type});
    } else {
      made_.inputs.push_back({value.name, value.type});
      made_.required.push_back(i);
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphValue& value = graph.value(graph.outputs()[i]);
    made_.output_position[value.name] = i;
    made_.outputs.push_back({value.name, value.type});
    made_.all_outputs.push_back(i);
  }
}

}  // namespace tessera
