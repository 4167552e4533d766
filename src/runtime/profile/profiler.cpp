#include "runtime/profile/profiler.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "base/cpu_features.h"
#include "graph/graph.h"
#include "runtime/profile/work.h"
#include "tessera/printable.h"

namespace tessera {
namespace {

int64_t ThreadNumber() {
  static std::atomic<int64_t> next{1};
  thread_local const int64_t number = next.fetch_add(1);
  return number;
}

uint64_t NodeNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

std::string_view NameOf(ProfileEvent::Category category) {
  switch (category) {
    case ProfileEvent::Category::kSession: return "Session";
    case ProfileEvent::Category::kNode: return "ProviderNode";
    case ProfileEvent::Category::kKernel: return "Kernel";
    case ProfileEvent::Category::kApi: return "Api";
  }
  return "Kernel";
}

constexpr size_t kMostEvents = size_t{1} << 20;  // a forgotten profile does not fill the memory

const Tensor* TensorOf(const Value* value) { return value == nullptr ? nullptr : value->tensor_if(); }

std::string ToLine(const nlohmann::ordered_json& json) {
  // Names come from models and may hold any bytes.
  return PrintableJson(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// What a kernel reads and writes. Kernels that keep a form of a constant do not get it in a run: the model tells of it
/// then.
class Operands {
 public:
  Operands(const Node& node, const GraphViewer& graph, const KernelContext& context,
           std::span<const Value* const> outputs) {
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Value* value = context.input_value(i);
      const ValueIndex index = i < node.inputs.size() ? node.inputs[i] : kNone;
      const bool kept = index != kNone && (value == nullptr || value->is_none());
      Append(inputs, kept ? DescribeKept(graph.value(index).type) : Add(value, input_shapes));
    }
    for (const Value* value : outputs) Append(this->outputs, Add(value, output_shapes));
    flops = FlopsOf(node, input_shapes, output_shapes);
  }

  std::string inputs, outputs;
  size_t bytes = 0;
  double flops = 0;

 private:
  static void Append(std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; }

  std::string Add(const Value* value, std::vector<const Shape*>& shapes) {
    const Tensor* tensor = TensorOf(value);
    shapes.push_back(tensor == nullptr ? nullptr : &tensor->shape());
    if (tensor != nullptr) bytes += tensor->byte_size();
    return Profiler::Describe(value);
  }

  std::string DescribeKept(const TypeInfo& type) {
    const std::optional<Shape> shape = type.is_tensor() && type.shape ? ToShape(*type.shape) : std::nullopt;
    if (shape) bytes += ByteSize(type.element, shape->num_elements());
    input_shapes.push_back(shape ? &kept_.emplace_back(*shape) : nullptr);
    return shape ? fmt::format("{}{}", ElementTypeName(type.element), shape->ToString()) : type.ToString();
  }

  std::vector<const Shape*> input_shapes, output_shapes;
  std::deque<Shape> kept_;
};

}  // namespace

std::string Profiler::Describe(const Value* value) {
  if (value == nullptr) return "-";
  const Tensor* tensor = TensorOf(value);
  if (tensor == nullptr) return value->type().ToString();
  return fmt::format("{}{}", ElementTypeName(tensor->type()), tensor->shape().ToString());
}

Profiler::Profiler(const std::filesystem::path& prefix) {
  static std::atomic<int> counter{0};
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  Require(prefix.native().find('\0') == std::string::npos,
          "profile_prefix is '{}', expected a text without the character 0", prefix.native());
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
       RowOfThread()});
}

/// Threads have rows from 1 on, in the order in which any of them was first recorded in this process.
int64_t Profiler::RowOfThread() {
  const int64_t row = ThreadNumber();
  const std::lock_guard lock(mutex_);
  std::string& name = threads_[row];
  if (name.empty()) {
    char buffer[16] = {};
    pthread_getname_np(pthread_self(), buffer, sizeof buffer);
    name = fmt::format("{} ({})", buffer, gettid());
  }
  return row;
}

/// Devices have rows from 0 down.
int64_t Profiler::RowOfDevice(std::string_view device) {
  const std::lock_guard lock(mutex_);
  const auto known = devices_.find(device);
  if (known != devices_.end()) return known->second;
  return devices_.emplace(device, -static_cast<int64_t>(devices_.size())).first->second;
}

