// Runs the cases of ONNX test-data directories on buffers that end where an inaccessible page begins, and on others that
// begin where one ends: a vector kernel that reads or writes beyond its tensors dies. Inputs, and the model's bytes, are
// read-only besides.
//
//   guard_pages FOLDER... [-e PROVIDER [-i "KEY|VALUE"]] [-o LEVEL] [--every N] [--case NAME]

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "command_line/command_line.h"
#include "model/proto.h"
#include "provider_options.h"
#include "tessera/serialization.h"
#include "tessera/session.h"

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;

enum class Guard { kBehind, kBefore };

/// Whole pages between two that nobody may touch.
class GuardedPages {
 public:
  explicit GuardedPages(size_t bytes) : bytes_((bytes + page() - 1) / page() * page()) {
    base_ = static_cast<std::byte*>(mmap(nullptr, bytes_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(begin(), bytes_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  ~GuardedPages() { munmap(base_, bytes_ + 2 * page()); }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  /// Where so many bytes lie against the guard.
  std::byte* Place(size_t bytes, Guard guard) const { return guard == Guard::kBefore ? begin() : begin() + bytes_ - bytes; }
  void MakeReadOnly() const { mprotect(begin(), bytes_, PROT_READ); }

 private:
  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  std::byte* begin() const { return base_ + page(); }

  size_t bytes_;
  std::byte* base_;
};

std::vector<std::byte> Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

/// A tensor's elements against a guard. Strings stay where they are: what they hold lies elsewhere anyway.
Tensor Guarded(const Tensor& tensor, Guard guard, bool read_only) {
  if (tensor.is(ElementType::kString)) return tensor;
  const auto pages = std::make_shared<GuardedPages>(tensor.byte_size());
  std::byte* const place = pages->Place(tensor.byte_size(), guard);
  if (tensor.byte_size() > 0) std::memcpy(place, tensor.raw(), tensor.byte_size());
  if (read_only) pages->MakeReadOnly();
  return Tensor::Share(tensor.type(), tensor.shape(), place, pages);
}

Value Guarded(const Value& value, Guard guard) {
  switch (value.kind()) {
    case ValueKind::kTensor: return Guarded(value.tensor(), guard, true);
    case ValueKind::kSequence: {
      Sequence sequence = value.sequence();
      for (Value& element : sequence.elements) element = Guarded(element, guard);
      return sequence;
    }
    case ValueKind::kSparseTensor:
      return SparseTensor{Guarded(value.sparse_tensor().values, guard, true),
                          Guarded(value.sparse_tensor().indices, guard, true), value.sparse_tensor().dense_shape};
    default: return value;
  }
}

/// In a process of its own; its exit code.
int RunCase(const fs::path& folder, const SessionOptions& options) {
  const std::vector<std::byte> bytes = Read(folder / "model.onnx");
  const auto proto = ParseMessage<onnx::ModelProto>(bytes, "model");
  std::vector<Value> inputs;
  for (int i = 0; i < proto.graph().input_size(); ++i) {
    const fs::path path = folder / "test_data_set_0" / fmt::format("input_{}.pb", i);
    if (!fs::exists(path)) return 0;
    inputs.push_back(ParseValue(Read(path), FromProto(proto.graph().input(i).type())));
  }
  for (const Guard guard : {Guard::kBehind, Guard::kBefore}) {
    const auto pages = std::make_shared<GuardedPages>(bytes.size());
    std::byte* const model = pages->Place(bytes.size(), guard);
    std::ranges::copy(bytes, model);
    pages->MakeReadOnly();
    const Session session(std::span<const std::byte>(model, bytes.size()), options, Environment::Default(), pages);
    std::vector<Value> guarded;
    for (const Value& input : inputs) guarded.push_back(Guarded(input, guard));
    std::vector<Value> results(session.outputs().size());
    session.Run(guarded, results);  // which tells the outputs' shapes
    for (Value& result : results) {
      if (result.is_tensor() && !result.tensor().is(ElementType::kString)) result = Guarded(result.tensor(), guard, false);
      else result = Value();
    }
    session.Run(guarded, results);
  }
  return 0;
}

[[noreturn]] void RunChild(const fs::path& folder, const SessionOptions& options) {
  int status = 0;
  try {
    status = RunCase(folder, options);
  } catch (const Error&) {  // a case that this build refuses
    status = 2;
  }
  fflush(nullptr);
  _exit(status);
}

int Main(int argc, char** argv) {
  CommandLine app{"Runs the cases of ONNX test-data directories on buffers between inaccessible pages"};
  std::vector<std::string> folders, provider_options;
  std::string only, provider;
  int every = 1, level = 99;
  app.Add("folders", folders, "Folders of cases").Required();
  app.Add("-e", provider, "Execution provider before CPU");
  app.Add("-i", provider_options, kProviderOptionsHelp);
  app.Add("-o", level, "Level of optimizations");
  app.Add("--every", every, "Take one case of so many").Range(1, std::numeric_limits<int>::max());
  app.Add("--case", only, "This case only");
  if (const auto status = app.Parse(argc, argv)) return *status;
  SessionOptions options;
  options.intra_op_threads = 1;
  options.log_level = LogLevel::kFatal;
  options.optimization_level = static_cast<OptimizationLevel>(level);
  options.config["session.min_island_nodes"] = "0";
  SetProviders(options, provider.empty() ? std::vector<std::string>() : std::vector{provider}, provider_options);
  std::vector<fs::path> cases;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / "test_data_set_0") && (only.empty() || entry.path().filename() == only))
        cases.push_back(entry.path());
    }
  }
  std::ranges::sort(cases);
  int ran = 0, refused = 0, bugs = 0;
  for (size_t i = 0; i < cases.size(); i += static_cast<size_t>(every)) {
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) RunChild(cases[i], options);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 3;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      ++ran;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
      ++refused;
    } else {
      ++bugs;
      fmt::print("BUG {}: {}\n", cases[i].filename().string(),
                 WIFSIGNALED(status)
                     ? fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                     : fmt::format("ended with exit code {}", WEXITSTATUS(status)));
    }
  }
  fmt::print("{} cases ran, {} ended with an error, {} bugs\n", ran, refused, bugs);
  return bugs == 0 && ran > 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) { return tessera::fuzz::Main(argc, argv); }
