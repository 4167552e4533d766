// Runs that would take minutes end soon after they are cancelled, or when their time is over, on one thread, too.

#include "base/cancellation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "attributes.h"
#include "base/cancellable_memory.h"
#include "base/cancellable_sort.h"
#include "base/stoppable_lock.h"
#include "error_of.h"
#include "kernels/normalize/softmax.h"
#include "model_builder.h"
#include "runtime/threads/cancellable_pool.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(Cancellation, ThreadsKnowTheirRun) {
  std::atomic<bool> outer_flag = false, inner_flag = false;
  const StopSignal outer(&outer_flag), inner(&inner_flag);
  EXPECT_NO_THROW(CancellationPoint());
  const CancelScope outer_scope(&outer);
  {
    const CancelScope inner_scope(&inner);
    outer_flag = true;
    EXPECT_FALSE(CancelRequested());
    inner_flag = true;
    EXPECT_TRUE(CancelRequested());
    EXPECT_THAT(ErrorOf(CancellationPoint), HasSubstr("the run was cancelled"));
    std::thread([] { EXPECT_NO_THROW(CancellationPoint()); }).join();
  }
  EXPECT_THAT(ErrorOf(CancellationPoint), HasSubstr("the run was cancelled"));
  const CancelScope none(nullptr);
  EXPECT_NO_THROW(CancellationPoint());
}

TEST(Cancellation, EndsTheWaitForALock) {
  std::timed_mutex mutex;
  std::atomic<bool> flag = false;
  auto held = LockUnlessStopped(mutex, StopSignal(&flag));
  EXPECT_TRUE(held.owns_lock());
  std::thread([&] {
    const StopSignal late(&flag, std::chrono::milliseconds(20));
    EXPECT_THAT(ErrorOf([&] { LockUnlessStopped(mutex, late); }), HasSubstr("RunOptions::timeout, 20 ms"));
    flag = true;
    EXPECT_THAT(ErrorOf([&] { LockUnlessStopped(mutex, late); }), HasSubstr("the run was cancelled"));
  }).join();
  std::thread waiting([&] { EXPECT_TRUE(LockUnlessStopped(mutex, StopSignal()).owns_lock()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  held.unlock();
  waiting.join();
}

TEST(Cancellation, PointsArePacedByCost) {
  std::atomic<bool> flag = true;
  const StopSignal stop(&flag);
  const CancelScope scope(&stop);
  for (const double cost : {0.5, 10.0, 1e3, 1e9}) {
    int64_t passed = 0;
    PacedCancellationPoint look(cost);
    EXPECT_THROW(for (;; ++passed) look.Pass(), Error);
    EXPECT_LE(static_cast<double>(passed) * cost, kCancellationPointNs) << cost;
  }
  int64_t done = 0;
  EXPECT_THROW(InCancellablePieces(5, int64_t{1} << 40, 1.0, [&](int64_t begin, int64_t end) { done += end - begin; }),
               Error);
  EXPECT_LE(done, static_cast<int64_t>(kCancellationPointNs) + 1);
  flag = false;
  done = 0;
  InCancellablePieces(7, 2'000'003, 3.0, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(begin, done + 7);
    done += end - begin;
  });
  EXPECT_EQ(done, 1'999'996);
}

// Of images with few boxes each, say, there may be many.
TEST(Cancellation, ManyShortLoopsAreCancelled) {
  std::atomic<bool> flag = true;
  const StopSignal stop(&flag);
  const CancelScope scope(&stop);
  std::vector<int> few(100);
  const std::function<void()> loops[] = {
      [] { InCancellablePieces(0, 100, 1.0, [](int64_t, int64_t) {}); },
      [] {
        PacedCancellationPoint look(1.0);
        for (int i = 0; i < 100; ++i) look.Pass();
      },
      [&] { SortCancellably(few.begin(), few.end()); },
  };
  for (const auto& loop : loops) {
    int done = 0;
    EXPECT_THROW(for (; done < 1'000'000; ++done) loop(), Error);
    EXPECT_LE(done * 100, kCancellationPointNs);
  }
}

TEST(Cancellation, LongSortsAreCancelled) {
  std::vector<int> numbers(1 << 20);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 2654435761u % 1000003);
  std::atomic<bool> flag = false;
  const StopSignal stop(&flag);
  const CancelScope scope(&stop);
  std::vector<int> sorted = numbers;
  SortCancellably(sorted.begin(), sorted.end());
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  flag = true;
  EXPECT_THROW(SortCancellably(numbers.begin(), numbers.end()), Error);
}

void SoftmaxRows(const std::vector<float>& x, std::vector<float>& y, bool log) {
  cpu::SoftmaxKernelsF32().rows(x.data(), y.data(), 1, static_cast<int64_t>(x.size()), log);
}

TEST(Cancellation, LongCopiesAndFillsAreCancelled) {
  constexpr int64_t kCount = 12'000'000;
  std::vector<uint8_t> from(kCount), to(kCount, 1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 31);
  std::atomic<bool> flag = false;
  const StopSignal stop(&flag);
  const CancelScope scope(&stop);
  CopyCancellably(to.data(), from.data(), kCount);
  EXPECT_EQ(to, from);
  FillCancellably(to.data() + 1, kCount - 2, uint8_t{7});
  EXPECT_EQ(to.front(), from.front());
  EXPECT_EQ(to.back(), from.back());
  EXPECT_EQ(std::count(to.begin() + 1, to.end() - 1, 7), kCount - 2);
  ClearCancellably(to.data(), kCount - 1);
  EXPECT_EQ(std::count(to.begin(), to.end(), 0), kCount - (from.back() == 0 ? 0 : 1));
  flag = true;
  EXPECT_THROW(CopyCancellably(to.data(), from.data(), kCount), Error);
  EXPECT_THROW(FillCancellably(to.data(), kCount, uint8_t{9}), Error);
  EXPECT_THROW(ClearCancellably(to.data(), kCount), Error);
  EXPECT_EQ(to[kCount - 1], from[kCount - 1]);
  // What is short does not look.
  EXPECT_NO_THROW(CopyCancellably(to.data(), from.data(), 1 << 16));

  std::vector<std::string> texts(200'000, "text"), copies(texts.size());
  EXPECT_THROW(CopyCancellably(copies.data(), texts.data(), static_cast<int64_t>(texts.size())), Error);
  EXPECT_EQ(copies.back(), "");
  flag = false;
  CopyCancellably(copies.data(), texts.data(), static_cast<int64_t>(texts.size()));
  EXPECT_EQ(copies, texts);
  // Strings that were made before a run was cancelled are destroyed.
  flag = true;
  EXPECT_THROW(Tensor(ElementType::kString, Shape{10'000'000}), Error);
}

/// A row by itself, which no loop over rows cuts.
TEST(Cancellation, LongRowsOfSoftmaxAreCancelled) {
  constexpr int64_t kCount = (int64_t{8} << 20) + 5;
  std::vector<float> x(kCount), y(kCount);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1009) * 0.01f;
  std::atomic<bool> flag = false;
  const StopSignal stop(&flag);
  const CancelScope scope(&stop);
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value) - 10.08);
  for (const bool log : {false, true}) {
    SoftmaxRows(x, y, log);
    for (const size_t i : {size_t{0}, size_t{1008}, y.size() / 2, y.size() - 1}) {
      const double expected = x[i] - 10.08 - std::log(sum);
      EXPECT_NEAR(log ? y[i] : std::log(y[i]), expected, 1e-3) << i;
    }
  }
  flag = true;
  EXPECT_THROW(SoftmaxRows(x, y, false), Error);
}

