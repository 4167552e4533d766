#include "session/tuning.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <set>

#include "base/check.h"
#include "graph/algorithm.h"
#include "kernels/conv/choose/choose.h"
#include "optimizer/analysis/edit.h"
#include "tessera/providers/names.h"

namespace tessera {

using Clock = std::chrono::steady_clock;

namespace {

/// What a convolution may be computed by, best first; nothing where it is not one, or its kernel refuses it.
std::vector<std::string_view> AlgorithmsOf(const Graph& graph, const Node& node) {
  if (node.op_type != "Conv" && node.op_type != "FusedConv" && node.op_type != "Nchw8cConv") return {};
  const Tensor* weights = ConstantInput(graph, node, 1);
  const SymbolicShape* input = ShapeOf(graph, node.inputs[0]);
  if (weights == nullptr || !weights->is(ElementType::kFloat) || weights->shape().rank() < 3) return {};
  std::vector<std::string_view> names;
  try {
    const cpu::ConvProblem likely =
        cpu::DescribeLikelyConv(node, input == nullptr ? SymbolicShape() : *input, weights->shape());
    for (const cpu::ConvCandidate& candidate : RankConvAlgorithms(likely)) {
      const std::string_view name = NameOf(candidate.algorithm);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  } catch (const Error&) {
    names.clear();
  }
  return names;
}

}  // namespace

class Trial::TimedKernel final : public Kernel {
 public:
  TimedKernel(Kernel& kernel, const std::vector<NodeIndex>& nodes) : nodes(nodes), kernel_(kernel) {}

  void Compute(KernelContext& context) override {
    const auto start = Clock::now();
    kernel_.Compute(context);
    fastest = std::min(fastest, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }

  const std::vector<NodeIndex>& nodes;
  double fastest = std::numeric_limits<double>::infinity();

 private:
  Kernel& kernel_;
};

std::map<NodeIndex, std::string> Trial::AlgorithmsFor(const Graph& graph) {
  nodes_.clear();
  algorithms_.clear();
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const std::vector<std::string_view> names = AlgorithmsOf(graph, graph.node(index));
    if (names.size() < 2) continue;
    nodes_.push_back(index);
    most_algorithms_ = std::max(most_algorithms_, names.size());
    if (place_ && *place_ < names.size()) algorithms_.emplace(index, names[*place_]);
    if (!algorithm_.empty() && !times_library()) algorithms_.emplace(index, algorithm_);
  }
  std::sort(nodes_.begin(), nodes_.end());
  return algorithms_;
}

void Trial::NoteUnits(const Graph& graph, const GraphPartition& partition) {
  units_.clear();
  for (const Unit& unit : partition.units) {
    units_.emplace(unit.fused != nullptr ? unit.fused.get() : &graph.node(unit.nodes.front()), unit.nodes);
  }
}

void Trial::Watch(Plan& plan) {
  for (Step& step : plan.steps) {
    const auto unit = step.kind == StepKind::kKernel ? units_.find(step.node) : units_.end();
    if (unit == units_.end()) continue;
    kernels_.push_back(std::make_shared<TimedKernel>(*step.kernel, unit->second));
    step.kernel = kernels_.back().get();
  }
}

Trial::Times Trial::times() const {
  Times times;
  for (const auto& kernel : kernels_) times.emplace(kernel->nodes, kernel->fastest);
  return times;
}

void SetAlgorithms(Graph& graph, const std::map<NodeIndex, std::string>& algorithms) {
  for (const auto& [index, name] : algorithms) graph.node(index).hints.algorithm = name;
}

namespace {

constexpr double kGain = 0.95;  // of the time without; less is noise

template <class T>
void FillRamp(Tensor& tensor) {
  int step = 0;
  for (T& element : tensor.mutable_values<T>()) element = static_cast<T>(static_cast<float>(step++ % 17 - 8) / 8.0f);
}

/// Numbers of moderate size, or ones: what indices, masks and counts may mostly be.
Tensor MakeUp(ElementType type, const Shape& shape) {
  Tensor tensor(type, shape);
  switch (type) {
    case ElementType::kFloat: FillRamp<float>(tensor); break;
    case ElementType::kDouble: FillRamp<double>(tensor); break;
    case ElementType::kFloat16: FillRamp<Float16>(tensor); break;
    case ElementType::kBFloat16: FillRamp<BFloat16>(tensor); break;
    case ElementType::kString: break;
    default: {
      auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
      const size_t width = static_cast<size_t>(std::max(1, BitWidth(type) / 8));
      std::fill_n(bytes, tensor.byte_size(), uint8_t{0});
      for (size_t i = 0; i < tensor.byte_size(); i += width) bytes[i] = 1;
    }
  }
  return tensor;
}

/// Where the model leaves a dimension open, 1.
std::vector<Value> MakeUpInputs(const LoadedModel& model) {
  std::vector<Value> inputs;
  for (const NamedType& input : model.inputs) {
    Require(input.type.is_tensor() && input.type.shape.has_value(),
            "input '{}' is {}: only tensors of known rank can be made up", input.name, input.type);
    Shape shape;
    for (const Dimension& dim : *input.type.shape) shape.Append(dim.known() ? dim.value : 1);
    inputs.emplace_back(MakeUp(input.type.element, shape));
  }
  return inputs;
}

std::string OpenDimensions(const LoadedModel& model) {
  std::string text;
  for (const NamedType& input : model.inputs) {
    const SymbolicShape& shape = *input.type.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].known()) continue;
      text += fmt::format("{}dimension {} of '{}'", text.empty() ? "" : ", ", i, input.name);
      if (!shape[i].symbol.empty()) text += fmt::format(" ({})", shape[i].symbol);
    }
  }
  return text;
}

