// Whether the chooser of convolutions (kernels/conv/choose) picks the fastest algorithm: every candidate of a set of
// problems is timed, in NCHW and as lowering leaves the convolution, and picks that are more than 5 % slower than the best
// candidate are listed.
//
//   bench_chooser [--filter TEXT] [--threads N] [--ms N] [--all] [--models FILE...]
//
// --models: of these instead, each a convolution of floats with one input (benchmarks/sweep_points.py writes such).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "pick_summary.h"
#include "session/session_state.h"
#include "session/tuning.h"
#include "waves.h"

namespace tessera {
namespace {

struct Arguments {
  std::string filter;
  int threads = 1;
  int ms = 60;  // that a candidate runs at most
  bool all = false;
  std::vector<std::filesystem::path> models;
};

/// A convolution of a square image that keeps its size, but for strides.
struct Problem {
  int64_t channels, outputs, image, kernel = 1, stride = 1, groups = 1, batch = 1, dilation = 1;

  std::string Text() const {
    std::string text = fmt::format("{}x{}x{}x{} by {}x{}x{}", batch, channels, image, image, outputs, kernel, kernel);
    if (stride > 1) text += fmt::format(", stride {}", stride);
    if (groups > 1) text += fmt::format(", {} groups", groups);
    if (dilation > 1) text += fmt::format(", dilation {}", dilation);
    return text;
  }
  double multiply_adds() const {
    const double side = std::ceil(static_cast<double>(image) / static_cast<double>(stride));
    return static_cast<double>(batch * outputs * channels / groups * kernel * kernel) * side * side;
  }
};

/// Those of usual networks: stems, windows by stage, pointwise, few outputs, groups, depthwise, and batches of small
/// images.
std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  for (const int64_t kernel : {3, 5, 7}) problems.push_back({3, 64, 224, kernel, 2});
  for (const auto& [channels, image] : {std::pair(32, 112), std::pair(64, 56), std::pair(128, 28), std::pair(256, 14),
                                        std::pair(512, 7), std::pair(20, 40), std::pair(96, 24), std::pair(1024, 7)}) {
    for (const int64_t kernel : {1, 3, 5, 7}) {
      if (kernel < 5 || channels < 512) problems.push_back({channels, channels, image, kernel});
    }
    problems.push_back({channels, 2 * channels, image, 3, 2});
    problems.push_back({channels, 4 * channels, image, 1});
    problems.push_back({channels, channels, image, 3, 1, 1, 1, 2});
    problems.push_back({channels, channels, image, 3, 1, 4});
  }
  for (const int64_t outputs : {1, 3, 6, 8}) {
    for (const int64_t kernel : {3, 5, 9}) problems.push_back({64, outputs, 64, kernel});
  }
  for (const int64_t image : {112, 56, 28, 14, 7}) {
    for (const int64_t kernel : {3, 5, 7}) {
      for (const int64_t stride : {1, 2}) problems.push_back({96, 96, image, kernel, stride, 96});
    }
    problems.push_back({96, 96, image, 3, 1, 96, 1, 2});
  }
  for (const int64_t image : {2, 3, 4, 5, 6, 8, 10}) {
    for (const int64_t batch : {1, 8, 64}) problems.push_back({256, 256, image, 3, 1, 1, batch});
    problems.push_back({256, 256, image, 1, 1, 1, 8});
  }
  return problems;
}

std::string ModelOf(const Problem& problem) {
  const int64_t pad = (problem.kernel - 1) * problem.dilation / 2;
  testing::ModelBuilder model;
  model.Input("x", ElementType::kFloat, {problem.batch, problem.channels, problem.image, problem.image})
      .Output("y", ElementType::kFloat, {problem.batch, problem.outputs, -1, -1});
  const int64_t inputs = problem.channels / problem.groups, taps = problem.kernel * problem.kernel;
  model.Floats("w", {problem.outputs, inputs, problem.kernel, problem.kernel},
               testing::Waves(problem.outputs * inputs * taps, 0.7f, 0.5f));
  auto& node = model.Node("Conv", {"x", "w"}, {"y"});
  testing::Ints(node, "pads", {pad, pad, pad, pad});
  testing::Ints(node, "strides", {problem.stride, problem.stride});
  testing::Ints(node, "dilations", {problem.dilation, problem.dilation});
  testing::Int(node, "group", problem.groups);
  return model.bytes();
}

/// A session whose convolution is computed by one candidate.
class Timed {
 public:
  Timed(const std::string& model, const Arguments& arguments, OptimizationLevel level, Trial trial)
      : trial_(std::move(trial)), state_(Options(arguments, level), Environment::Default().state()) {
    state_.Load(
        {}, [&](const LoadOptions& load) { return LoadModel(std::as_bytes(std::span(model)), nullptr, "", load); },
        &trial_);
    Shape shape;
    for (const Dimension& size : *state_.model->inputs.front().type.shape) shape.Append(size.value);
    Tensor input(ElementType::kFloat, shape);
    const std::vector<float> waves = testing::Waves(shape.num_elements(), 0.3f, 0.5f);
    std::ranges::copy(waves, input.mutable_data<float>());
    input_ = Value(std::move(input));
  }

