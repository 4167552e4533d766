#include "thread_activity.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace tessera::testing {
namespace {

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The letter after the program's name, which stands in parentheses and may hold anything.
char StateOf(const std::string& stat) {
  const size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
}

}  // namespace

std::map<std::string, std::string> ThreadActivity() {
  std::map<std::string, std::string> activity;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string thread = task.path().filename();
    if (thread == std::to_string(gettid())) continue;
    const std::string counted = Read(task.path() / "schedstat");
    if (!counted.empty()) activity[thread] = StateOf(Read(task.path() / "stat")) + (" " + counted);
  }
  return activity;
}

bool AllThreadsSleep() {
  constexpr int kMostLooks = 200;
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  const auto asleep = [](const auto& thread) { return thread.second.starts_with('S'); };
  auto before = ThreadActivity();
  for (int look = 0; look < kMostLooks; ++look) {
    std::this_thread::sleep_for(kBetweenLooks);
    auto now = ThreadActivity();
    if (now == before && std::ranges::all_of(now, asleep)) return true;
    before = std::move(now);
  }
  return false;
}

}  // namespace tessera::testing