/// Items take twenty times as long as they are said to: the clock cuts the loop.
TEST(Cancellation, LoopsAreCutByTheClock) {
  for (const int threads : {1, 3}) {
    const auto pool = MakeWorkerPool(threads);
    std::atomic<bool> cancel = false;
    std::atomic<int64_t> done = 0;
    CancellablePool cancellable(*pool, StopSignal(&cancel));
    const auto loop = [&] {
      cancellable.ParallelFor(100'000, 10'000, [&](int64_t begin, int64_t end) {
        for (; begin < end; ++begin) {
          const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
          while (std::chrono::steady_clock::now() < until) {
          }
          if (++done > 100 * threads) cancel = true;
        }
      });
    };
    EXPECT_THROW(loop(), Error);
    EXPECT_LT(done, 400 * threads);
  }
}

/// A node that takes far longer than a test may, and its inputs.
struct LongRun {
  const char* name;
  std::function<void(ModelBuilder&)> add;
  std::function<std::vector<Value>()> inputs;
};

std::ostream& operator<<(std::ostream& out, const LongRun& run) { return out << run.name; }

Value Ramp(const std::vector<int64_t>& dims, float step = 1.0f) {
  Tensor tensor(ElementType::kFloat, Shape(dims));
  auto values = tensor.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(i % 1009) - 0.5f;
  return tensor;
}

void Declare(ModelBuilder& model, const std::string& name, int64_t rank) {
  model.Input(name, ElementType::kFloat, std::vector<int64_t>(static_cast<size_t>(rank), -1));
}

void AddOutput(ModelBuilder& model) { model.proto().mutable_graph()->add_output()->set_name("y"); }

void OneInput(ModelBuilder& model, const char* op, int64_t rank,
              const std::function<void(onnx::NodeProto&)>& attributes = {}, std::initializer_list<std::string> more = {}) {
  Declare(model, "x", rank);
  AddOutput(model);
  std::vector<std::string> names = {"x"};
  names.insert(names.end(), more.begin(), more.end());
  auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op, names, {"y"});
  if (attributes) attributes(node);
}