/// A session that is timed.
class Candidate {
 public:
  Candidate(const SessionOptions& options, const std::shared_ptr<Environment::State>& environment, Trial trial,
            const Session::State::Origin& origin, const Session::State::LoadFunction& load)
      : trial_(std::move(trial)), state_(options, environment) {
    state_.Load(origin, load, &trial_);
    inputs_ = MakeUpInputs(model());
    given_.resize(model().graph->inputs().size());
    for (size_t i = 0; i < inputs_.size(); ++i) given_[model().required[i]] = &inputs_[i];
  }

  /// `stop`: of the load that the times are for.
  void Run(const StopSignal& stop) {
    std::vector<Value> results(model().outputs.size());
    const auto start = Clock::now();
    state_.Run({given_, model().all_outputs, results, {}}, RunOptions(), stop);
    fastest_ = std::min(fastest_, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }

  double fastest() const { return fastest_; }
  const Trial& trial() const { return trial_; }
  const LoadedModel& model() const { return *state_.model; }

 private:
  Trial trial_;
  Session::State state_;
  std::vector<Value> inputs_;
  std::vector<const Value*> given_;
  double fastest_ = std::numeric_limits<double>::infinity();
};

/// In turn: what else the machine does slows all of them.
void Race(std::span<Candidate* const> candidates, const LoadLimits& limits) {
  constexpr int kFewest = 5, kMost = 50;
  const auto enough = candidates.size() * std::chrono::milliseconds(500);
  const auto begin = Clock::now();
  for (int run = 0; run < kMost && (run < kFewest || Clock::now() - begin < enough); ++run) {
    for (Candidate* candidate : candidates) {
      limits.Check();
      candidate->Run(limits.stop());
    }
  }
}

class Tuner {
 public:
  Tuner(const Session::State& session, const LoadLimits& limits, const Session::State::Origin& origin,
        const Session::State::LoadFunction& load)
      : session_(session), limits_(limits), origin_(origin), load_(load), options_(session.options) {
    options_.load_timeout = limits.time_left();
    options_.profile_prefix.clear();
    options_.optimized_model_path.clear();
    options_.compiled_model = {};
    options_.log_level = LogLevel::kError;
    std::erase_if(options_.config, [](const auto& entry) { return IsOfContext(entry.first) || entry.first == kTuningKey; });
  }

  Tuning Run() {
    auto best = Make(Trial({}, ""));
    if (const std::string open = OpenDimensions(best->model()); !open.empty()) {
      session_.log(LogLevel::kWarning, "tuning: the model leaves {} open, 1 is timed: fix sizes with free_dimensions",
                   open);
    }
    for (const PlacementReport::ProviderEntry& entry : std::vector(best->model().placement.providers)) {
      if (entry.nodes > 0 && entry.name != kCpuProvider) LeaveOutIfFaster(entry.name, best);
    }
    // A graph that is written must not say what this machine likes.
    if (session_.options.optimized_model_path.empty()) ChooseAlgorithms(*best);
    return std::move(tuning_);
  }

