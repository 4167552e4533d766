// Runs ONNX test-data directories on a provider and reports what passed. The flags are those of ONNX Runtime's runner.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "command_line/command_line.h"
#include "defective_data.h"
#include "provider_options.h"
#include "report.h"
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
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' gives no reason; write 'NAME: reason'", path.string(), line));
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
    if (result.outcome == Outcome::kFailed) {
      fmt::print("{}FAILED {} [{}] {}\n", terminal_ ? "\r\033[K" : "", result.name, result.cause, result.message);
    } else if (verbosity_ > 0) {
      fmt::print("{}{} {} ({:.2f} ms)\n", terminal_ ? "\r\033[K" : "",
                 result.outcome == Outcome::kPassed ? "passed" : "skipped", result.name, result.run_ms);
    }
    if (terminal_) {
      fmt::print("\r\033[K{}/{} {}", done_, total_, result.name);
      if (done_ == total_) fmt::print("\r\033[K");
    } else if (done_ % 250 == 0) {
      fmt::print("{}/{} cases\n", done_, total_);
    }
    std::fflush(stdout);
  }

 private:
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
  std::vector<std::thread> threads;
  for (int i = 1; i < options.jobs; ++i) threads.emplace_back(serve);
  serve();
  for (std::thread& thread : threads) thread.join();
}

int Run(const Options& options, const std::vector<std::string>& arguments) {
  if (options.worker) return WorkerMain(options);
  const std::vector<TestCase> all = FindCases(options);
  const auto skips = ReadSkipList(options.skip_list);
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
  if (all.empty()) fmt::print("No case was found: a case is a folder with a .onnx file and test_data_set_* folders.\n");

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
  if (!options.junit.empty()) WriteJUnit(results, options.junit);
  PrintSummary(results, options);
  const bool failed = std::any_of(results.begin(), results.end(), [](auto& r) { return r.outcome == Outcome::kFailed; });
  return failed || all.empty() ? 1 : 0;
}

int Main(int argc, char** argv) {
  CommandLine app{"Runs ONNX test-data directories (FOLDER/model.onnx, FOLDER/test_data_set_N/{input,output}_K.pb)"};
  Options options;
  bool parallel = false, no_arena = false, no_pattern = false, pause = false;
  int optimization = 99;
  std::string mode = "node", precision;
  std::vector<std::string> provider_options;
  app.Add("folders", options.folders, "Folders to search for cases, nested ones too").Required();
  app.Add("-e", options.provider, "Execution provider, by name or short name; CPU takes what it refuses")
      .Default("cpu");
  app.Add("-i", provider_options, kProviderOptionsHelp);
  app.Add("-j", options.jobs, "Cases to run at a time").Range(1, 1024);
  app.Add("-c", options.concurrent, "Threads that call Run at once on each session").Range(1, 1024);
  app.Add("-r", options.repeat, "Runs of each data set").Range(1, 1000000);
  app.Add("-m", mode, "Kind of the cases, accepted for compatibility").OneOf({"node", "model"});
  app.Add("-n", options.name_pattern, "Only cases whose name matches this regular expression");
  app.Add("-t", options.rtol, "Relative tolerance (default 1e-3, or the case's tolerance.json)");
  app.Add("-a", options.atol, "Absolute tolerance (default 1e-7, or the case's tolerance.json)");
  app.Add("-o", optimization, "Graph optimization level").OneOf({0, 1, 2, 3, 99});
  app.Add("--precision", precision, "What products may be computed in (session.precision)")
      .OneOf({"f32", "bf16", "fp16", "int8-dynamic"});
  app.Flag("-x", parallel, "Use the parallel executor");
  app.Flag("-v", options.verbosity, "Verbose; twice: the runtime's log too");
  app.Flag("-p", pause, "Pause after launch, to attach a debugger");
  app.Flag("-s", options.statistics, "Show times");
  app.Flag("-A", no_arena, "Disable the memory arena");
  app.Flag("-M", no_pattern, "Disable memory patterns");
  app.Add("--intra-op-threads", options.session.intra_op_threads, "Threads in an operator (0: one a core)");
  app.Add("--skip", options.skip_list, "File of 'NAME: reason' lines");
  app.Add("--junit", options.junit, "Write JUnit XML here");
  app.Flag("--isolate", options.isolate, "Run cases in worker processes: a crash fails one case only");
  app.Add("--timeout", options.timeout_seconds, "Seconds a case may take under --isolate (0: any)");
  app.Flag("--worker", options.worker, "").Hidden();
  if (const auto status = app.Parse(argc, argv)) return *status;

  options.session.execution_mode = parallel ? ExecutionMode::kParallel : ExecutionMode::kSequential;
  options.session.optimization_level = static_cast<OptimizationLevel>(optimization);
  options.session.enable_arena = !no_arena;
  if (!precision.empty()) options.session.config["session.precision"] = precision;
  options.session.enable_memory_pattern = !no_pattern;
  if (options.verbosity > 1) options.session.log_level = LogLevel::kVerbose;
  try {
    options.session.providers = {{options.provider, ParseProviderOptions(provider_options)}};
    options.session.error_on_failure = true;
    if (pause && !options.worker) {
      fmt::print(stderr, "pid {}: press Enter to go on\n", getpid());
      std::getchar();
    }
    return Run(options, {argv, argv + argc});
  } catch (const UsageError& error) {
    return app.Exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "onnx_test_runner: {}\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace tessera::runner

int main(int argc, char** argv) { return tessera::runner::Main(argc, argv); }