void Profiler::AddNode(const Node& node, const GraphViewer& graph, std::string_view provider, const KernelContext& context,
                       std::span<const Value* const> outputs, std::string implementation, Clock::time_point start,
                       Clock::time_point end) {
  Operands operands(node, graph, context, outputs);
  Add({.name = node.Label(&graph),
       .category = "Node",
       .op_type = node.op_type,
       .provider = std::string(provider),
       .inputs = std::move(operands.inputs),
       .outputs = std::move(operands.outputs),
       .start_us = Microseconds(start),
       .duration_us = Microseconds(end) - Microseconds(start),
       .thread = RowOfThread(),
       .model_nodes = ModelNodesOf(node, graph.graph()),
       .kernel = std::move(implementation),
       .bytes = operands.bytes,
       .flops = operands.flops});
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
       RowOfDevice(device),
       at(start) - at(queued)});
}

void Profiler::WriteRowNames() {
  const auto line = [](std::string_view what, int64_t row, std::string_view key, std::string_view text) {
    return ToLine({{"name", what}, {"ph", "M"}, {"pid", getpid()}, {"tid", row}, {"args", {{key, text}}}});
  };
  file_ << line("process_name", 0, "name", "tessera");
  file_ << ",\n" << line("process_labels", 0, "labels", InstructionSets());
  for (const auto& [device, row] : devices_) file_ << ",\n" << line("thread_name", row, "name", device);
  for (const auto& [row, name] : threads_) file_ << ",\n" << line("thread_name", row, "name", name);
}

void Profiler::AddProvider(std::string_view name, std::unique_ptr<ProviderProfiler> provider) {
  if (provider != nullptr) providers_.emplace_back(name, std::move(provider));
}

Profiler::NodeScope::NodeScope(const Profiler& profiler)
    : profiler_(profiler), number_(profiler.providers_.empty() ? 0 : NodeNumber()) {
  if (number_ == 0) return;
  event_.category = ProfileEvent::Category::kNode;
  event_.process = getpid();
  event_.thread = gettid();
  event_.start_us = profiler.Microseconds(Clock::now());
  for (const auto& [name, provider] : profiler.providers_) provider->OnNodeStart(number_);
}

Profiler::NodeScope::~NodeScope() {
  if (number_ == 0) return;
  event_.duration_us = profiler_.Microseconds(Clock::now()) - event_.start_us;
  for (const auto& [name, provider] : profiler_.providers_) provider->OnNodeEnd(number_, event_);
}

void Profiler::NodeScope::Describe(const Node& node, std::string_view provider) {
  if (number_ == 0) return;
  event_.name = node.name;
  event_.arguments = {{"op_name", node.op_type}, {"provider", std::string(provider)}};
}

void Profiler::AddEventsOfProviders() {
  for (const auto& [name, provider] : providers_) {
    for (ProfileEvent& event : provider->Finish()) {
      Add({.name = std::move(event.name),
           .category = std::string(NameOf(event.category)),
           .op_type = {},
           .provider = name,
           .inputs = {},
           .outputs = {},
           .start_us = event.start_us,
           .duration_us = event.duration_us,
           .thread = RowOfDevice(fmt::format("{} ({})", name, event.thread)),
           .arguments = std::move(event.arguments)});
    }
  }
}

std::filesystem::path Profiler::Finish() {
  // A run that records still may go on meanwhile: its providers' profilers stay.
  const bool first = recording_.exchange(false);
  if (first && generation_ == ForkGeneration()) AddEventsOfProviders();
  const std::lock_guard lock(mutex_);
  if (finished_) return path_;
  finished_ = true;
  if (generation_ != ForkGeneration())
    Fail(ErrorCode::kFail, "the profile is written by the process that this one was forked from");
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
  WriteRowNames();
  for (const Event& event : events_) {
    nlohmann::ordered_json json = {{"cat", event.category},   {"name", event.name},  {"ph", "X"},
                                   {"pid", getpid()},         {"tid", event.thread}, {"ts", event.start_us},
                                   {"dur", event.duration_us}};
    json["args"] = nlohmann::ordered_json::object();
    if (event.category == "Node") {
      json["args"] = {{"op_type", event.op_type},
                      {"provider", event.provider},
                      {"inputs", event.inputs},
                      {"outputs", event.outputs},
                      {"bytes", event.bytes}};
      if (event.flops > 0) json["args"]["flops"] = event.flops;
      if (!event.kernel.empty()) json["args"]["kernel"] = event.kernel;
      if (!event.model_nodes.empty()) json["args"]["model_nodes"] = event.model_nodes;
    }
    if (!event.arguments.empty()) {
      json["args"]["provider"] = event.provider;
      for (const auto& [key, text] : event.arguments) json["args"][key] = text;
    }
    if (event.category == "Device") json["args"] = {{"device", event.provider}, {"waited_us", event.waited_us}};
    file_ << ",\n" << ToLine(json);
  }
  file_ << "\n]\n";
  file_.close();
  events_.clear();
  if (!file_) Fail(ErrorCode::kFail, "the profile cannot be written to {}: is the disk full?", path_.string());
  return path_;
}

}  // namespace tessera