 private:
  std::unique_ptr<Candidate> Make(Trial trial) const {
    limits_.Check();
    return std::make_unique<Candidate>(options_, session_.environment, std::move(trial), origin_, load_);
  }

  void LeaveOutIfFaster(const std::string& provider, std::unique_ptr<Candidate>& best) {
    LeftOutProviders fewer = tuning_.left_out;
    fewer.emplace_back(provider, "");
    std::unique_ptr<Candidate> without;
    try {
      without = Make(Trial(fewer, ""));
    } catch (const Error& error) {  // the others do not take all of its nodes
      limits_.Check();
      session_.log(LogLevel::kInfo, "tuning: without {}: {}", provider, error.what());
      return;
    }
    Race(std::array{best.get(), without.get()}, limits_);
    session_.log(LogLevel::kInfo, "tuning: {:.3f} ms a run, {:.3f} ms without {}", best->fastest(), without->fastest(),
                 provider);
    if (without->fastest() > kGain * best->fastest()) return;
    fewer.back().second = fmt::format("left out: timing at load found {:.3f} ms a run with it, {:.3f} ms without",
                                      best->fastest(), without->fastest());
    tuning_.left_out = std::move(fewer);
    best = std::move(without);
  }

  /// A kernel of several nodes, a compiled region, has one algorithm for all of them, or for each the library's
  /// implementation that took least time by itself.
  void ChooseAlgorithms(Candidate& best) {
    std::vector<std::unique_ptr<Candidate>> others;
    others.reserve(best.trial().most_algorithms() + 1);
    for (size_t place = 0; place < best.trial().most_algorithms(); ++place)
      others.push_back(Make(Trial::OfPlace(tuning_.left_out, place)));
    if (CompilesSubgraphs(best.model())) others.push_back(Make(Trial(tuning_.left_out, kTimedAlgorithm)));
    if (others.empty()) return;
    std::vector<Candidate*> all = {&best};
    for (const auto& other : others) all.push_back(other.get());
    Race(all, limits_);
    Trial::Times fastest = best.trial().times();
    for (const auto& tried : others) TakeFaster(tried->trial(), fastest);
    session_.log(
        LogLevel::kInfo,
        "tuning: {} convolutions and matmuls run faster by another algorithm than the usual one, of {} with several",
        tuning_.algorithms.size(), Several(best, others));
  }

  static bool CompilesSubgraphs(const LoadedModel& model) {
    return std::any_of(model.placement.nodes.begin(), model.placement.nodes.end(),
                       [](const auto& node) { return !node.fused_into.empty(); });
  }

  /// The algorithms of the kernels that took less than the fastest until now.
  void TakeFaster(const Trial& tried, Trial::Times& fastest) {
    const std::map<NodeIndex, std::string>& names = tried.times_library() ? tried.timed() : tried.algorithms();
    for (const auto& [unit, time] : tried.times()) {
      const auto known = fastest.find(unit);
      if (known == fastest.end() || time > kGain * known->second) continue;
      known->second = time;
      for (const NodeIndex node : unit) {
        const auto found = names.find(node);
        if (tried.times_library()) tuning_.algorithms.erase(node);
        if (found != names.end()) tuning_.algorithms[node] = found->second;
      }
    }
  }

  static size_t Several(const Candidate& best, std::span<const std::unique_ptr<Candidate>> others) {
    std::set<NodeIndex> nodes(best.trial().nodes().begin(), best.trial().nodes().end());
    for (const auto& other : others) {
      for (const auto& [node, name] : other->trial().timed()) nodes.insert(node);
    }
    return nodes.size();
  }

  const Session::State& session_;
  const LoadLimits& limits_;
  const Session::State::Origin& origin_;
  const Session::State::LoadFunction& load_;
  SessionOptions options_;
  Tuning tuning_;
};

}  // namespace

Tuning Tune(const Session::State& session, const LoadLimits& limits, const Session::State::Origin& origin,
            const Session::State::LoadFunction& load) {
  try {
    return Tuner(session, limits, origin, load).Run();
  } catch (const Error& error) {
    limits.Check();
    session.log(LogLevel::kWarning, "not tuned: {}", error.what());
    return {};
  }
}

}  // namespace tessera
