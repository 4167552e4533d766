// How long a cancelled run goes on, operator by operator: the cases of ONNX test-data folders with inputs made so large
// that a run takes a while, cancelled on the way. Prints a table, slowest first.
//
//   cancel_latency FOLDER... [-e PROVIDER [-i "KEY|VALUE"]] [-t THREADS] [--declare] [--per-operator N] [-n REGEX]
//   [--memory GB]
//                  [--growth FILE]
//
// Inputs grow by repeating them along axes of one size, which fit each other more often than not, or by larger numbers
// where they are sizes. How a case can grow is found out, or read from a file that earlier calls wrote, so that providers
// meet the same inputs. Each case runs in a process of its own. A run that ends late is cancelled at the same moment again,
// and the median counts: other processes may have had the cores. What the process itself computed until the end stands
// beside it. Below the table stand the provider's operators that no case ran for long.

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "cancelled_case.h"
#include "command_line/command_line.h"
#include "hostile_model.h"
#include "model/proto.h"
#include "provider_options.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/serialization.h"
#include "tessera/session.h"

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;

struct Task {
  fs::path folder;
  std::string growth;
  CancelResult result{};
  std::string failure;
};

void RunChild(const CancelSettings& settings, const Task& task, CancelResult& result) {
  // A device's compiler needs some memory, and its driver reserves addresses for all that the device has.
  const bool host = settings.session.providers.empty();
  const rlim_t limit = host ? rlim_t{5} << 30 : rlim_t{16} << 30;
  const rlimit memory{limit, limit};
  setrlimit(host ? RLIMIT_AS : RLIMIT_DATA, &memory);
  int status = 0;
  try {
    CancelledCase(task.folder, settings, result).Run(task.growth);
  } catch (const Error&) {
    status = 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", task.folder.filename().string(), error.what());
    status = 4;
  }
  fflush(nullptr);
  _exit(status);
}

void RunTask(const CancelSettings& settings, Task& task) {
  void* shared = mmap(nullptr, sizeof(CancelResult), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  auto& result = *new (shared) CancelResult(task.result);
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) RunChild(settings, task, result);
  const Clock::time_point start = Clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (MillisecondsSince(start) > settings.seconds * 1000.0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      task.failure = "took too long";
      break;
    }
    usleep(1000);
  }
  if (task.failure.empty() && WIFSIGNALED(status)) task.failure = fmt::format("signal {}", WTERMSIG(status));
  task.result = result;
  munmap(shared, sizeof(CancelResult));
}

/// What the case is about: its only operator, or its name.
std::string OperatorOf(const fs::path& folder) {
  try {
    const auto model = ParseMessage<onnx::ModelProto>(ReadBytes(folder / "model.onnx"), "model");
    std::set<std::string> ops;
    for (const onnx::NodeProto& node : model.graph().node()) {
      if (node.op_type() != "Constant")
        ops.insert((node.domain().empty() || node.domain() == "ai.onnx" ? "" : node.domain() + ".") + node.op_type());
    }
    return ops.size() == 1 ? *ops.begin() : "";
  } catch (const std::exception&) {
    return "";
  }
}

std::map<std::string, std::string> ReadGrowths(const std::string& path) {
  std::map<std::string, std::string> growths;
  std::ifstream file(path);
  for (std::string name, growth; file >> name >> growth;) growths[name] = growth;
  return growths;
}

/// The operators that the provider, by its short name, has kernels for or compiles.
std::set<std::string> ListOperators(const std::string& cli_name, const ProviderOptions& options) {
  std::set<std::string> names;
  const auto add = [&](std::string_view domain, std::string_view op) {
    names.insert(domain.empty() || domain == "ai.onnx" ? std::string(op) : fmt::format("{}.{}", domain, op));
  };
  for (const ProviderFactory* factory : RegisteredProviders()) {
    if (factory->cli_name != cli_name) continue;
    ProviderOptions all = options;
    for (const OptionSchema& option : factory->options) all.emplace(option.name, option.default_value);
    const auto provider = factory->create(all);
    for (const KernelDef* def : provider->kernels().definitions()) {
      if (def->domain() != "ai.tessera") add(def->domain(), def->op_type());
    }
    for (const CompiledOperator& one : provider->CompiledOperators()) add(one.domain, one.op_type);
  }
  return names;
}

/// The same, found in a process of its own: drivers that were opened here would not work in the processes of the cases.
std::set<std::string> OperatorsOf(const std::string& cli_name, const ProviderOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) throw std::bad_alloc();
  fflush(nullptr);
  if (fork() == 0) {
    close(ends[0]);
    FILE* to = fdopen(ends[1], "w");
    for (const std::string& name : ListOperators(cli_name, options)) fmt::print(to, "{}\n", name);
    fclose(to);
    _exit(0);
  }
  close(ends[1]);
  FILE* from = fdopen(ends[0], "r");
  std::set<std::string> names;
  for (char name[256]; fscanf(from, "%255s", name) == 1;) names.insert(name);
  fclose(from);
  wait(nullptr);
  return names;
}

