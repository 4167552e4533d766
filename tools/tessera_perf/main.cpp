// Measures one model: load time, latency, memory, steady-state allocations, time by operator.

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "allocation_count.h"
#include "command_line/closest.h"
#include "command_line/command_line.h"
#include "data_set/data_set.h"
#include "load_model.h"
#include "measurement.h"
#include "provider_options.h"
#include "random_inputs.h"
#include "stored_values.h"
#include "terminal.h"

namespace tessera::perf {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string model;
  std::vector<std::string> providers, provider_options, plugins, operator_libraries;
  std::vector<std::string> dims;
  std::vector<std::string> config;
  std::string context;
  std::string precision;
  std::string inputs;
  std::string outputs;
  int callers = 1;
  int threads = 0;
  int runs = 0;
  double seconds = 3;
  int warmup = 5;
  int optimization = 99;
  bool parallel = false;
  bool json = false;
  bool profile = false;
  std::string trace;
};

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// From the kernel's counter of this address space: getrusage's outlives exec and would count the parent's memory.
double PeakRssMib() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    double kib = 0;
    if (key == "VmHWM:" && status >> kib) return kib / 1024;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

std::pair<std::string, std::string> SplitPair(const std::string& text, const char* option) {
  const size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0) throw UsageError(option, text + " is not NAME=VALUE");
  return {text.substr(0, equal), text.substr(equal + 1)};
}

std::pair<std::string, std::string> ConfigEntry(const std::string& text) {
  auto entry = SplitPair(text, "--config");
  std::vector<std::string> known;
  for (const OptionSchema& option : session_config_schema()) known.emplace_back(option.name);
  if (std::ranges::find(known, entry.first) == known.end()) {
    throw UsageError("--config", fmt::format("a session has no entry '{}'{} (tessera_inspect --session-config shows them)",
                                             entry.first, DidYouMean(entry.first, known)));
  }
  return entry;
}

SessionOptions MakeSessionOptions(const Arguments& arguments) {
  SessionOptions options;
  RegisterPlugins(arguments.plugins);
  SetProviders(options, arguments.providers, arguments.provider_options);
  AddOperatorLibraries(options, arguments.operator_libraries);
  options.error_on_failure = true;
  options.intra_op_threads = arguments.threads;
  options.optimization_level = static_cast<OptimizationLevel>(arguments.optimization);
  options.execution_mode = arguments.parallel ? ExecutionMode::kParallel : ExecutionMode::kSequential;
  for (const std::string& entry : arguments.config) options.config.insert(ConfigEntry(entry));
  if (!arguments.context.empty()) {
    options.config["session.context_enable"] = "1";
    options.config["session.context_file_path"] = arguments.context;
  }
  if (!arguments.precision.empty()) options.config["session.precision"] = arguments.precision;
  return options;
}

std::map<std::string, int64_t> ParseDims(const Arguments& arguments) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : arguments.dims) {
    const auto [name, digits] = SplitPair(text, "--dim");
    int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [parsed, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || parsed != end || value < 0) {
      throw UsageError("--dim", fmt::format("'{}': a dimension is a whole number, 0 or more", text));
    }
    dims[name] = value;
  }
  return dims;
}

/// What the model is run with: a value for each of its inputs, and for those initializers that stored values replace.
NamedValues MakeInputs(const Session& session, const Arguments& arguments, std::vector<std::string>* ones = nullptr) {
  if (arguments.inputs.empty()) {
    NamedValues inputs{{}, RandomInputs(session, ParseDims(arguments), ones)};
    for (const NamedType& input : session.inputs()) inputs.names.push_back(input.name);
    return inputs;
  }
  if (!std::filesystem::is_directory(arguments.inputs))
    throw UsageError("--inputs", fmt::format("there is no folder {}", arguments.inputs));
  NamedValues inputs = ReadDataSet(arguments.inputs, "input", session.inputs(), session.overridable_initializers());
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    const std::string& name = session.inputs()[i].name;
    if (i < inputs.names.size() && inputs.names[i] == name) continue;
    throw Error(
        ErrorCode::kNoSuchFile,
        fmt::format("{} has no value for input '{}': no input_K.pb has its name inside, and there is no input_{}.pb",
                    arguments.inputs, name, i));
  }
  return inputs;
}

void RunOnce(const Session& session, const NamedValues& inputs, std::vector<Value>& results) {
  if (inputs.values.size() == session.inputs().size()) session.Run(inputs.values, results);
  else results = session.Run(inputs.names, inputs.values);
}

/// Warms up, then runs until time or the number of runs is over. `started` is called between the two.
std::vector<double> RunRepeatedly(const Session& session, const NamedValues& inputs, std::vector<Value>& results,
                                  const Arguments& arguments, const std::function<void()>& started) {
  // The warm-up's results become the buffers of every later run, so that the steady state allocates nothing.
  for (int i = 0; i < arguments.warmup; ++i) RunOnce(session, inputs, results);
  const int64_t most = arguments.runs > 0 ? arguments.runs : 1'000'000;
  std::vector<double> latency;
  latency.reserve(static_cast<size_t>(most));
  started();
  const auto begin = Clock::now();
  for (int64_t i = 0; i < most; ++i) {
    const auto run_start = Clock::now();
    RunOnce(session, inputs, results);
    latency.push_back(MillisecondsSince(run_start));
    if (arguments.runs == 0 && latency.size() >= 3 && MillisecondsSince(begin) > arguments.seconds * 1000) break;
  }
  return latency;
}

