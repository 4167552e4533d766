#include <algorithm>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checksum.h"
#include "base/mapped_file.h"
#include "graph/infer_types.h"
#include "optimizer/analysis/fused_kernels.h"
#include "runtime/plan/stand_in.h"
#include "runtime/threads/float_mode.h"
#include "runtime/threads/openmp_team.h"
#include "session/context/context_cache.h"
#include "session/model_sizes.h"
#include "session/precision.h"
#include "session/provider_selection.h"
#include "session/session_state.h"
#include "session/tuning.h"

namespace tessera {
namespace {

/// Where a limit of memory follows the size of the model and the inputs: what there is for small ones.
constexpr int64_t kFreeOfSize = int64_t{1} << 30;
constexpr int64_t kLoadTimesModel = 64;
constexpr size_t kMostModelBytes = size_t{1} << 48;  // no product with it overflows

/// Says that a session's own number of threads is not what it runs on.
void WarnOfOwnThreads(std::string_view option, int own, int global, const Logger& log) {
  const int shared = global > 0 ? global : UsableCores();
  if (own == 0 || own == shared) return;
  log(LogLevel::kWarning,
      "{} is {}, but the session shares its environment's threads, which are {} (global_{}): that holds", option, own,
      shared, option);
}

}  // namespace

Session::State::~State() = default;

Session::State::State(const SessionOptions& session_options, std::shared_ptr<Environment::State> session_environment)
    : environment(std::move(session_environment)), options(session_options), config(ParseConfig(session_options)) {
  const EnvironmentOptions& defaults = environment->options;
  log = Logger(options.log_id.empty() ? defaults.log_id : options.log_id, options.log_level.value_or(defaults.log_level));
  Require(options.intra_op_threads >= 0 && options.inter_op_threads >= 0,
          "thread counts are {} and {}, expected 0 (one a core) or a number", options.intra_op_threads,
          options.inter_op_threads);
  Require(options.arena.limit >= 0, "the arena's limit is {}, expected 0 (none) or a number of bytes", options.arena.limit);
  if (options.use_global_threads) {
    WarnOfOwnThreads("intra_op_threads", options.intra_op_threads, defaults.global_intra_op_threads, log);
    if (options.execution_mode == ExecutionMode::kParallel) {
      WarnOfOwnThreads("inter_op_threads", options.inter_op_threads, defaults.global_inter_op_threads, log);
    }
  }
  if (!options.profile_prefix.empty()) profiler = std::make_unique<Profiler>(options.profile_prefix);
  resources.profiler = profiler.get();
  config.precision = UsablePrecision(config.precision, "session.precision", log);
  for (const std::string& name : config.without_effect)
    log(LogLevel::kWarning, "session configuration entry '{}' has no effect here", name);
}

void Session::State::StartLimits() {
  const auto budget = [](std::string_view option, int64_t limit, const std::shared_ptr<MemoryBudget>& shared) {
    return std::make_shared<MemoryBudget>(std::string(option), limit == kAutomaticLimit ? kFreeOfSize : limit, shared);
  };
  resources.limits =
      std::make_shared<LoadLimits>(budget("session.load_memory_limit", config.load_memory_limit, environment->load_memory),
                                   options.load_cancel, options.load_timeout);
  run_memory = budget("session.run_memory_limit", config.run_memory_limit, environment->run_memory);
}

void Session::State::AllowFor(size_t model_bytes) {
  const auto bytes = static_cast<int64_t>(std::min(model_bytes, kMostModelBytes));
  if (config.load_memory_limit == kAutomaticLimit) resources.limits->budget().Extend(kLoadTimesModel * bytes);
  if (config.run_memory_limit == kAutomaticLimit) run_memory->Extend(kRunTimesGiven * bytes);
}

void Session::State::Load(const Origin& origin, const LoadFunction& load) {
  RunOffForkedThread([&] { LoadHere(origin, load); });
}

void Session::State::LoadHere(const Origin& origin, const LoadFunction& load) {
  const CallersFloatMode float_mode;
  StartLimits();
  const CancelScope stop(&resources.limits->stop(), LoadLimits::ThrowStopped);
  {
    const ProfileScope scope(profiler.get(), "start providers", "Load");
    StartResources();
  }
  const InsideLibrary inside(ForeignThreads::kOneDnn, openmp_threads);
  const std::unique_ptr<ContextCache> cache = MakeContext(origin);
  // What a context holds was rewritten for the providers: no model is written from it.
  if (cache == nullptr || !options.optimized_model_path.empty() || !LoadFromContext(*cache)) {
    const Tuning tuning = ChooseTuning(origin, load);
    LeaveOut(tuning.left_out);
    LoadAndOptimize(load);
    WriteOptimizedModel();
    FailedKernels none;
    AssignAndLower(none);
    SetAlgorithms(*model.graph, trial != nullptr ? trial->AlgorithmsFor(*model.graph) : tuning.algorithms);
    if (cache != nullptr) cache->Record(model, optimization, tuning.left_out);
    resources.packed = cache.get();
    MakePlan();
    if (cache != nullptr) {
      const ProfileScope scope(profiler.get(), "write context", "Load");
      cache->Write(resources.load_threads(), *resources.limits);
    }
  }
  resources.packed = nullptr;
  resources.CheckLoad();
  resources.limits->Finish();
  for (const std::string& warning : model.warnings) log(LogLevel::kWarning, "{}", warning);
  if (cache != nullptr) {
    context = cache->report();
    const bool failed = !context.used && !context.written;
    log(failed ? LogLevel::kWarning : LogLevel::kInfo, "context {}: {}", context.path.string(), context.detail);
  }
  Describe();
  CheckPrecisionUsed(config.precision, placement, log);
  if (log.enabled(LogLevel::kVerbose)) log(LogLevel::kVerbose, "placement:\n{}", placement.ToText());
}

void Session::State::WriteOptimizedModel() const {
  if (options.optimized_model_path.empty()) return;
  WriteModel(*model.graph, model.metadata, options.optimized_model_path,
             {.name = config.optimized_weights_file, .least = static_cast<size_t>(config.optimized_weights_least)});
}

std::unique_ptr<ContextCache> Session::State::MakeContext(const Origin& origin) const {
  if (!config.context_enable) return nullptr;
  if (!options.initializers.empty() || !options.external_files.empty()) {
    log(LogLevel::kWarning, "no context is read or written: weights of the model come from the program's memory");
    return nullptr;
  }
  for (const ProviderEntry& entry : resources.providers) {
    if (!entry.provider->ClaimsModelAsWritten()) continue;
    log(LogLevel::kWarning, "no context is read or written: {} compiles parts of the model, which only it can store",
        entry.provider->name());
    return nullptr;
  }
  std::filesystem::path path = config.context_file_path;
  if (path.empty()) {
    Require(!origin.file.empty(), "a model from memory has no name to call its context by: set ep.context_file_path");
    path = origin.file.parent_path() / (origin.file.stem().string() + "_ctx.tessera");
  }
  ContextConditions conditions;
  AddBuildConditions(conditions);
  conditions.emplace_back("model", origin.file.empty()
                                       ? fmt::format("{} bytes with checksum {:x}, folder '{}'", origin.bytes.size(),
                                                     Checksum(origin.bytes), origin.folder.string())
                                       : FileStamp(origin.file));
  conditions.emplace_back("optimization level", std::to_string(static_cast<int>(options.optimization_level)));
  conditions.emplace_back("writable", options.optimized_model_path.empty() ? "no" : "yes");
  std::string dimensions, entries, providers;
  for (const auto& [name, size] : options.free_dimensions) dimensions += fmt::format("{}={};", name, size);
  for (const auto& [word, size] : options.free_dimensions_by_denotation) dimensions += fmt::format("({})={};", word, size);
  for (const auto& [name, value] : options.config) {
    if (!name.starts_with("ep.context")) entries += fmt::format("{}={};", name, value);
  }
  for (const ProviderEntry& entry : resources.providers) {
    providers += fmt::format("{}(", entry.provider->name());
    for (const auto& [name, value] : entry.provider->options()) providers += fmt::format("{}={};", name, value);
    providers += ")";
  }
  conditions.emplace_back("constants", config.context_embed ? "embedded" : "in the model's files");
  conditions.emplace_back("free dimensions", dimensions);
  conditions.emplace_back("configuration", entries);
  conditions.emplace_back("providers", providers);
  return std::make_unique<ContextCache>(path, origin.file, std::move(conditions), config.context_embed || !config.map_files,
                                        config.map_files ? nullptr : &resources.load_memory());
}

bool Session::State::LoadFromContext(ContextCache& cache) {
  const PlacementReport before = placement;
  const size_t providers = resources.providers.size();
  try {
    {
      const ProfileScope scope(profiler.get(), "read context", "Load");
      std::error_code error;
      const uintmax_t copied = config.map_files ? 0 : std::filesystem::file_size(cache.path(), error);
      if (!error) AllowFor(copied);
      auto held = cache.Read(resources.load_threads(), OptionsOfLoad(), optimization);
      if (!held) return false;
      model = std::move(held->model);
      sizes = SizesOf(*model.graph);
      LeaveOut(held->left_out);
    }
    resources.packed = &cache;
    MakePlan();
    return true;
  } catch (const Error& error) {
    resources.CheckLoad();
    // The same may be wrong with the model; then it fails once more.
    cache.Reject(error.what());
    executor.reset();
    resources.ForgetDeviceConstants();  // they are told by where the model's are
    model = {};
    optimization = {};
    placement = before;
    if (resources.providers.size() < providers) {  // what the context leaves out takes part again
      placement = {};
      resources.providers.clear();
      resources.memories.clear();
      StartResources();
    }
    return false;
  }
}

Tuning Session::State::ChooseTuning(const Origin& origin, const LoadFunction& load) const {
  if (trial != nullptr) return {.left_out = trial->left_out(), .algorithms = {}};
  if (!config.tuning) return {};
  const ProfileScope scope(profiler.get(), "tune", "Load");
  return Tune(*this, origin, load);
}

void Session::State::LeaveOut(const LeftOutProviders& names) {
  for (const auto& [name, why] : names) {
    std::erase_if(resources.providers, [&](const ProviderEntry& entry) { return entry.provider->name() == name; });
    for (PlacementReport::ProviderEntry& entry : placement.providers) {
      if (entry.name == name) entry.status = why;
    }
  }
}

LoadOptions Session::State::OptionsOfLoad() {
  LoadOptions load_options;
  load_options.free_dimensions = options.free_dimensions;
  load_options.free_dimensions_by_denotation = options.free_dimensions_by_denotation;
  load_options.initializers = options.initializers;
  load_options.ignore_unknown_initializers = config.ignore_unknown_initializers;
  load_options.external_files = options.external_files;
  load_options.ignore_unknown_dimensions = config.ignore_unknown_dimensions;
  load_options.strict_attributes = config.strict_attributes;
  load_options.copy_files = !config.map_files;
  load_options.limits = resources.limits;
  load_options.on_data = [this](size_t bytes) { AllowFor(bytes); };
  // The last provider: everything falls to it that others refuse or fail to make.
  load_options.keep_function = [&](const Graph& graph, const Node& node) {
    return HasKernel(graph, node, *resources.providers.back().provider);
  };
  return load_options;
}

void Session::State::LoadAndOptimize(const LoadFunction& load) {
  {
    const ProfileScope scope(profiler.get(), "load model", "Load");
    model = load(OptionsOfLoad());
    sizes = SizesOf(*model.graph);
  }
  const bool typed = TypesAreKnown(*model.graph);
  optimization = {};
  if (options.optimization_level != OptimizationLevel::kNone) Canonicalize();
  {
    const ProfileScope scope(profiler.get(), "claims of the model as written", "Load");
    FailedKernels none;
    early = DrawEarlyClaims(*model.graph, resources, OptionsOfPartition(none), log);
  }
  if (options.optimization_level == OptimizationLevel::kNone) return;
  Optimize();
  if (!typed) CheckTypes(*model.graph);  // where rewrites show types, their readers were not checked for them
}

void Session::State::Canonicalize() {
  const ProfileScope scope(profiler.get(), "canonicalize", "Load");
  Append(optimization, CanonicalizeGraph(*model.graph, resources, OptionsOfOptimizer()));
}

void Session::State::Optimize() {
  const ProfileScope scope(profiler.get(), "optimize", "Load");
  OptimizerOptions optimizer = OptionsOfOptimizer();
  optimizer.writable = !options.optimized_model_path.empty();
  Append(optimization, OptimizeGraph(*model.graph, resources, optimizer));
}

OptimizerOptions Session::State::OptionsOfOptimizer() const {
  return {.level = options.optimization_level,
          .precision = config.precision,
          .int8_beside_nbits = config.nbits_accuracy_level == kInt8AccuracyLevel,
          .round_halves = config.round_halves,
          .log = log};
}

std::shared_ptr<Session::State> Session::State::Make(const SessionOptions& session_options,
                                                     std::shared_ptr<Environment::State> session_environment) {
  const CallersFloatMode float_mode;
  return {new State(session_options, std::move(session_environment)), [](State* state) {
            const CallersFloatMode float_mode;  // drivers of devices compute where they let go, too
            if (!state->LostAtFork()) delete state;
          }};
}

/// What another thread was running when this process was forked never ends here, and drivers of devices do not survive that
/// at all.
bool Session::State::LostAtFork() const noexcept {
  if (generation_.load(std::memory_order_acquire) == ForkGeneration()) return false;
  return executor == nullptr || executor->leased() > 0 || resources.has_streams;
}

void Session::State::ComeFromParent() {
  const std::lock_guard lock(coming_from_parent_);
  if (generation_.load(std::memory_order_acquire) == ForkGeneration()) return;
  constexpr std::string_view kRemedy = "make a session in this process, or fork before the session is made";
  if (resources.has_streams) {
    Fail(ErrorCode::kEpFail,
         "the session computes on a device ({}), whose driver does not work in a process that was forked since; {}",
         resources.memories.back().info.name, kRemedy);
  }
  if (openmp_threads && LostInFork(ForeignThreads::kOneDnn)) {
    Fail(ErrorCode::kEpFail, "another thread was in oneDNN when this process was forked, whose locks it holds for ever; {}",
         "start a process of its own (exec)");
  }
  if (LostAtFork()) Fail(ErrorCode::kFail, "another thread ran the session when this process was forked; {}", kRemedy);
  generation_.store(ForkGeneration(), std::memory_order_release);
}

void Session::State::Describe() {
  const Graph& graph = *model.graph;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphValue& value = graph.value(graph.inputs()[i]);
    input_position[value.name] = i;
    if (value.default_value.has_value()) {
      overridable.push_back({value.name, value.type});
    } else {
      inputs.push_back({value.name, value.type});
      required.push_back(i);
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphValue& value = graph.value(graph.outputs()[i]);
    output_position[value.name] = i;
    outputs.push_back({value.name, value.type});
    all_outputs.push_back(i);
  }
}

}  // namespace tessera
