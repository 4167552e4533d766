// Runs a fuzzer without libFuzzer, in builds that do not have it: replays files, or mutates them at random. Inputs run in a
// process of their own, and one that dies or hangs leaves its input behind.
//
//   fuzz_NAME [-runs=N] [-seed=N] [-max_total_time=SECONDS] [-artifact_prefix=PREFIX] FILE|FOLDER...

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "../hostile_value.h"
#include "base/sanitizers.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
[[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
[[gnu::weak]] size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                               uint8_t* out, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kLargest = 1 << 16;
constexpr auto kHangs = std::chrono::seconds(30);
constexpr rlim_t kMemory = rlim_t{6} << 30;

Random byte_stream(1);  // of LLVMFuzzerMutate

/// What parent and child both see.
struct Shared {
  size_t done;  // inputs
  size_t size;
  uint8_t input[kLargest];
};

struct Settings {
  size_t runs = 0;
  uint32_t seed = 1;
  std::chrono::seconds most{1 << 20};
  std::string prefix = "crash-";
  std::vector<fs::path> files;
};

Settings ReadArguments(int argc, char** argv) {
  Settings settings;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    const size_t equals = argument.find('=');
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (argument.starts_with("-runs=")) settings.runs = std::stoul(value);
    else if (argument.starts_with("-seed=")) settings.seed = static_cast<uint32_t>(std::stoul(value));
    else if (argument.starts_with("-max_total_time=")) settings.most = std::chrono::seconds(std::stoul(value));
    else if (argument.starts_with("-artifact_prefix=")) settings.prefix = value;
    else if (fs::is_directory(argument))
      settings.files.insert(settings.files.end(), fs::directory_iterator(argument), fs::directory_iterator());
    else if (!argument.starts_with("-")) settings.files.emplace_back(argument);
  }
  std::ranges::sort(settings.files);
  return settings;
}

std::vector<uint8_t> Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  chars.resize(std::min(chars.size(), kLargest));
  return {chars.begin(), chars.end()};
}

/// The n-th input, the same each time.
void MakeInput(const Settings& settings, size_t n, Shared& shared) {
  Random random(settings.seed * 1'000'003u + static_cast<uint32_t>(n));
  byte_stream.seed(static_cast<uint32_t>(random()));
  const auto any_file = [&] { return Read(settings.files[Below(random, settings.files.size())]); };
  const std::vector<uint8_t> file = any_file();
  std::ranges::copy(file, shared.input);
  shared.size = file.size();
  if (LLVMFuzzerCustomCrossOver != nullptr && OneIn(random, 4)) {
    const std::vector<uint8_t> other = any_file();
    if (const size_t size = LLVMFuzzerCustomCrossOver(file.data(), file.size(), other.data(), other.size(), shared.input,
                                                      kLargest, static_cast<unsigned>(random()))) {
      shared.size = size;
    }
  }
  for (size_t times = 1 + Below(random, 3); times > 0; --times) {
    shared.size = LLVMFuzzerCustomMutator != nullptr
                      ? LLVMFuzzerCustomMutator(shared.input, shared.size, kLargest, static_cast<unsigned>(random()))
                      : LLVMFuzzerMutate(shared.input, shared.size, kLargest);
  }
}

[[noreturn]] void RunChild(const Settings& settings, size_t first, size_t end, Shared& shared) {
#ifndef __SANITIZE_ADDRESS__
  const rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  for (size_t n = first; n < end; ++n) {
    if (settings.runs == 0) {
      const auto file = Read(settings.files[n]);
      std::ranges::copy(file, shared.input);
      shared.size = file.size();
    } else {
      MakeInput(settings, n, shared);
    }
    // A copy as large as it is: what reads beyond it may be seen.
    const std::vector<uint8_t> input(shared.input, shared.input + shared.size);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    shared.done = n + 1;
  }
  _exit(0);
}

/// Waits for the child; says how it ended, nothing where that is well.
std::string Wait(pid_t child, const Shared& shared) {
  size_t seen = shared.done;
  auto since = Clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    usleep(2000);
    if (shared.done != seen) {
      seen = shared.done;
      since = Clock::now();
    } else if (Clock::now() - since > kHangs) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "hangs";
    }
  }
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
}

int Main(int argc, char** argv) {
  const Settings settings = ReadArguments(argc, argv);
  if (settings.files.empty()) {
    fmt::print(stderr, "{}: no file to run or to start from\n", argv[0]);
    return 2;
  }
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  Shared& shared = *new (memory) Shared{};
  const size_t total = settings.runs == 0 ? settings.files.size() : settings.runs;
  constexpr size_t kBatch = 500;
  int bugs = 0;
  const auto begin = Clock::now();
  for (size_t next = 0; next < total && Clock::now() - begin < settings.most; next = shared.done) {
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) RunChild(settings, next, std::min(total, next + kBatch), shared);
    if (child < 0) return 3;
    const std::string how = Wait(child, shared);
    if (how.empty()) continue;
    const std::string path = fmt::format("{}{}-{}", settings.prefix, settings.seed, shared.done);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(shared.input), static_cast<std::streamsize>(shared.size));
    fmt::print("BUG input {}{}: {}; kept as {}\n", shared.done,
               settings.runs == 0 ? " " + settings.files[shared.done].string() : "", how, path);
    ++bugs;
    ++shared.done;
  }
  fmt::print("{} inputs, {} bugs\n", shared.done, bugs);
  return bugs == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::fuzz

/// As libFuzzer's, without what it learned.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  using namespace tessera::fuzz;
  Random& random = byte_stream;
  if (size == 0) {
    data[0] = static_cast<uint8_t>(random());
    return 1;
  }
  const size_t at = Below(random, size);
  switch (random() % 6) {
    case 0: data[at] = static_cast<uint8_t>(random()); return size;
    case 1: data[at] ^= static_cast<uint8_t>(1u << Below(random, 8)); return size;
    case 2: {
      const size_t length = std::min(1 + Below(random, 16), size - at);
      std::memmove(data + at, data + at + length, size - at - length);
      return std::max<size_t>(1, size - length);
    }
    case 3: {
      const size_t length = std::min(1 + Below(random, 16), max_size - size);
      std::memmove(data + at + length, data + at, size - at);
      for (size_t i = 0; i < length; ++i) data[at + i] = static_cast<uint8_t>(random());
      return size + length;
    }
    case 4: {
      const int64_t number = HostileInteger(random);
      std::memcpy(data + at, &number, std::min<size_t>(size - at, size_t{1} << Below(random, 4)));
      return size;
    }
    default: {
      const size_t length = std::min(1 + Below(random, 32), size - at);
      std::memmove(data + Below(random, size - length + 1), data + at, length);
      return size;
    }
  }
}

int main(int argc, char** argv) { return tessera::fuzz::Main(argc, argv); }
