#pragma once

// From a model to a session that runs: load, canonicalize, early claims, optimize, assign, lower, plan.

#include <memory>
#include <optional>
#include <utility>

#include "optimizer/optimizer.h"
#include "partition/partition.h"
#include "session/provider_selection.h"
#include "session/session_state.h"

namespace tessera {

class ContextCache;
struct Tuning;

/// Makes what a session runs, and holds what only that needs.
class SessionBuilder {
 public:
  using Origin = Session::State::Origin;
  using LoadFunction = Session::State::LoadFunction;

  /// As Session::State::Load. All of it outlives the builder, and the session what is built, too.
  SessionBuilder(const Session::State& session, const Origin& origin, const LoadFunction& load, Trial* trial)
      : session_(session), origin_(origin), load_(load), trial_(trial) {
    resources_.profiler = session.profiler.get();
  }

  /// Once. Throws Error.
  std::unique_ptr<const LoadedModel> Build();

 private:
  // session_builder.cpp
  void StartLimits();
  /// Limits that follow the model's size hear of that much of it.
  void AllowFor(size_t model_bytes);
  std::unique_ptr<ContextCache> MakeContext() const;
  void WriteOptimizedModel() const;
  bool LoadFromContext(ContextCache& cache);
  Tuning ChooseTuning() const;
  void LeaveOut(const LeftOutProviders& names);
  /// Of the providers that take part now.
  const OperatorDefinitions& CollectDefinitions();
  LoadOptions OptionsOfLoad();
  void LoadAndOptimize();
  void Canonicalize();
  void Optimize();
  OptimizerOptions OptionsOfOptimizer() const;
  void Describe();
  /// The providers hear that the session is complete, and it keeps which of them hear of its runs.
  void TellProviders();

  // start.cpp
  void StartResources();
  void MakeThreads();
  void Attach(ExecutionProvider& provider) const;
  void AddHostMemory(const ProviderOptions& cpu);
  /// The provider and its memory, or, when that throws, neither.
  void StartProvider(ActiveProvider active);

  // make_plan.cpp
  PartitionOptions OptionsOfPartition(FailedKernels& failed) const;
  void AssignAndLower(FailedKernels& failed);
  void MakePlan();
  /// Null where kernels could not be made, which `failed` then says of more nodes than before.
  std::unique_ptr<Plan> TryPlan(FailedKernels& failed);
  void ChooseThreads();

  const Session::State& session_;
  const SessionOptions& options_ = session_.options;
  const SessionConfig& config_ = session_.config;
  const Logger& log_ = session_.log;
  std::unique_ptr<LoadedModel> loaded_ = std::make_unique<LoadedModel>();
  LoadedModel& made_ = *loaded_;
  Model& model_ = made_;
  SessionResources& resources_ = made_.resources;
  const Origin& origin_;
  const LoadFunction& load_;
  Trial* const trial_;                    // the session is made to be timed; else null
  PlacementReport started_;               // the providers alone: which take part, and why others do not
  std::optional<Assignment> assignment_;  // where there are several providers
};

}  // namespace tessera
