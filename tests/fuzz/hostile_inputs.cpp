// Runs every kernel on hostile inputs: the cases of ONNX test-data directories with shapes, elements, attributes and types
// that no honest caller gives. Each case runs in a process of its own; every outcome but a result or an Error is a bug.
//
//   hostile_inputs FOLDER... [-e PROVIDER [-i "KEY|VALUE"]] [--seed N] [--per-case N] [--every N] [-j N] [--types] [--case
//   NAME --first N]

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "base/sanitizers.h"
#include "command_line/command_line.h"
#include "hostile_model.h"
#include "model/proto.h"
#include "provider_options.h"
#include "tessera/serialization.h"
#include "tessera/session.h"
#include "toy_provider.h"

#ifdef __SANITIZE_ADDRESS__
/// A size that an input names may be huge: such an allocation fails, and must become an Error.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "max_allocation_size_mb=256:allocator_may_return_null=1";
}
#endif

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Settings {
  uint32_t seed = 1;
  int per_case = 30;
  int timeout_seconds = 20;  // of one attempt, before it counts as hanging
  bool types = false;        // all attempts leave types open
  SessionOptions session;    // its providers: before the CPU provider
};

std::vector<std::byte> Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(chars.data());
  return {data, data + chars.size()};
}

/// Cancels a run that takes long: a loop that never ends is not a bug as long as it can be stopped.
class Watchdog {
 public:
  explicit Watchdog(RunOptions& options, int seconds)
      : thread_([this, &options, seconds] {
          std::unique_lock lock(mutex_);
          if (!done_.wait_for(lock, std::chrono::seconds(seconds), [this] { return over_; })) options.Cancel();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread thread_;
};

/// What the parent reads after the child is gone.
struct Progress {
  int attempt;
  int ran, failed, refused;
};

class Attempts {
 public:
  Attempts(const fs::path& folder, const Settings& settings, Progress& progress)
      : settings_(settings), progress_(progress) {
    original_ = ParseMessage<onnx::ModelProto>(Read(folder / "model.onnx"), "model");
    for (int i = 0; i < original_.graph().input_size(); ++i) {
      const fs::path path = folder / "test_data_set_0" / fmt::format("input_{}.pb", i);
      if (!fs::exists(path)) break;
      inputs_.push_back(ExactCopy(ParseValue(Read(path), FromProto(original_.graph().input(i).type()))));
    }
    stripped_ = original_;
    DropShapes(stripped_);
    options_ = settings.session;
    options_.intra_op_threads = 1;
    options_.error_on_failure = true;
    options_.config["session.min_island_nodes"] = "0";
    // Every buffer is one of the process's own allocations: an access beyond it is seen.
    options_.enable_arena = false;
    options_.enable_memory_pattern = false;
    options_.log_level = LogLevel::kFatal;
    open_options_ = options_;
    open_options_.providers.insert(open_options_.providers.begin(),
                                   {std::string(testing::Toy().name), {{"ops", "Untyped"}}});
    // FNV-1a: a case keeps its stream when others come and go.
    for (const char c : folder.filename().string()) name_hash_ = (name_hash_ ^ static_cast<unsigned char>(c)) * 16777619u;
  }

  void Run(int n) {
    Random random(settings_.seed * 1'000'003u + name_hash_ + static_cast<uint32_t>(n) * 7919u);
    std::vector<Value> inputs = inputs_;
    // Half of the attempts damage inputs of one session; the others also change the model.
    if (n % 2 == 0 && !settings_.types) {
      if (!session_) session_ = Load(stripped_, options_);
      if (!session_) return;
      DamageSome(inputs, random);
      return RunSession(*session_, inputs);
    }
    onnx::ModelProto model = OneIn(random, 4) ? original_ : stripped_;
    SessionOptions* options = &options_;
    switch (settings_.types ? kLeaveTypesOpen : random() % 6) {
      case 0:
        DamageNode(model, random);
        if (OneIn(random, 3)) DamageNode(model, random);
        break;
      case 1: ChangeType(model, inputs, random); break;
      case kLeaveTypesOpen: {  // the outputs' declared types stay
        const auto outputs = model.graph().output();
        for (size_t changes = Below(random, 3); changes > 0; --changes) ChangeType(model, inputs, random);
        *model.mutable_graph()->mutable_output() = outputs;
        LeaveTypesOpen(model, random);
        options = &open_options_;
        break;
      }
      case 2:
        DamageSome(inputs, random);
        DropShapes(model);
        DeclareShapes(model, inputs);
        break;
      case 3:
        model = original_;
        DamageSome(inputs, random);
        DeclareUnchecked(model, inputs, random);
        break;
      default: model = stripped_; DamageSome(inputs, random);
    }
    if (OneIn(random, 2)) MakeSomeConstant(model, inputs, random);
    if (const auto session = Load(model, *options)) RunSession(*session, inputs);
  }

 private:
  static constexpr unsigned kLeaveTypesOpen = 4;  // a way to change the model

  static void ChangeType(onnx::ModelProto& model, std::vector<Value>& inputs, Random& random) {
    const size_t i = Below(random, inputs.size());
    if (i >= inputs.size() || !inputs[i].is_tensor()) return;
    const ElementType type = ChangeInputType(model, i, random);
    if (type != ElementType::kUndefined) inputs[i] = RandomTensor(type, inputs[i].tensor().shape(), random);
  }

  static void DamageSome(std::vector<Value>& inputs, Random& random) {
    if (inputs.empty()) return;
    for (size_t n = 1 + Below(random, 2); n > 0; --n) {
      Value& input = inputs[Below(random, inputs.size())];
      input = Damage(input, random);
    }
  }

  static void MakeSomeConstant(onnx::ModelProto& model, std::vector<Value>& inputs, Random& random) {
    std::vector<Value> left;
    std::vector<std::pair<std::string, Tensor>> constants;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor* tensor = inputs[i].tensor_if();
      if (tensor != nullptr && OneIn(random, 2)) {
        constants.emplace_back(model.graph().input(static_cast<int>(i)).name(), *tensor);
      } else {
        left.push_back(inputs[i]);
      }
    }
    for (const auto& [name, tensor] : constants) MakeConstant(model, name, tensor);
    inputs = std::move(left);
  }

  std::optional<Session> Load(const onnx::ModelProto& model, const SessionOptions& options) {
    try {
      const std::string bytes = model.SerializeAsString();
      return Session(std::span(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), options);
    } catch (const Error&) {
      ++progress_.refused;
      return std::nullopt;
    }
  }

  void RunSession(const Session& session, const std::vector<Value>& inputs) {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(inputs.size(), session.inputs().size()); ++i) names.push_back(session.inputs()[i].name);
    RunOptions options;
    const Watchdog watchdog(options, settings_.timeout_seconds / 4);
    try {
      session.Run(names, std::span(inputs).first(names.size()), {}, options);
      ++progress_.ran;
    } catch (const Error&) {
      ++progress_.failed;
    }
  }

