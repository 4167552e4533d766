// Sessions in processes that were forked: what the parent made and what the child makes works or is an error, and nothing
// hangs.

#include "base/fork.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

#include "base/sanitizers.h"
#include "error_of.h"
#include "model_builder.h"
#include "providers_here.h"
#include "runtime/threads/thread_pools.h"
#include "waves.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::ModelBuilder;
using testing::OnProvider;
using testing::ToVector;
using testing::Waves;

constexpr unsigned kSecondsOfAChild = 60;

/// Calls `body` in a child: 0 is what it is expected to return. Exceptions, signals and hanging are failures.
void InChild(const std::function<int()>& body) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets no child of a process with threads start threads";
#endif
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(kSecondsOfAChild);
    int status = 100;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

constexpr int64_t kRows = 96, kInner = 160, kColumns = 256;

/// A matmul and an addition: work for several threads on every provider.
ModelBuilder MatMulModel() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kRows, kInner}).Output("y", ElementType::kFloat, {kRows, kColumns});
  model.Floats("w", {kInner, kColumns}, Waves(kInner * kColumns, 0.3f, 1))
      .Floats("b", {kColumns}, Waves(kColumns, 0.7f, 1));
  model.Node("MatMul", {"x", "w"}, {"product"});
  model.Node("Add", {"product", "b"}, {"sum"});
  model.Node("Relu", {"sum"}, {"y"});
  return model;
}

std::vector<float> RunMatMul(const Session& session) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({kRows, kInner}, Waves(kRows * kInner, 0.2f, 1))}, results);
  return ToVector(results[0]);
}

/// 0: the same numbers; 1: an Error; 2: other numbers.
int Outcome(const std::function<std::vector<float>()>& run, const std::vector<float>& expected) {
  try {
    return run() == expected ? 0 : 2;
  } catch (const Error& error) {
    return std::string(error.what()).empty() ? 2 : 1;
  }
}

class ForkTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::IsCompiledIn(GetParam())) GTEST_SKIP() << GetParam() << " is not in this build";
    try {
      session_ = std::make_unique<Session>(MatMulModel().Session(OnProvider(GetParam())));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    expected_ = RunMatMul(*session_);
  }
  bool is_device() const { return std::string(GetParam()) == "opencl"; }

  std::unique_ptr<Session> session_;
  std::vector<float> expected_;
};

INSTANTIATE_TEST_SUITE_P(Providers, ForkTest, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ForkTest, AChildDestroysTheParentsSession) {
  InChild([&] {
    session_.reset();
    return 0;
  });
  EXPECT_EQ(RunMatMul(*session_), expected_);
}

TEST_P(ForkTest, AChildRunsTheParentsIdleSession) {
  InChild([&] {
    const int wanted = is_device() ? 1 : 0;
    for (int i = 0; i < 3; ++i) {
      if (Outcome([&] { return RunMatMul(*session_); }, expected_) != wanted) return 1;
    }
    // Other threads of the child's do the same.
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] { wrong += Outcome([&] { return RunMatMul(*session_); }, expected_) != wanted; });
    }
    threads.clear();
    session_.reset();
    return wrong == 0 ? 0 : 2;
  });
  EXPECT_EQ(RunMatMul(*session_), expected_);
}

TEST_P(ForkTest, AChildMakesItsOwn) {
  InChild([&] {
    const auto make_and_run = [&] { return RunMatMul(MatMulModel().Session(OnProvider(GetParam()))); };
    if (Outcome(make_and_run, expected_) != (is_device() ? 1 : 0)) return 1;
    session_.reset();
    return Outcome([&] { return RunMatMul(MatMulModel().Session(OnProvider("cpu"))); },
                   RunMatMul(MatMulModel().Session(OnProvider("cpu"))));
  });
  EXPECT_EQ(RunMatMul(*session_), expected_);
}

TEST_P(ForkTest, AGrandchildDoesTheSame) {
  InChild([&] {
    const int wanted = is_device() ? 1 : 0;
    if (Outcome([&] { return RunMatMul(*session_); }, expected_) != wanted) return 1;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(kSecondsOfAChild);
      int status = Outcome([&] { return RunMatMul(*session_); }, expected_) == wanted ? 0 : 3;
      if (status == 0)
        status =
            Outcome([&] { return RunMatMul(MatMulModel().Session(OnProvider(GetParam()))); }, expected_) == wanted ? 0 : 4;
      session_.reset();
      _exit(status);
    }
    int status = 0;
    waitpid(grandchild, &status, 0);
    return status == 0 ? 0 : 5;
  });
}

