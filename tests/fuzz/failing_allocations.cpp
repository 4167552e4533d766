// Memory runs out at every place where a session may ask for it: the n-th allocation of a session's life fails, for each n.
// What comes of it is an Error or a right result; the session, and one made afterwards, work; and nothing is left behind.
//
//   failing_allocations [MODEL] [--from N] [--every N] [--threads N] [-e PROVIDER]

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "base/sanitizers.h"
#include "command_line/command_line.h"
#include "faulty_new.h"
#include "fixed_models.h"
#include "tessera/session.h"

#ifdef __SANITIZE_ADDRESS__
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:google::protobuf\n";
}
#endif

namespace tessera::fuzz {
namespace {

using Results = std::vector<Value>;

/// Equal but for rounding: what failed once may be computed by another kernel.
bool Near(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || !a.is_tensor() || a.tensor().type() != b.tensor().type() ||
      a.tensor().shape() != b.tensor().shape())
    return false;
  if (a.tensor().is(ElementType::kString))
    return std::ranges::equal(a.tensor().values<std::string>(), b.tensor().values<std::string>());
  if (!a.tensor().is(ElementType::kFloat))
    return std::ranges::equal(a.tensor().values<uint8_t>(), b.tensor().values<uint8_t>());
  return std::ranges::equal(a.tensor().values<float>(), b.tensor().values<float>(),
                            [](float x, float y) { return std::abs(x - y) <= 1e-4f + 1e-3f * std::abs(y); });
}

/// The functions of this program by their offsets, as nm lists them.
std::map<uintptr_t, std::string> OwnFunctions() {
  std::map<uintptr_t, std::string> functions;
  FILE* const listing = popen("nm -C --defined-only /proc/$PPID/exe", "r");
  if (listing == nullptr) return functions;
  std::array<char, 4096> line{};
  while (fgets(line.data(), static_cast<int>(line.size()), listing) != nullptr) {
    char* name = nullptr;
    const uintptr_t offset = std::strtoull(line.data(), &name, 16);
    functions[offset] = std::string(name).substr(0, 400);
  }
  pclose(listing);
  return functions;
}

/// Whether the code at `address` is protobuf's, or onnx's generated from it or around it.
bool IsProtobufs(const void* address) {
  Dl_info where{};
  if (dladdr(address, &where) == 0) return false;
  if (std::strstr(where.dli_fname, "libprotobuf") != nullptr) return true;
  static const std::map<uintptr_t, std::string> functions = OwnFunctions();
  const auto after = functions.upper_bound(
      static_cast<uintptr_t>(static_cast<const char*>(address) - static_cast<const char*>(where.dli_fbase)));
  if (after == functions.begin()) return false;
  const std::string& name = std::prev(after)->second;
  return name.find("google::protobuf::") != std::string::npos;
}

class Lives {
 public:
  Lives(const FixedModel& model, const SessionOptions& options)
      : model_(model), options_(options), bytes_(model.proto.SerializeAsString()) {
    const Session session = Load();
    expected_ = Run(session, model.inputs);
    expected_other_ = Run(session, model.other_inputs);
  }

  /// False once a life has fewer than `n` allocations.
  bool Live(int64_t n) {
    const int64_t before = LiveAllocations();
    FailAllocation(n);
    std::optional<Session> session;
    refused_ += Fails(n, [&] { session.emplace(Load()); });
    if (session) {
      RunTwice(*session, model_.inputs, expected_, n);
      RunTwice(*session, model_.other_inputs, expected_other_, n);
    }
    session.reset();
    const bool failed = AllocationsSince() >= n;
    FailAllocation(0);
    CheckLeaks(n, before);
    return failed;
  }

  /// A whole life without a failure.
  void LiveWell(int64_t n) {
    const Session session = Load();
    RunTwice(session, model_.inputs, expected_, n);
    RunTwice(session, model_.other_inputs, expected_other_, n);
  }

