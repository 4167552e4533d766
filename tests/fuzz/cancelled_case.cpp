#include "cancelled_case.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "hostile_model.h"
#include "tessera/serialization.h"

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;

/// What the process computed so far.
double ProcessorMs() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double MedianOf(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

constexpr double kLongMs = 400;  // a run that is worth cancelling
constexpr double kShortMs = 40;  // one that is not, but the longest that inputs of the size make
constexpr double kCancelAtMs = 100;
constexpr double kPatienceMs = 1500;  // while inputs grow: longer runs are cancelled
constexpr int kLateRepeats = 4;       // of a cancelled run that ended late

}  // namespace

std::vector<std::byte> ReadBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(chars.data());
  return {data, data + chars.size()};
}

CancelledCase::CancelledCase(const fs::path& folder, const CancelSettings& settings, CancelResult& result)
    : settings_(settings), result_(result) {
  model_ = ParseMessage<onnx::ModelProto>(ReadBytes(folder / "model.onnx"), "model");
  for (int i = 0; i < model_.graph().input_size(); ++i) {
    const fs::path path = folder / "test_data_set_0" / fmt::format("input_{}.pb", i);
    if (!fs::exists(path)) break;
    inputs_.push_back(ParseValue(ReadBytes(path), FromProto(model_.graph().input(i).type())));
  }
  DropShapes(model_);
  Load();
}

void CancelledCase::Run(const std::string& growth) {
  const double first = TimeOf(inputs_);
  if (first < 0) return;
  result_.run_ms = first;
  Repeat(growth);
  if (result_.run_ms < kLongMs) Search();
  result_.megabytes = BytesOf(inputs_) / 1e6;
  if (settings_.declare) {
    DeclareShapes(model_, inputs_);
    Load();
    result_.run_ms = TimeOf(inputs_);
  }
  if (result_.run_ms < kShortMs) return;
  for (const double at : {0.6, 0.2, 0.4}) Cancel(std::min(kCancelAtMs, at * result_.run_ms));
  if (result_.run_ms > 5 * kCancelAtMs) Cancel(2.5 * kCancelAtMs);
}

void CancelledCase::Load() {
  const std::string bytes = model_.SerializeAsString();
  session_.emplace(std::span(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), settings_.session);
  for (const PlacementReport::NodeEntry& node : session_->placement().nodes) {
    snprintf(result_.provider, sizeof result_.provider, "%s", node.provider.c_str());
  }
}

double CancelledCase::TimeOf(const std::vector<Value>& inputs) {
  RunOptions options;
  const Clock::time_point start = Clock::now();
  std::string error;
  RunUntil(inputs, options, kPatienceMs, &error);
  if (!error.empty() && error.find("cancel") == std::string::npos) return -1;
  return MillisecondsSince(start);
}

double CancelledCase::RunUntil(const std::vector<Value>& inputs, RunOptions& options, double ms, std::string* error,
                               double* processor) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(inputs.size(), session_->inputs().size()); ++i)
    names.push_back(session_->inputs()[i].name);
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  Clock::time_point cancelled_at{};
  double computed = 0;
  std::thread canceller([&] {
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, std::chrono::duration<double, std::milli>(ms), [&] { return over; })) return;
    cancelled_at = Clock::now();
    computed = ProcessorMs();
    options.Cancel();
  });
  Clock::time_point end;
  try {
    const auto results = session_->Run(names, std::span(inputs).first(names.size()), {}, options);
    end = Clock::now();
  } catch (const Error& thrown) {
    end = Clock::now();
    *error = thrown.what();
  }
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  const double computed_at_end = ProcessorMs();
  changed.notify_one();
  canceller.join();
  if (processor != nullptr) *processor = computed_at_end - computed;
  if (cancelled_at == Clock::time_point{}) return -1;
  return std::chrono::duration<double, std::milli>(end - cancelled_at).count();
}

void CancelledCase::Note(const Growth& way, int64_t times) {
  const size_t used = std::strlen(result_.growth);
  snprintf(result_.growth + used, sizeof result_.growth - used, "%s%ld/%d/%d/%ld*%ld", used == 0 ? "" : ",", way.size,
           way.input, way.axis, way.element, times);
}

void CancelledCase::Repeat(const std::string& growth) {
  size_t at = 0;
  while (at < growth.size()) {
    Growth way;
    long times = 0;
    int used = 0;
    if (sscanf(growth.c_str() + at, "%ld/%d/%d/%ld*%ld%n", &way.size, &way.input, &way.axis, &way.element, &times, &used) !=
        5)
      return;
    at += static_cast<size_t>(used) + 1;
    auto grown = Grow(inputs_, way, times);
    if (!grown) return;
    inputs_ = std::move(*grown);
    Note(way, times);
  }
  if (const double ms = TimeOf(inputs_); ms >= 0) result_.run_ms = ms;
}

void CancelledCase::Search() {
  std::vector<Growth> ways = WaysOf(inputs_);
  const Clock::time_point start = Clock::now();
  int64_t most = 64;
  while (result_.run_ms < kLongMs && !ways.empty() && MillisecondsSince(start) < settings_.seconds * 300.0) {
    const int64_t times = std::min<int64_t>(most, result_.run_ms < kLongMs / 400  ? 64
                                                  : result_.run_ms < kLongMs / 20 ? 8
                                                                                  : 2);
    std::optional<Growth> best;
    std::vector<Value> best_inputs;
    double best_gain = 0, best_ms = 0;
    std::vector<Growth> left;
    for (const Growth& way : ways) {
      auto grown = Grow(inputs_, way, times);
      if (!grown || BytesOf(*grown) > settings_.most_bytes) continue;
      const double ms = TimeOf(*grown);
      if (ms < 0) continue;
      left.push_back(way);
      const double more = BytesOf(*grown) / std::max(BytesOf(inputs_), 1.0), longer = (ms + 0.02) / (result_.run_ms + 0.02);
      const double gain = longer * (1 + 0.01 / more);
      if (gain <= best_gain) continue;
      best = way;
      best_gain = gain;
      best_ms = ms;
      best_inputs = std::move(*grown);
      if (ms > kLongMs) break;
    }
    if (!best) {  // too large, or more than the operator takes
      if (times <= 2) return;
      most = times / 8 > 2 ? times / 8 : 2;
      ways = WaysOf(inputs_);
      continue;
    }
    Note(*best, times);
    inputs_ = std::move(best_inputs);
    result_.run_ms = best_ms;
    // Sizes change: ways by size are looked up anew.
    std::vector<Growth> next = WaysOf(inputs_);
    std::erase_if(next, [&](const Growth& way) { return way.size == 0 && std::ranges::find(left, way) == left.end(); });
    ways = std::move(next);
  }
}

void CancelledCase::Cancel(double at) {
  std::vector<double> taken, computed;
  bool finished = false;
  for (int i = 0; i == 0 || (i <= kLateRepeats && taken[0] > kLateMs); ++i) {
    RunOptions options;
    std::string error;
    double processor = 0;
    const double ms = RunUntil(inputs_, options, at, &error, &processor);
    if (ms < 0) break;
    taken.push_back(ms);
    computed.push_back(processor);
    finished |= error.empty();
  }
  if (taken.empty()) return;
  result_.latency_ms = std::max(result_.latency_ms, MedianOf(taken));
  result_.processor_ms = std::max(result_.processor_ms, MedianOf(computed));
  result_.outcome = std::max(result_.outcome, finished ? 2 : 1);
}

}  // namespace tessera::fuzz
