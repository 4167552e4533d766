#include "runtime/threads/affinities.h"

#include <sched.h>

#include <charconv>

#include "base/check.h"
#include "base/shortened.h"

namespace tessera {
namespace {

/// Takes what comes before the mark, or all, off the text.
std::string_view TakeUntil(std::string_view& text, char mark) {
  const size_t end = text.find(mark);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

int ProcessorOf(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  Require(error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= CPU_SETSIZE,
          "'{}' is no processor; they are numbered from 1 to {}", text, CPU_SETSIZE);
  return number - 1;
}

Processors ProcessorsOf(std::string_view text) {
  Processors processors;
  do {
    std::string_view range = TakeUntil(text, ',');
    const bool is_range = range.find('-') != std::string_view::npos;
    const int first = ProcessorOf(TakeUntil(range, '-'));
    const int last = is_range ? ProcessorOf(range) : first;
    Require(first <= last, "the range {}-{} has its ends the wrong way round", first + 1, last + 1);
    for (int processor = first; processor <= last; ++processor) processors.push_back(processor);
  } while (!text.empty());
  return processors;
}

}  // namespace

std::vector<Processors> ParseAffinities(std::string_view text) {
  std::vector<Processors> all;
  while (!text.empty()) all.push_back(ProcessorsOf(TakeUntil(text, ';')));
  return all;
}

std::vector<Processors> AffinitiesOf(std::string_view option, std::string_view text, size_t threads) try {
  std::vector<Processors> all = ParseAffinities(text);
  Require(all.empty() || all.size() == threads, "it is for {} threads, the pool has {} beside the caller's", all.size(),
          threads);
  return all;
} catch (const Error& error) {
  throw error.At(fmt::format("option '{}' is '{}'", option, Shortened(text)));
}

void StayOn(const Processors& processors) noexcept {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<size_t>(processor), &set);
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));
}

}  // namespace tessera