  int bugs() const noexcept { return bugs_; }
  int refused() const noexcept { return refused_; }
  int failed() const noexcept { return failed_; }

 private:
  Session Load() const { return Session(std::as_bytes(std::span(bytes_)), options_); }

  static Results Run(const Session& session, const Results& inputs) {
    Results results;
    {
      const Unfailing own;
      results.resize(session.outputs().size());
    }
    session.Run(inputs, results);
    return results;
  }

  /// The failure is over once it has come: the run after it is as good as any.
  void RunTwice(const Session& session, const Results& inputs, const Results& expected, int64_t n) {
    Results results;
    if (Fails(n, [&] { results = Run(session, inputs); })) {
      ++failed_;
      if (Fails(n, [&] { results = Run(session, inputs); })) return Bug(n, "the run after a failed one fails, too");
    }
    if (!std::ranges::equal(results, expected, Near)) Bug(n, "wrong results");
  }

  /// True where the call ends in an Error.
  template <class Call>
  bool Fails(int64_t n, const Call& call) {
    try {
      call();
      return false;
    } catch (const Error&) {
      return true;
    } catch (const std::exception& error) {
      const Unfailing own;
      Bug(n, fmt::format("an exception that is no Error: {}", error.what()));
      return true;
    }
  }

  /// Caches of the process grow now and then; what leaks does so each time. Protobuf's repeated fields lose elements where
  /// their array cannot grow, or an element cannot be copied: those are its own.
  void CheckLeaks(int64_t n, int64_t before) {
    if (LiveAllocations() <= before) return;
    {
      const Unfailing own;
      if (IsProtobufs(FailedCaller())) return;
    }
    const int64_t again = LiveAllocations();
    FailAllocation(n);
    Fails(n, [&] {
      const Session once_more = Load();
      Run(once_more, model_.inputs);
      Run(once_more, model_.other_inputs);
    });
    FailAllocation(0);
    if (LiveAllocations() > again) Bug(n, fmt::format("{} blocks are left behind", LiveAllocations() - again));
  }

  void Bug(int64_t n, const std::string& what) {
    const Unfailing own;
    ++bugs_;
    fmt::print("BUG {} allocation {}: {}\n", model_.name, n, what);
    fflush(stdout);
  }

  const FixedModel& model_;
  const SessionOptions options_;
  const std::string bytes_;
  Results expected_, expected_other_;
  int bugs_ = 0, refused_ = 0, failed_ = 0;
};

int Main(int argc, char** argv) {
  CommandLine app{"Lets each allocation of a session's life fail once; only results and errors may come of it"};
  std::string only, provider;
  int from = 1, every = 1, threads = 1;
  app.Add("model", only, "One of the models; all without");
  app.Add("--from", from, "First allocation that fails");
  app.Add("--every", every, "One allocation of so many");
  app.Add("--threads", threads, "Threads of a session");
  app.Add("-e", provider, "Execution provider before CPU");
  if (const auto status = app.Parse(argc, argv)) return *status;
  SessionOptions options;
  options.intra_op_threads = threads;
  options.log_level = LogLevel::kFatal;
  if (!provider.empty()) options.providers = {{provider, {}}};
  int bugs = 0;
  for (const FixedModel& model : FixedModels()) {
    if (!only.empty() && model.name != only) continue;
    Lives lives(model, options);
    int64_t n = from;
    for (int64_t lived = 0; lives.Live(n); n += every) {
      if (std::getenv("TESSERA_FUZZ_VERBOSE") != nullptr) fmt::print(stderr, "{} {}\n", model.name, n);
      constexpr int64_t kWholeLifeEvery = 32;
      if (lived++ % kWholeLifeEvery == 0) lives.LiveWell(n);
    }
    fmt::print("{}: {} allocations, one in {} failed once: {} loads and {} runs refused, {} bugs\n", model.name, n, every,
               lives.refused(), lives.failed(), lives.bugs());
    bugs += lives.bugs();
  }
  return bugs == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) { return tessera::fuzz::Main(argc, argv); }