/// Cases of these operators, the first ones of each.
std::vector<Task> FindTasks(const std::vector<std::string>& folders, const std::set<std::string>& operators,
                            const std::regex& names, int per_operator, const std::map<std::string, std::string>& growths) {
  std::map<std::string, int> counts;
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "model.onnx") paths.push_back(entry.path().parent_path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Task> tasks;
  for (const fs::path& path : paths) {
    const std::string op = OperatorOf(path);
    if (!operators.contains(op) || !std::regex_search(op + " " + path.filename().string(), names) ||
        ++counts[op] > per_operator)
      continue;
    Task task{.folder = path, .growth = {}, .failure = {}};
    snprintf(task.result.op, sizeof task.result.op, "%s", op.c_str());
    if (const auto found = growths.find(path.filename().string()); found != growths.end()) task.growth = found->second;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

/// Says which of them no case ran for long enough.
void PrintMissing(std::set<std::string> operators, const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    if (task.result.outcome != 0) operators.erase(task.result.op);
  }
  fmt::print("\n{} operators without a long case:", operators.size());
  for (const std::string& name : operators) fmt::print(" {}", name);
  fmt::print("\n");
}

void Print(std::vector<Task> tasks) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Task& a, const Task& b) { return a.result.latency_ms > b.result.latency_ms; });
  size_t cancelled = 0, late = 0, finished = 0, brief = 0;
  fmt::print(
      "| operator | case | provider | run ms | MB | latency ms | of processors |  |\n|---|---|---|--:|--:|--:|--:|---|\n");
  for (const Task& task : tasks) {
    const CancelResult& r = task.result;
    cancelled += r.outcome == 1 ? 1 : 0;
    finished += r.outcome == 2 ? 1 : 0;
    late += r.latency_ms > kLateMs ? 1 : 0;
    brief += r.outcome == 0 ? 1 : 0;
    const std::string note = !task.failure.empty() ? task.failure
                             : r.outcome == 2      ? "went to its end"
                             : r.outcome == 0      ? "not long"
                                                   : "";
    fmt::print("| {} | {} | {} | {:.0f} | {:.0f} | {:.1f} | {:.1f} | {} |\n", r.op, task.folder.filename().string(),
               r.provider, r.run_ms, r.megabytes, r.latency_ms, r.processor_ms, note);
  }
  fmt::print("\n{} cases: {} cancelled, {} went to their end, {} later than {} ms, {} not long enough to cancel\n",
             tasks.size(), cancelled, finished, late, kLateMs, brief);
}

int Main(int argc, char** argv) {
  CommandLine app{
      "Measures how long cancelled runs go on: the cases of ONNX test-data folders with inputs grown until a run is long"};
  std::vector<std::string> folders, provider_options;
  CancelSettings settings;
  std::string provider, names = ".", growth_file;
  int per_operator = 3;
  double gigabytes = 1;
  settings.session.intra_op_threads = 1;
  settings.session.log_level = LogLevel::kFatal;
  app.Add("folders", folders, "Folders of cases").Required();
  app.Add("-e", provider, "Execution provider before CPU");
  app.Add("-i", provider_options, kProviderOptionsHelp);
  app.Add("-t", settings.session.intra_op_threads, "Threads of a session").Range(1, 1024);
  app.Add("-n", names, "Only operators and cases that match this");
  app.Add("--per-operator", per_operator, "Cases of an operator that are tried until one of them runs for long")
      .Range(1, std::numeric_limits<int>::max());
  app.Add("--growth", growth_file, "File that tells how inputs grow; what is found out is added to it");
  app.Flag("--declare", settings.declare, "Declare the shapes of grown inputs");
  app.Add("--memory", gigabytes, "Most gigabytes of inputs");
  app.Add("--timeout", settings.seconds, "Seconds for a case").Range(1, 3600);
  if (const auto status = app.Parse(argc, argv)) return *status;
  settings.most_bytes = gigabytes * 1e9;
  SetProviders(settings.session, provider.empty() ? std::vector<std::string>() : std::vector{provider}, provider_options);
  settings.session.config["session.min_island_nodes"] = "0";
  settings.session.error_on_failure = !provider.empty();
  const std::set<std::string> operators = OperatorsOf(
      provider.empty() ? "cpu" : provider, provider.empty() ? ProviderOptions() : settings.session.providers[0].options);
  std::vector<Task> tasks = FindTasks(folders, operators, std::regex(names), per_operator, ReadGrowths(growth_file));
  std::set<std::string> measured;
  std::vector<Task> tried;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (measured.contains(tasks[i].result.op)) continue;
    const bool known = !tasks[i].growth.empty();
    RunTask(settings, tasks[i]);
    const CancelResult& r = tasks[i].result;
    if (r.outcome != 0) measured.insert(r.op);
    tried.push_back(tasks[i]);
    if (!growth_file.empty() && !known && r.growth[0] != 0) {
      std::ofstream(growth_file, std::ios::app) << tasks[i].folder.filename().string() << ' ' << r.growth << '\n';
    }
    fmt::print(stderr, "{}/{} {} {:.0f} ms, {:.1f} ms late ({:.1f}) {}\n", i + 1, tasks.size(),
               tasks[i].folder.filename().string(), r.run_ms, r.latency_ms, r.processor_ms, tasks[i].failure);
  }
  Print(tried);
  PrintMissing(operators, tried);
  return 0;
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) { return tessera::fuzz::Main(argc, argv); }