  const Settings& settings_;
  Progress& progress_;
  onnx::ModelProto original_, stripped_;
  std::vector<Value> inputs_;
  SessionOptions options_, open_options_;
  std::optional<Session> session_;
  uint32_t name_hash_ = 2166136261u;
};

struct Child {
  fs::path folder;
  pid_t pid = 0;
  Progress* progress = nullptr;
  int seen_attempt = -1;
  Clock::time_point since;
  int deaths = 0;
};

/// The child: attempts from `first` on. Never returns.
[[noreturn]] void RunChild(const fs::path& folder, int first, const Settings& settings, Progress& progress) {
  int status = 0;
#ifndef __SANITIZE_ADDRESS__
  // A device's compiler needs some memory, and its driver reserves addresses for all that the device has.
  const bool host = settings.session.providers.empty();
  const rlim_t gib = host ? 2 : 8;
  const rlimit memory{gib << 30, gib << 30};
  setrlimit(host ? RLIMIT_AS : RLIMIT_DATA, &memory);
#endif
  try {
    Attempts attempts(folder, settings, progress);
    for (int n = first; n < settings.per_case; ++n) {
      progress.attempt = n;
      attempts.Run(n);
    }
  } catch (const Error&) {  // data that cannot be read
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: an exception that is no Error: {}\n", folder.filename().string(), error.what());
    status = 3;
  }
  fflush(nullptr);
  _exit(status);
}

class Runner {
 public:
  Runner(const Settings& settings, int jobs) : settings_(settings), children_(static_cast<size_t>(jobs)) {
    for (Child& child : children_) {
      void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (shared == MAP_FAILED) throw std::bad_alloc();
      child.progress = static_cast<Progress*>(shared);
    }
  }

  /// The number of attempts that ended in anything but a result or an Error.
  int Run(const std::vector<fs::path>& folders, int first) {
    size_t next = 0;
    for (;;) {
      bool busy = false;
      for (Child& child : children_) {
        if (child.pid == 0 && next < folders.size()) {
          child.folder = folders[next++];
          child.deaths = 0;
          Start(child, first);
        }
        if (child.pid != 0) busy = true;
      }
      if (!busy) break;
      for (Child& child : children_) {
        if (child.pid != 0) Watch(child);
      }
      usleep(2000);
    }
    fmt::print("{} cases: {} attempts ran, {} failed with an error, {} models were refused, {} bugs\n", folders.size(),
               total_.ran, total_.failed, total_.refused, bugs_);
    return bugs_;
  }