/// Threads that call Run on one session at once, each with its own results, the calling thread among them. What they
/// allocate is counted from when all are warm until all have ended, so that nothing but runs is between the two.
class Callers {
 public:
  Callers(const Session& session, const NamedValues& inputs, const Arguments& arguments)
      : session_(session), inputs_(inputs), arguments_(arguments), results_(static_cast<size_t>(arguments.callers)) {}

  /// Fills in latencies, throughput and allocations; gives the results of the first caller's last run.
  std::vector<Value> Measure(Measurement& measurement) {
    {
      std::vector<std::jthread> threads;
      try {
        for (size_t i = 1; i < results_.size(); ++i)
          threads.emplace_back([this, i, &measurement] { Call(i, measurement); });
      } catch (const std::system_error&) {
        // Those that run wait for nobody who cannot be started.
        for (size_t i = threads.size() + 1; i < results_.size(); ++i) Leave(true);
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
      }
      Call(0, measurement);
    }
    if (failure_) std::rethrow_exception(failure_);
    measurement.allocations_per_run =
        static_cast<double>(allocations_) / static_cast<double>(measurement.latency_ms.size());
    return std::move(results_.front());
  }

 private:
  struct Note {
    int64_t& allocations;
    int sign;
    void operator()() const noexcept { allocations += sign * AllocationCount(); }
  };

