#include "runtime/profiler.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace tessera {
namespace {

int64_t ThreadNumber() {
  static std::atomic<int64_t> next{1};
  thread_local const int64_t number = next.fetch_add(1);
  return number;
}

std::string DescribeInputs(const KernelContext& context) {
  std::string text;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    const Value* value = context.input_value(i);
    if (!text.empty()) text += ", ";
    if (value == nullptr) {
      text += "-";
    } else if (const Tensor* tensor = value->tensor_if(); tensor != nullptr) {
      text += fmt::format("{}{}", ElementTypeName(tensor->type()), tensor->shape().ToString());
    } else {
      text += value->type().ToString();
    }
  }
  return text;
}

}  // namespace

Profiler::Profiler(const std::filesystem::path& prefix) {
  static std::atomic<int> counter{0};
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  path_ = prefix;
  path_ += fmt::format("_{:%Y-%m-%d_%H-%M-%S}_{}_{}.json", fmt::gmtime(now), getpid(), counter.fetch_add(1));
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
  if (!finished_) events_.push_back(std::move(event));
}

void Profiler::AddSpan(std::string_view name, std::string_view category, Clock::time_point start, Clock::time_point end) {
  Add({std::string(name), std::string(category), {}, {}, {}, Microseconds(start), Microseconds(end) - Microseconds(start),
       ThreadNumber()});
}

void Profiler::AddNode(const Node& node, const GraphViewer& graph, std::string_view provider, const KernelContext& context,
                       Clock::time_point start, Clock::time_point end) {
  Add({node.Label(&graph), "Node", node.op_type, std::string(provider), DescribeInputs(context), Microseconds(start),
       Microseconds(end) - Microseconds(start), ThreadNumber()});
}

std::filesystem::path Profiler::Finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return path_;
  finished_ = true;
  std::ofstream file(path_);
  file << "[\n";
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    nlohmann::ordered_json json = {{"cat", event.category}, {"name", event.name}, {"ph", "X"},
                                   {"pid", getpid()},       {"tid", event.thread}, {"ts", event.start_us},
                                   {"dur", event.duration_us}};
    json["args"] = nlohmann::ordered_json::object();
    if (event.category == "Node") {
      json["args"] = {{"op_type", event.op_type}, {"provider", event.provider}, {"inputs", event.inputs}};
    }
    file << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << (i + 1 < events_.size() ? ",\n" : "\n");
  }
  file << "]\n";
  file.close();
  events_.clear();
  if (!file) Fail(ErrorCode::kFail, "the profile cannot be written to {}", path_.string());
  return path_;
}

}  // namespace tessera