 private:
  void Start(Child& child, int first) {
    *child.progress = Progress{.attempt = first};
    child.seen_attempt = -1;
    child.since = Clock::now();
    fflush(nullptr);
    child.pid = fork();
    if (child.pid == 0) RunChild(child.folder, first, settings_, *child.progress);
    if (child.pid < 0) throw std::runtime_error("fork failed");
  }

  void Watch(Child& child) {
    if (child.progress->attempt != child.seen_attempt) {
      child.seen_attempt = child.progress->attempt;
      child.since = Clock::now();
    }
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG) == 0) {
      if (Clock::now() - child.since < std::chrono::seconds(settings_.timeout_seconds)) return;
      kill(child.pid, SIGKILL);
      waitpid(child.pid, &status, 0);
      Ended(child, fmt::format("hung for {} s and could not be cancelled", settings_.timeout_seconds));
    } else if (WIFSIGNALED(status)) {
      Ended(child, fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
    } else if (WEXITSTATUS(status) != 0) {
      Ended(child, fmt::format("ended with exit code {}", WEXITSTATUS(status)));
    } else {
      Add(*child.progress);
      child.pid = 0;
    }
  }

  /// Reports, and goes on behind the attempt that failed.
  void Ended(Child& child, const std::string& how) {
    ++bugs_;
    const int attempt = child.progress->attempt;
    fmt::print("BUG {} attempt {}: {}; repeat with --case {} --first {}\n", child.folder.filename().string(), attempt, how,
               child.folder.filename().string(), attempt);
    fflush(stdout);
    Add(*child.progress);
    child.pid = 0;
    constexpr int kEnoughOfOneCase = 3;
    if (++child.deaths < kEnoughOfOneCase && attempt + 1 < settings_.per_case) Start(child, attempt + 1);
  }

  void Add(const Progress& progress) {
    total_.ran += progress.ran;
    total_.failed += progress.failed;
    total_.refused += progress.refused;
  }

  const Settings& settings_;
  std::vector<Child> children_;
  Progress total_{};
  int bugs_ = 0;
};

int Main(int argc, char** argv) {
  CommandLine app{
      "Runs the cases of ONNX test-data directories with hostile inputs; only results and errors may come of it"};
  std::vector<std::string> folders;
  Settings settings;
  int every = 1, jobs = 1, first = 0;
  std::string only, provider;
  std::vector<std::string> provider_options;
  app.Add("folders", folders, "Folders of cases").Required();
  app.Add("-e", provider, "Execution provider before CPU");
  app.Add("-i", provider_options, kProviderOptionsHelp);
  app.Add("--seed", settings.seed, "Start of the random stream");
  app.Add("--per-case", settings.per_case, "Attempts on each case");
  app.Add("--every", every, "Take one case of so many").Range(1, std::numeric_limits<int>::max());
  app.Add("--timeout", settings.timeout_seconds, "Seconds after which an attempt counts as hanging");
  app.Flag("--types", settings.types, "Only leave types open, and swap them");
  app.Add("-j", jobs, "Processes at a time").Range(1, std::numeric_limits<int>::max());
  app.Add("--case", only, "This case only");
  app.Add("--first", first, "Attempts from this one on");
  if (const auto status = app.Parse(argc, argv)) return *status;
  SetProviders(settings.session, provider.empty() ? std::vector<std::string>() : std::vector{provider}, provider_options);
  std::vector<fs::path> cases;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() != "model.onnx" || entry.file_size() > (1 << 20)) continue;
      const fs::path path = entry.path().parent_path();
      if (fs::is_directory(path / "test_data_set_0") && (only.empty() || path.filename() == only)) cases.push_back(path);
    }
  }
  std::sort(cases.begin(), cases.end());
  std::vector<fs::path> chosen;
  for (size_t i = 0; i < cases.size(); i += static_cast<size_t>(every)) chosen.push_back(cases[i]);
  if (chosen.empty()) {
    fmt::print(stderr, "hostile_inputs: no case was found: a case is a folder with model.onnx and test_data_set_0\n");
    return 2;
  }
  return Runner(settings, jobs).Run(chosen, first) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) { return tessera::fuzz::Main(argc, argv); }
