#include "runtime/profile/profiler.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "graph/graph.h"
#include "tessera/printable.h"

namespace tessera {
namespace {

int64_t ThreadNumber() {
  static std::atomic<int64_t> next{1};
  thread_local const int64_t number = next.fetch_add(1);
  return number;
}

constexpr int64_t kDeviceRow = 0;                // beside the threads, which are numbered from 1
constexpr size_t kMostEvents = size_t{1} << 20;  // a forgotten profile does not fill the memory

std::string DescribeInputs(const KernelContext& context) {
  std::string text;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    if (!text.empty()) text += ", ";
    text += Profiler::Describe(context.input_value(i));
  }
  return text;
}

}  // namespace

std::string Profiler::Describe(const Value* value) {
  if (value == nullptr) return "-";
  const Tensor* tensor = value->tensor_if();
  if (tensor == nullptr) return value->type().ToString();
  return fmt::format("{}{}", ElementTypeName(tensor->type()), tensor->shape().ToString());
}

Profiler::Profiler(const std::filesystem::path& prefix) {
  static std::atomic<int> counter{0};
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  path_ = prefix;
  path_ += fmt::format("_{:%Y-%m-%d_%H-%M-%S}_{}_{}.json", fmt::gmtime(now), getpid(), counter.fetch_add(1));
  file_.open(path_);
  if (!file_) {
    Fail(ErrorCode::kInvalidArgument, "the profile cannot be written to {}: make its folder or change profile_prefix",
         path_.string());
  }
}

Profiler::~Profiler() {
  try {
    Finish();
  } catch (...) {  // nobody is left to hear it
  }
}

double Profiler::Microseconds(Clock::time_point time) const {
  return std::chrono::duration<double, std::micro>(time - origin_).count();
}

void Profiler::Add(Event event) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  if (events_.size() < kMostEvents) {
    events_.push_back(std::move(event));
  } else {
    ++dropped_;
  }
}

void Profiler::AddSpan(std::string_view name, std::string_view category, Clock::time_point start, Clock::time_point end) {
  Add({std::string(name),
       std::string(category),
       {},
       {},
       {},
       {},
       Microseconds(start),
       Microseconds(end) - Microseconds(start),
       ThreadNumber()});
}

void Profiler::AddNode(const Node& node, const GraphViewer& graph, std::string_view provider, const KernelContext& context,
                       std::string outputs, Clock::time_point start, Clock::time_point end) {
  Add({node.Label(&graph), "Node", node.op_type, std::string(provider), DescribeInputs(context), std::move(outputs),
       Microseconds(start), Microseconds(end) - Microseconds(start), ThreadNumber(), 0, ModelNodesOf(node, graph.graph())});
}

std::string_view Profiler::ModelNodesOf(const Node& node, const Graph& graph) const {
  if (node.index == kNone) {  // a fused node is in no graph
    const auto fused = names_.of_fused.find(node.name);
    return fused == names_.of_fused.end() ? std::string_view() : fused->second;
  }
  const int32_t origin = graph.origin(node.index).index;
  const bool known = origin != kNone && static_cast<size_t>(origin) < names_.of_origin.size();
  return known ? names_.of_origin[static_cast<size_t>(origin)] : std::string_view();
}

void Profiler::AddCommand(std::string_view name, std::string_view device, int64_t queued, int64_t start, int64_t end) {
  const auto at = [&](int64_t nanoseconds) {
    return Microseconds(
        Clock::time_point(std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(nanoseconds))));
  };
  Add({std::string(name),
       "Device",
       {},
       std::string(device),
       {},
       {},
       at(start),
       at(end) - at(start),
       kDeviceRow,
       at(start) - at(queued)});
}

std::filesystem::path Profiler::Finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return path_;
  finished_ = true;
  if (generation_ != ForkGeneration())
    Fail(ErrorCode::kFail, "the profile is written by the process that this one was forked from");
  recording_.store(false, std::memory_order_relaxed);
  if (dropped_ > 0) {
    events_.push_back({fmt::format("{} later events are left out", dropped_),
                       "Session",
                       {},
                       {},
                       {},
                       {},
                       events_.back().start_us,
                       0,
                       ThreadNumber()});
  }
  file_ << "[\n";
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    nlohmann::ordered_json json = {{"cat", event.category},   {"name", event.name},  {"ph", "X"},
                                   {"pid", getpid()},         {"tid", event.thread}, {"ts", event.start_us},
                                   {"dur", event.duration_us}};
    json["args"] = nlohmann::ordered_json::object();
    if (event.category == "Node") {
      json["args"] = {
          {"op_type", event.op_type}, {"provider", event.provider}, {"inputs", event.inputs}, {"outputs", event.outputs}};
      if (!event.model_nodes.empty()) json["args"]["model_nodes"] = event.model_nodes;
    }
    if (event.category == "Device") json["args"] = {{"device", event.provider}, {"waited_us", event.waited_us}};
    file_ << PrintableJson(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))
          << (i + 1 < events_.size() ? ",\n" : "\n");
  }
  file_ << "]\n";
  file_.close();
  events_.clear();
  if (!file_) Fail(ErrorCode::kFail, "the profile cannot be written to {}: is the disk full?", path_.string());
  return path_;
}

}  // namespace tessera
