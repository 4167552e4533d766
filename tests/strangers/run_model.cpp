// run_model MODEL [--run] [--cancel-after MILLISECONDS] [--load-timeout MILLISECONDS]: what a program with default options
// does with a model of a stranger: loads it and, asked so, runs it once with input_0.pb, input_1.pb, ... beside it, with
// zeros where there is no such file. Prints how it ended and how long after a cancellation. The exit code is 0 where that
// is a result or an Error, as a host may go on after both.

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tessera/serialization.h"
#include "tessera/session.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Cancels after a time, unless it is destroyed before.
class Canceller {
 public:
  Canceller(milliseconds after, tessera::RunOptions& run, std::atomic<bool>& load) {
    if (after.count() == 0) return;
    thread_ = std::thread([this, after, &run, &load] {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, after, [this] { return done_; })) return;
      cancelled_at_ = Clock::now();
      load = true;
      run.Cancel();
    });
  }
  ~Canceller() { Join(); }

  /// Milliseconds since it was cancelled; below 0: it was not.
  int64_t Since() {
    Join();
    if (cancelled_at_ == Clock::time_point()) return -1;
    return std::chrono::duration_cast<milliseconds>(Clock::now() - cancelled_at_).count();
  }

 private:
  void Join() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Clock::time_point cancelled_at_;
  std::thread thread_;
};

struct Arguments {
  std::filesystem::path model;
  bool run = false;
  milliseconds cancel_after{0}, load_timeout{0};
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  const auto number = [&](int& i) {
    int64_t value = 0;
    const std::string_view text = i + 1 < argc ? argv[++i] : "";
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
      throw std::invalid_argument("a number is missing");
    return milliseconds(value);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--run") {
      arguments.run = true;
    } else if (argument == "--cancel-after") {
      arguments.cancel_after = number(i);
    } else if (argument == "--load-timeout") {
      arguments.load_timeout = number(i);
    } else {
      arguments.model = argument;
    }
  }
  return arguments;
}

/// Where the model leaves a dimension open, 1.
tessera::Value Zeros(const tessera::TypeInfo& type) {
  tessera::Shape shape;
  for (const tessera::Dimension& dim : type.shape.value_or(tessera::SymbolicShape()))
    shape.Append(dim.known() ? dim.value : 1);
  tessera::Tensor tensor(type.element, shape);
  if (!tensor.is(tessera::ElementType::kString) && tensor.byte_size() > 0)
    std::memset(tensor.mutable_raw(), 0, tensor.byte_size());
  return tensor;
}

std::vector<tessera::Value> ReadInputs(const tessera::Session& session, const std::filesystem::path& folder) {
  std::vector<tessera::Value> inputs;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    const std::filesystem::path file = folder / ("input_" + std::to_string(i) + ".pb");
    const tessera::TypeInfo& type = session.inputs()[i].type;
    if (!std::filesystem::exists(file)) {
      inputs.push_back(Zeros(type));
      continue;
    }
    const std::string bytes = ReadFile(file);
    inputs.push_back(tessera::ParseValue(std::as_bytes(std::span(bytes)), type));
  }
  return inputs;
}

void Use(const Arguments& arguments, tessera::RunOptions& run_options, std::shared_ptr<const std::atomic<bool>> cancel) {
  tessera::SessionOptions options;
  options.load_cancel = std::move(cancel);
  options.load_timeout = arguments.load_timeout;
  tessera::Session session(arguments.model, options);
  std::cout << "loaded\n";
  if (!arguments.run) return;
  const std::vector<tessera::Value> inputs = ReadInputs(session, arguments.model.parent_path());
  std::vector<std::string> names, wanted;
  for (const auto& input : session.inputs()) names.push_back(input.name);
  for (const auto& output : session.outputs()) wanted.push_back(output.name);
  session.Run(names, inputs, wanted, run_options);
  std::cout << "ran\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = Parse(argc, argv);
    tessera::RunOptions run_options;
    const auto cancel = std::make_shared<std::atomic<bool>>(false);
    Canceller canceller(arguments.cancel_after, run_options, *cancel);
    try {
      Use(arguments, run_options, cancel);
    } catch (const tessera::Error& error) {
      std::cout << "Error " << static_cast<int>(error.code()) << ": " << std::string_view(error.what()).substr(0, 600)
                << "\n";
    }
    if (const int64_t since = canceller.Since(); since >= 0)
      std::cout << "ended " << since << " ms after it was cancelled\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "another exception: " << error.what() << "\n";
    return 3;
  }
}
