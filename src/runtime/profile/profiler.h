#pragma once

// Chrome trace events of load and runs (chrome://tracing, https://ui.perfetto.dev).

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/seeded_hash.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/graph.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// Texts that name the model's nodes in a profile.
struct ModelNodeNames {
  std::vector<std::string> of_origin;  // by NodeOrigin::index: the node and those that went into it
  StringMap<std::string> of_fused;     // by the name of a fused node
};

class Profiler final : public DeviceTrace {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws Error when the file cannot be made.
  explicit Profiler(const std::filesystem::path& prefix);
  ~Profiler() override;

  /// False once the trace is written: nothing is measured any more.
  bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }
  /// The zero of the trace's times.
  Clock::time_point origin() const noexcept { return origin_; }

  /// A phase of loading, or a whole run.
  void AddSpan(std::string_view name, std::string_view category, Clock::time_point start, Clock::time_point end);
  /// A kernel's Compute. `outputs`: null for what is omitted.
  void AddNode(const Node& node, const GraphViewer& graph, std::string_view provider, const KernelContext& context,
               std::span<const Value* const> outputs, std::string implementation, Clock::time_point start,
               Clock::time_point end);

  /// Before anything runs.
  void NameModelNodes(ModelNodeNames names) { names_ = std::move(names); }

  void AddCommand(std::string_view name, std::string_view device, int64_t queued, int64_t start, int64_t end) override;

  /// Before anything runs. Null: nothing.
  void AddProvider(std::string_view name, std::unique_ptr<ProviderProfiler> provider);
  /// A kernel's Compute: the providers' part in it ends with the object.
  class NodeScope;

  /// "float[2,3]", or "-" for what is omitted.
  static std::string Describe(const Value* value);

  /// Writes the trace and stops; the path of the file. Later calls return it again.
  std::filesystem::path Finish();

 private:
  struct Event {
    std::string name, category, op_type, provider, inputs, outputs;
    double start_us, duration_us;
    int64_t thread;
    double waited_us = 0;               // of a device's command, from when it was enqueued
    std::string_view model_nodes = {};  // among names_
    std::string kernel = {};
    size_t bytes = 0;                                                 // of inputs and outputs, constants included
    double flops = 0;                                                 // 0: not known, or none
    std::vector<std::pair<std::string, std::string>> arguments = {};  // of providers' own
  };
  void AddEventsOfProviders();
  void Add(Event event);
  int64_t RowOfThread();
  int64_t RowOfDevice(std::string_view device);
  void WriteRowNames();
  double Microseconds(Clock::time_point time) const;
  std::string_view ModelNodesOf(const Node& node, const Graph& graph) const;

  ModelNodeNames names_;
  const Clock::time_point origin_ = Clock::now();
  std::filesystem::path path_;
  std::ofstream file_;
  std::mutex mutex_;
  std::vector<Event> events_;
  std::map<int64_t, std::string> threads_;               // names by row
  std::map<std::string, int64_t, std::less<>> devices_;  // rows by name
  std::vector<std::pair<std::string, std::unique_ptr<ProviderProfiler>>> providers_;
  size_t dropped_ = 0;
  bool finished_ = false;
  std::atomic<bool> recording_{true};
  const uint32_t generation_ = ForkGeneration();
};

class Profiler::NodeScope {
 public:
  explicit NodeScope(const Profiler& profiler);
  ~NodeScope();
  NodeScope(const NodeScope&) = delete;
  NodeScope& operator=(const NodeScope&) = delete;

  /// What the providers are told at the end.
  void Describe(const Node& node, std::string_view provider);

 private:
  const Profiler& profiler_;
  const uint64_t number_;
  ProfileEvent event_;
};

/// Measures a scope; null profiler, or one that has finished: nothing.
class ProfileScope {
 public:
  ProfileScope(Profiler* profiler, std::string_view name, std::string_view category)
      : profiler_(profiler != nullptr && profiler->recording() ? profiler : nullptr), name_(name), category_(category) {
    if (profiler_ != nullptr) start_ = Profiler::Clock::now();
  }
  ~ProfileScope() {
    if (profiler_ != nullptr) profiler_->AddSpan(name_, category_, start_, Profiler::Clock::now());
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profiler* const profiler_;
  const std::string_view name_;
  const std::string_view category_;
  Profiler::Clock::time_point start_;
};

}  // namespace tessera