  void Run() {
    const Value* const given = &input_;
    std::vector<Value> results(1);
    const double start = Now();
    state_.Run({std::span(&given, 1), state_.model->all_outputs, results, {}}, RunOptions());
    ns_ = std::min(ns_, Now() - start);
  }
  /// Of the fastest run, conversions between layouts with it.
  double ns() const { return ns_; }
  std::string name() const { return trial_.algorithms().empty() ? "the only one" : trial_.algorithms().begin()->second; }
  const Trial& trial() const { return trial_; }

 private:
  /// Of one thread what it computed rather than what passed: others may use the machine.
  double Now() const {
    timespec time{};
    clock_gettime(state_.options.intra_op_threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  static SessionOptions Options(const Arguments& arguments, OptimizationLevel level) {
    SessionOptions options;
    options.intra_op_threads = arguments.threads;
    options.optimization_level = level;
    options.log_level = LogLevel::kError;
    options.providers = {{"cpu", {}}};
    return options;
  }

  Trial trial_;
  Session::State state_;
  Value input_;
  double ns_ = std::numeric_limits<double>::infinity();
};

/// All candidates run in turn, so that what else the machine does slows all of them; each a few times, so that none has the
/// caches of another. The first is what the kernel picks.
PickResult Race(const std::string& model, const Arguments& arguments, OptimizationLevel level) {
  constexpr int kFewestTurns = 5, kMostTurns = 100, kTogether = 3;
  std::vector<std::unique_ptr<Timed>> timed;
  do {
    timed.push_back(std::make_unique<Timed>(model, arguments, level, Trial::OfPlace({}, timed.size())));
  } while (timed.size() < timed.front()->trial().most_algorithms());
  double spent = 0;
  for (int turn = 0; turn < kMostTurns && (turn < kFewestTurns || spent < arguments.ms * 1e6); ++turn) {
    for (const auto& one : timed) {
      for (int i = 0; i < kTogether; ++i) one->Run();
    }
    spent += kTogether * timed.front()->ns();
  }
  PickResult result;
  for (const auto& one : timed) {
    if (arguments.all) fmt::print("    {:<28} {:>12.1f} us\n", one->name(), one->ns() / 1000);
    result.Add(one->name(), one->ns());
  }
  return result;
}

void RaceInBothLayouts(const std::string& text, const std::string& model, const Arguments& arguments,
                       PickSummary& summary) {
  if (arguments.all) fmt::print("{}\n", text);
  const PickResult nchw = Race(model, arguments, OptimizationLevel::kNone);
  PickResult lowered = Race(model, arguments, OptimizationLevel::kAll);
  summary.Add(text + " NCHW", nchw);
  if (nchw.best_ns < lowered.best_ns) {
    lowered.best_ns = nchw.best_ns;
    lowered.best = nchw.best + " in NCHW";
  }
  summary.Add(text + " lowered", lowered);
}

std::string BytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kNoSuchFile, path.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void Run(const Arguments& arguments) {
  constexpr double kMostMultiplyAdds = 3e9;
  PickSummary summary;
  for (const std::filesystem::path& path : arguments.models)
    RaceInBothLayouts(path.stem().string(), BytesOf(path), arguments, summary);
  for (const Problem& problem : arguments.models.empty() ? Problems() : std::vector<Problem>()) {
    if (problem.Text().find(arguments.filter) == std::string::npos || problem.multiply_adds() > kMostMultiplyAdds) continue;
    RaceInBothLayouts(problem.Text(), ModelOf(problem), arguments, summary);
  }
  summary.Print();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::Arguments arguments;
  CLI::App app("Times every candidate for convolutions and lists picks that are more than 5 % slower than the best");
  app.add_option("--filter", arguments.filter, "Only problems whose text has this");
  app.add_option("--threads", arguments.threads);
  app.add_option("--ms", arguments.ms, "Milliseconds for each candidate");
  app.add_flag("--all", arguments.all, "Print each candidate's time");
  app.add_option("--models", arguments.models, "Models of one convolution each instead")->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  tessera::Run(arguments);
  return 0;
}