TEST_P(ForkTest, WhileAnotherThreadRunsItWorksOrIsAnError) {
  std::atomic<bool> stop{false};
  std::jthread other([&] {
    while (!stop) RunMatMul(*session_);
  });
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(700 * i));
    InChild([&] {
      if (Outcome([&] { return RunMatMul(*session_); }, expected_) == 2) return 1;
      session_.reset();
      if (Outcome([&] { return RunMatMul(MatMulModel().Session(OnProvider(GetParam()))); }, expected_) == 2) return 2;
      const std::vector<float> on_cpu = RunMatMul(MatMulModel().Session(OnProvider("cpu")));
      return on_cpu.size() == expected_.size() ? 0 : 3;
    });
  }
  stop = true;
}

TEST_P(ForkTest, WhileAnotherThreadLoadsItWorksOrIsAnError) {
  std::atomic<bool> stop{false};
  std::jthread other([&] {
    while (!stop) MatMulModel().Session(OnProvider(GetParam()));
  });
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(900 * i));
    InChild([&] {
      if (Outcome([&] { return RunMatMul(*session_); }, expected_) == 2) return 1;
      if (Outcome([&] { return RunMatMul(MatMulModel().Session(OnProvider(GetParam()))); }, expected_) == 2) return 2;
      session_.reset();
      const std::vector<float> on_cpu = RunMatMul(MatMulModel().Session(OnProvider("cpu")));
      return on_cpu.size() == expected_.size() ? 0 : 3;
    });
  }
  stop = true;
}

TEST_P(ForkTest, SharedThreadsAndParallelExecution) {
  EnvironmentOptions shared;
  shared.global_intra_op_threads = 3;
  shared.global_inter_op_threads = 2;
  const Environment environment(shared);
  SessionOptions options = OnProvider(GetParam(), 0);
  options.use_global_threads = true;
  options.execution_mode = ExecutionMode::kParallel;
  auto session = std::make_unique<Session>(MatMulModel().Session(options, environment));
  const std::vector<float> expected = RunMatMul(*session);
  InChild([&] {
    const int wanted = is_device() ? 1 : 0;
    if (Outcome([&] { return RunMatMul(*session); }, expected) != wanted) return 1;
    if (Outcome([&] { return RunMatMul(MatMulModel().Session(options, environment)); }, expected) != wanted) return 2;
    session.reset();
    return 0;
  });
  EXPECT_EQ(RunMatMul(*session), expected);
}

TEST(WorkerPoolFork, AChildHasWorkersOfItsOwn) {
  const auto pool = MakeWorkerPool(4);
  const auto threads_of_a_loop = [&] {
    const RunScope run(*pool);
    std::atomic<int> inside{0}, most{0};
    pool->ParallelFor(4, 1e9, [&](int64_t, int64_t) {
      most = std::max(most.load(), ++inside);
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (most < 2 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      --inside;
    });
    return most.load();
  };
  EXPECT_GT(threads_of_a_loop(), 1);
  InChild([&] { return threads_of_a_loop() > 1 ? 0 : 1; });
}

TEST(ForkMutexTest, IsFreeInAChildWhoeverHoldsItInTheParent) {
  ForkMutex mutex;
  std::atomic<bool> held{false}, stop{false};
  std::jthread holder([&] {
    const std::lock_guard lock(mutex);
    held = true;
    while (!stop) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  InChild([&] {
    const std::lock_guard lock(mutex);
    return 0;
  });
  stop = true;
  holder.join();
  const std::lock_guard lock(mutex);  // the parent's works on
}

TEST(ForkMutexTest, WhatItGuardsIsInOrderInAChild) {
  ForkMutex mutex;
  int first = 0, second = 0;
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    while (!stop) {
      const std::lock_guard lock(mutex);
      ++first;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      ++second;
    }
  });
  for (int i = 0; i < 20; ++i) {
    InChild([&] {
      const std::lock_guard lock(mutex);
      return first == second ? 0 : 1;
    });
  }
  stop = true;
}

}  // namespace
}  // namespace tessera
