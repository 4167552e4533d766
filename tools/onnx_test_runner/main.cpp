// Runs ONNX test-data directories on a provider and reports what passed. The flags are those of ONNX Runtime's runner.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "command_line/command_line.h"
#include "defective_data.h"
#include "provider_options.h"
#include "report.h"
#include "terminal.h"
#include "worker.h"

namespace tessera::runner {
namespace {

/// Lines of "NAME: reason"; '#' starts a comment. A line without a reason is an error.
std::map<std::string, std::string> ReadSkipList(const std::filesystem::path& path) {
  std::map<std::string, std::string> skips;
  if (path.empty()) return skips;
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kNoSuchFile, fmt::format("cannot read the skip list {}", path.string()));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos || colon + 2 >= line.size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' gives no reason; write 'NAME: reason'", path.string(), line));
    }
    skips[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return skips;
}

/// One line of progress on a terminal, a line every few hundred cases elsewhere; failures as they come.
class Progress {
 public:
  Progress(size_t total, int verbosity) : total_(total), verbosity_(verbosity), terminal_(isatty(STDOUT_FILENO) != 0) {}

  void Report(const CaseResult& result) {
    ++done_;
    for (const std::string& warning : result.warnings) {
      ClearLine();
      Print("warning: {}: {}\n", result.name, warning);
    }
    if (result.outcome == Outcome::kFailed) {
      ClearLine();
      Print("FAILED {} [{}] {}\n", result.name, result.cause, result.message);
    } else if (verbosity_ > 0) {
      ClearLine();
      Print("{} {} ({:.2f} ms, largest error {:.3g})\n", result.outcome == Outcome::kPassed ? "passed" : "skipped",
            result.name, result.run_ms, result.largest_error);
    }
    if (terminal_) {
      ClearLine();
      Print("{}/{} {}", done_, total_, result.name);
      if (done_ == total_) ClearLine();
    } else if (done_ % 250 == 0) {
      Print("{}/{} cases\n", done_, total_);
    }
    std::fflush(stdout);
  }

 private:
  void ClearLine() const {
    if (terminal_) Print("\r\033[K");
  }

  size_t total_;
  size_t done_ = 0;
  int verbosity_;
  bool terminal_;
};

void RunInProcess(std::span<const TestCase> cases, const Options& options, const std::function<void(CaseResult)>& done) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  const auto serve = [&] {
    for (size_t i = next++; i < cases.size(); i = next++) {
      CaseResult result = RunCase(cases[i], options);
      const std::lock_guard lock(mutex);
      done(std::move(result));
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < options.jobs; ++i) threads.emplace_back(serve);
  serve();
  threads.clear();  // waits for them
}

/// The names of the skip list that no case has: a case was renamed, or no longer needs its line. With -n most are merely
/// left out.
std::vector<std::string> UnusedSkips(const std::map<std::string, std::string>& skips, std::span<const TestCase> cases,
                                     const Options& options) {
  std::vector<std::string> remarks;
  if (!options.name_pattern.empty()) return remarks;
  for (const auto& [name, reason] : skips) {
    if (std::ranges::find(cases, name, &TestCase::name) == cases.end()) {
      remarks.push_back(fmt::format("{}: no case is called '{}'", options.skip_list.string(), name));
    }
  }
  return remarks;
}

/// Finds out before the cases run, which may take long, whether their results can be written.
void RequireWritable(const std::filesystem::path& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("cannot write {} (--junit)", path.string()));
  }
}

std::vector<CaseResult> RunCases(std::span<const TestCase> all, const std::map<std::string, std::string>& skips,
                                 const Options& options, const std::vector<std::string>& arguments) {
  std::vector<TestCase> cases;
  std::vector<CaseResult> results;
  for (const TestCase& test : all) {
    const auto skip = skips.find(test.name);
    const char* defect = KnownDefect(test);
    if (skip != skips.end() || defect != nullptr) {
      results.push_back({.name = test.name,
                         .group = test.folder_group,
                         .outcome = Outcome::kSkipped,
                         .cause = skip != skips.end() ? skip->second : defect});
    } else {
      cases.push_back(test);
    }
  }
  Progress progress(cases.size(), options.verbosity);
  const auto done = [&](CaseResult result) {
    progress.Report(result);
    results.push_back(std::move(result));
  };
  if (options.isolate) {
    RunIsolated(cases, options, arguments, done);
  } else {
    RunInProcess(cases, options, done);
  }
  std::sort(results.begin(), results.end(),
            [](const CaseResult& a, const CaseResult& b) { return std::tie(a.group, a.name) < std::tie(b.group, b.name); });
  return results;
}

int Run(const Options& options, const std::vector<std::string>& arguments) {
  if (options.worker) return WorkerMain(options);
  RequireWritable(options.junit);
  const std::vector<TestCase> all = FindCases(options);
  const auto skips = ReadSkipList(options.skip_list);
  if (all.empty()) Print("No case was found: a case is a folder with a .onnx file and test_data_set_* folders.\n");
  const std::vector<CaseResult> results = RunCases(all, skips, options, arguments);
  std::vector<std::string> shortfalls = Shortfalls(results, options);
  bool failed =
      all.empty() || !shortfalls.empty() || std::ranges::count(results, Outcome::kFailed, &CaseResult::outcome) > 0;
  std::vector<std::string> remarks = UnusedSkips(skips, all, options);
  std::ranges::move(shortfalls, std::back_inserter(remarks));
  if (!options.junit.empty() && !WriteJUnit(results, options.junit)) {
    failed = true;
    remarks.push_back(fmt::format("cannot write {} (--junit)", options.junit.string()));
  }
  PrintSummary(results, options, remarks);
  return failed ? kFailed : kDone;
}