  void Call(size_t caller, Measurement& measurement) {
    bool waiting = true;
    try {
      std::vector<Value>& results = results_[caller];
      results.resize(session_.outputs().size());
      double first = 0;
      const auto started = [&] {
        waiting = false;
        start_.arrive_and_wait();
        first = MillisecondsSince(Clock::time_point());
      };
      const std::vector<double> latency = RunRepeatedly(session_, inputs_, results, arguments_, started);
      const double seconds = (MillisecondsSince(Clock::time_point()) - first) / 1000;
      end_.arrive_and_wait();
      const std::lock_guard lock(mutex_);
      measurement.runs_per_second += static_cast<double>(latency.size()) / seconds;
      measurement.latency_ms.insert(measurement.latency_ms.end(), latency.begin(), latency.end());
    } catch (...) {
      Leave(waiting);
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  /// Nobody waits for this caller any more.
  void Leave(bool waiting) {
    if (waiting) start_.arrive_and_drop();
    end_.arrive_and_drop();
  }

  const Session& session_;
  const NamedValues& inputs_;
  const Arguments& arguments_;
  std::vector<std::vector<Value>> results_;  // by caller
  int64_t allocations_ = 0;
  std::barrier<Note> start_{arguments_.callers, Note{allocations_, -1}};
  std::barrier<Note> end_{arguments_.callers, Note{allocations_, +1}};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

Measurement Measure(const Arguments& arguments) {
  Measurement result;
  const auto start = Clock::now();
  const Session session = LoadModel(arguments.model, MakeSessionOptions(arguments));
  result.load_ms = MillisecondsSince(start);
  result.context = session.context();
  for (const auto& node : session.placement().nodes) ++result.providers[node.provider];

  const NamedValues inputs = MakeInputs(session, arguments, &result.dims_of_one);
  const std::vector<Value> results = Callers(session, inputs, arguments).Measure(result);
  if (!arguments.outputs.empty()) WriteOutputs(session, results, arguments.outputs);
  std::sort(result.latency_ms.begin(), result.latency_ms.end());
  result.peak_rss_mib = PeakRssMib();
  return result;
}

/// Runs with profiling on and adds up the trace's node events by operator.
Profile MeasureProfile(const Arguments& arguments) {
  SessionOptions options = MakeSessionOptions(arguments);
  const std::filesystem::path kept = arguments.trace;
  options.profile_prefix = kept.empty() ? std::filesystem::temp_directory_path() / "tessera_perf" : kept;
  Session session = LoadModel(arguments.model, options);
  const NamedValues inputs = MakeInputs(session, arguments);
  std::vector<Value> results(session.outputs().size());
  Profile profile{.runs = arguments.runs > 0 ? arguments.runs : 20};
  for (int i = 0; i < profile.runs; ++i) RunOnce(session, inputs, results);
  const std::filesystem::path trace = session.EndProfiling();
  profile.operators = SumByOperator(trace);
  if (kept.empty()) {
    std::filesystem::remove(trace);
  } else {
    std::filesystem::rename(trace, kept);
    profile.trace = kept;
  }
  return profile;
}

void PrintText(const Profile& profile) {
  double total = 0;
  for (const OperatorTime& row : profile.operators) total += row.us;
  Print("\n{:<56} {:>10} {:>8} {:>12} {:>9} {:>8}\n", "operator (provider)", "ms a run", "share", "calls a run", "GFLOP/s",
        "GB/s");
  for (const OperatorTime& row : profile.operators) {
    Print("{:<56} {:>10.3f} {:>7.1f}% {:>12.1f} {:>9} {:>8.2f}\n", row.name, row.us / 1000 / profile.runs,
          total > 0 ? 100 * row.us / total : 0, static_cast<double>(row.calls) / profile.runs,
          row.flops > 0 ? fmt::format("{:.1f}", row.PerNanosecond(row.flops)) : "-", row.PerNanosecond(row.bytes));
  }
  if (!profile.trace.empty()) Print("trace: {}\n", profile.trace.string());
}

void PrintText(const Arguments& arguments, const Measurement& m) {
  Print("{}\n", arguments.model);
  if (!m.dims_of_one.empty()) {
    Print("  inputs       made up, with {} = 1: give --dim NAME=N for another size\n",
          fmt::format("{}", fmt::join(m.dims_of_one, " = ")));
  }
  Print("  latency      median {:.3f} ms, min {:.3f}, p90 {:.3f}, p99 {:.3f} ({} runs)\n", Percentile(m.latency_ms, 0.5),
        Percentile(m.latency_ms, 0), Percentile(m.latency_ms, 0.9), Percentile(m.latency_ms, 0.99), m.latency_ms.size());
  Print("  throughput   {:.2f} runs a second\n", m.runs_per_second);
  Print("  load         {:.1f} ms\n", m.load_ms);
  if (m.context.enabled) {
    Print("  context      {} ({} packed weights from it, {} not)\n", m.context.detail, m.context.packed,
          m.context.packed_anew);
  }
  Print("  peak memory  {:.1f} MiB\n", m.peak_rss_mib);
  Print("  allocations  {:.2f} a run\n", m.allocations_per_run);
  for (const auto& [provider, nodes] : m.providers) Print("  {}: {} nodes\n", provider, nodes);
  if (m.profile) PrintText(*m.profile);
}

int Main(int argc, char** argv) {
  CommandLine app{"Measures a model: load time, latency, memory, allocations, time by operator"};
  Arguments arguments;
  app.Add("model", arguments.model, "The .onnx file").Required();
  app.Add("-e", arguments.providers,
          "Execution provider, " + ProviderNames() + "; once for each, in priority order (default: cpu)");
  app.Add("-i", arguments.provider_options, kProviderOptionsHelp);
  app.Add("--plugin", arguments.plugins, kPluginHelp);
  app.Add("--operator-library", arguments.operator_libraries, kOperatorLibraryHelp);
  app.Add("-t,--threads", arguments.threads, "Intra-op threads (0: one a core)").Range(0, 4096);
  app.Add("-r,--runs", arguments.runs, "Counted runs of each caller (0: as many as --seconds allows)").Range(0, 10'000'000);
  app.Add("--seconds", arguments.seconds, "How long to run").Range(0.0, 1e6);
  app.Add("--warmup", arguments.warmup, "Runs that do not count").Range(1, 100000);
  app.Add("--dim", arguments.dims, "NAME=N for a symbolic dimension of the inputs, once for each (others are 1)");
  app.Add("--inputs", arguments.inputs,
          "Folder with input_K.pb, as in ONNX test data, by the name inside or in the model's order (default: made up)");
  app.Add("--outputs", arguments.outputs, "Folder for the results of the (first caller's) last run, as output_K.pb");
  app.Add("--callers", arguments.callers, "Threads that call Run on the one session at once").Range(1, 1024);
  app.Add("--precision", arguments.precision, "What matmuls may be computed in (session.precision)")
      .OneOf({"f32", "bf16", "bf16-weights", "fp16", "int8-dynamic"});
  app.Add("--config", arguments.config, "KEY=VALUE entry of the session's configuration, once for each");
  app.Add("--context", arguments.context,
          "Context file: written by the first start, used by the next (session.context_enable)");
  app.Add("-o", arguments.optimization, "Graph optimization level").OneOf({0, 1, 2, 3, 99});
  app.Flag("-x", arguments.parallel, "Use the parallel executor");
  app.Flag("--json", arguments.json, "Print one JSON object, the profile in it");
  app.Flag("--profile", arguments.profile,
           "Also print time, work and memory traffic by operator, from a second, profiled session");
  app.Add("--trace", arguments.trace, "Keep the profile as a Chrome trace in this file; means --profile, too");
  if (const auto status = app.Parse(argc, argv)) return *status;
  try {
    Measurement measurement = Measure(arguments);
    if (arguments.profile || !arguments.trace.empty()) measurement.profile = MeasureProfile(arguments);
    if (arguments.json) {
      PrintLines(ToJson(measurement) + "\n");
    } else {
      PrintText(arguments, measurement);
    }
    return kDone;
  } catch (const UsageError& error) {
    return app.Exit(error);
  } catch (const Error& error) {
    Print(stderr, "tessera_perf: {}\n", error.what());
    return kFailed;
  } catch (const std::exception& error) {
    Print(stderr, "tessera_perf: {}\n", error.what());
    return kBroken;
  }
}

}  // namespace
}  // namespace tessera::perf

int main(int argc, char** argv) { return tessera::perf::Main(argc, argv); }