const LongRun kLongRuns[] = {
    {"MatMul",
     [](ModelBuilder& model) {
       Declare(model, "b", 2);
       OneInput(model, "MatMul", 2, {}, {"b"});
     },
     [] { return std::vector<Value>{Ramp({5000, 5000}, 0.01f), Ramp({5000, 5000}, 0.01f)}; }},
    {"MaxPool",
     [](ModelBuilder& model) {
       OneInput(model, "MaxPool", 4, [](auto& node) { Ints(node, "kernel_shape", {1501, 1501}); });
     },
     [] { return std::vector<Value>{Ramp({1, 1, 4000, 4000})}; }},
    {"Resize by cubic filters",
     [](ModelBuilder& model) {
       model.Floats("scales", {4}, {1, 1, 64, 64});
       model.Input("x", ElementType::kUInt8, {1, 1, -1, -1});
       AddOutput(model);
       auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), "Resize", {"x", "", "scales"}, {"y"});
       Text(node, "mode", "cubic");
     },
     [] { return std::vector<Value>{Tensor::Of<uint8_t>({1, 1, 500, 500}, std::vector<uint8_t>(250'000, 3))}; }},
    {"Det", [](ModelBuilder& model) { OneInput(model, "Det", 2); },
     [] { return std::vector<Value>{Ramp({5000, 5000}, 0.1f)}; }},
    {"Inverse",
     [](ModelBuilder& model) { OneInput(model, "Inverse", 2, [](auto& node) { node.set_domain("com.microsoft"); }); },
     [] { return std::vector<Value>{Ramp({4000, 4000}, 0.1f)}; }},
    {"DFT of a prime length", [](ModelBuilder& model) { OneInput(model, "DFT", 3); },
     [] { return std::vector<Value>{Ramp({1, 4'256'233, 1})}; }},
    {"RoiAlign",
     [](ModelBuilder& model) {
       model.Floats("rois", {1, 4}, {0, 0, 15, 15});
       model.Ints("images", {0});
       OneInput(model, "RoiAlign", 4,
                [](auto& node) {
                  Int(node, "sampling_ratio", 1 << 22);
                  Int(node, "output_height", 64);
                  Int(node, "output_width", 64);
                  Text(node, "mode", "max");
                },
                {"rois", "images"});
     },
     [] { return std::vector<Value>{Ramp({1, 1, 16, 16})}; }},
    {"CausalConvWithState of one channel",
     [](ModelBuilder& model) {
       model.Floats("w", {1, 1, 200'000}, std::vector<float>(200'000, 0.5f));
       const auto more = [](onnx::NodeProto& node) {
         node.set_domain("com.microsoft");
         node.add_output("state");
       };
       OneInput(model, "CausalConvWithState", 3, more, {"w"});
     },
     [] { return std::vector<Value>{Ramp({1, 1, 4'000'000})}; }},
    {"LSTM",
     [](ModelBuilder& model) {
       model.Floats("w", {1, 4, 1}, {0.1f, 0.2f, 0.3f, 0.4f});
       model.Floats("r", {1, 4, 1}, {0.1f, 0.2f, 0.3f, 0.4f});
       OneInput(model, "LSTM", 3, [](auto& node) { Int(node, "hidden_size", 1); }, {"w", "r"});
     },
     [] { return std::vector<Value>{Ramp({12'000'000, 1, 1})}; }},
};

class CancelledRun : public ::testing::TestWithParam<LongRun> {
 protected:
  static std::string RunFor(const LongRun& run, int threads, RunOptions& options) {
    ModelBuilder model(20);
    auto* import = model.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    run.add(model);
    SessionOptions session_options;
    session_options.intra_op_threads = threads;
    const Session session = model.Session(session_options);
    std::vector<std::string> names;
    for (const NamedType& input : session.inputs()) names.push_back(input.name);
    std::vector<Value> inputs = run.inputs();
    if (names.size() > 1 && names[0] != "x") std::swap(names[0], names[1]);
    return ErrorOf([&] { session.Run(names, inputs, {}, options); });
  }
};

TEST_P(CancelledRun, EndsWithAnError) {
  for (const int threads : {1, 2}) {
    RunOptions options;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      options.Cancel();
    });
    EXPECT_THAT(RunFor(GetParam(), threads, options), HasSubstr("the run was cancelled")) << threads;
    canceller.join();
  }
}

TEST_P(CancelledRun, EndsWhenItsTimeIsOver) {
  RunOptions options;
  options.timeout = std::chrono::milliseconds(100);
  EXPECT_THAT(RunFor(GetParam(), 1, options), HasSubstr("the run took longer than RunOptions::timeout"));
}

INSTANTIATE_TEST_SUITE_P(Operators, CancelledRun, ::testing::ValuesIn(kLongRuns), [](const auto& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
}  // namespace tessera::testing