/// What the command line says in words of its own.
struct Arguments {
  bool parallel = false, no_arena = false, no_pattern = false, pause = false;
  int optimization = 99;
  std::string mode = "node", precision;
  std::vector<std::string> provider_options, plugins, operator_libraries;
};

void Declare(CommandLine& app, Options& options, Arguments& arguments) {
  app.Add("folders", options.folders, "Folders to search for cases, nested ones too").Required();
  app.Add("-e", options.provider, "Execution provider, " + ProviderNames() + "; the CPU provider takes what it refuses")
      .Default("cpu");
  app.Add("-i", arguments.provider_options, kProviderOptionsHelp);
  app.Add("--plugin", arguments.plugins, kPluginHelp);
  app.Add("--operator-library", arguments.operator_libraries, kOperatorLibraryHelp);
  app.Add("-j", options.jobs, "Cases to run at a time").Range(1, 1024);
  app.Add("-c", options.concurrent, "Threads that call Run at once on each session").Range(1, 1024);
  app.Add("-r", options.repeat, "Runs of each data set").Range(1, 1000000);
  app.Add("--stack", options.stack, "KiB of stack of the threads that load models, run and unload them (0: the system's)")
      .Range(0, 1 << 20);
  app.Add("-m", arguments.mode, "Kind of the cases, accepted for compatibility").OneOf({"node", "model"});
  app.Add("-n", options.name_pattern, "Only cases whose name matches this regular expression");
  app.Add("-t", options.rtol,
          "Relative tolerance (default: the case's tolerance.json, or 1e-3; where neither -t, -a nor the file "
          "says anything, two units in the last place of float16 and bfloat16)");
  app.Add("-a", options.atol,
          "Absolute tolerance (default: the case's tolerance.json, or 1e-7); 1 or more lets integers of 8 and 16 "
          "bits differ, wider ones are exact");
  app.Add("-o", arguments.optimization, "Graph optimization level").OneOf({0, 1, 2, 3, 99});
  app.Add("--precision", arguments.precision, "What matmuls may be computed in (session.precision)")
      .OneOf({"f32", "bf16", "bf16-weights", "fp16", "int8-dynamic"});
  app.Flag("-x", arguments.parallel, "Use the parallel executor");
  app.Flag("-v", options.verbosity, "Verbose; twice: the runtime's log too");
  app.Flag("-p", arguments.pause, "Pause after launch, to attach a debugger");
  app.Flag("-s", options.statistics, "Show times");
  app.Flag("-A", arguments.no_arena, "Disable the memory arena");
  app.Flag("-M", arguments.no_pattern, "Disable memory patterns");
  app.Add("--intra-op-threads", options.session.intra_op_threads, "Threads in an operator (0: one a core)");
  app.Flag("--special-values", options.special_values,
           "Compare with the CPU provider instead, on the cases' inputs with NaN, infinities, zeros "
           "and subnormal numbers among them");
  app.Add("--skip", options.skip_list, "File of 'NAME: reason' lines; names that no case has are told of");
  app.Add("--junit", options.junit, "Write JUnit XML here");
  app.Flag("--isolate", options.isolate, "Run cases in worker processes: a crash fails one case only");
  app.Add("--timeout", options.timeout_seconds, "Seconds a case may take; needs --isolate (0: any)").Range(0, 1000000);
  app.Add("--expect-passed", options.expect_passed, "Fail unless exactly so many cases pass");
  app.Add("--least-share", options.least_share, "Fail unless the provider runs nodes in so many percent of the cases")
      .Range(0.0, 100.0);
  app.Flag("--every-operator", options.every_operator,
           "Fail unless the provider runs each operator that it has in some case");
  app.Flag("--worker", options.worker, "").Hidden();
}

void Apply(const Arguments& arguments, Options& options) {
  options.session.execution_mode = arguments.parallel ? ExecutionMode::kParallel : ExecutionMode::kSequential;
  options.session.optimization_level = static_cast<OptimizationLevel>(arguments.optimization);
  options.session.enable_arena = !arguments.no_arena;
  if (!arguments.precision.empty()) options.session.config["session.precision"] = arguments.precision;
  options.session.enable_memory_pattern = !arguments.no_pattern;
  if (options.verbosity > 1) options.session.log_level = LogLevel::kVerbose;
  RegisterPlugins(arguments.plugins);
  SetProviders(options.session, {options.provider}, arguments.provider_options);
  AddOperatorLibraries(options.session, arguments.operator_libraries);
  options.session.error_on_failure = true;
  if (options.timeout_seconds > 0 && !options.isolate) {
    throw UsageError("--timeout", "needs --isolate: only a worker process can be ended while it computes");
  }
}

int Main(int argc, char** argv) {
  CommandLine app{"Runs ONNX test-data directories (FOLDER/model.onnx, FOLDER/test_data_set_N/{input,output}_K.pb)"};
  Options options;
  Arguments arguments;
  Declare(app, options, arguments);
  if (const auto status = app.Parse(argc, argv)) return *status;
  try {
    Apply(arguments, options);
    if (arguments.pause && !options.worker) {
      Print(stderr, "pid {}: press Enter to go on\n", getpid());
      std::getchar();
    }
    return Run(options, {argv, argv + argc});
  } catch (const UsageError& error) {
    return app.Exit(error);
  } catch (const Error& error) {  // cases keep theirs: this is a folder or a file that the command line names
    Print(stderr, "onnx_test_runner: {}\n", error.what());
    return kUsageMistake;
  } catch (const std::exception& error) {
    Print(stderr, "onnx_test_runner: {}\n", error.what());
    return kBroken;
  }
}

}  // namespace
}  // namespace tessera::runner

int main(int argc, char** argv) { return tessera::runner::Main(argc, argv); }
