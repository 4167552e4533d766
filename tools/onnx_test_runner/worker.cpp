#include "worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "case_json.h"
extern char** environ;

namespace tessera::runner {
namespace {

/// A worker process and the pipes to it.
class Worker {
 public:
  explicit Worker(const std::vector<std::string>& arguments) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    if (pipe2(from, O_CLOEXEC) != 0) {
      const int error = errno;
      close(to[0]);
      close(to[1]);
      throw std::system_error(error, std::generic_category(), "pipe");
    }
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 2);
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    char worker_flag[] = "--worker";
    argv.push_back(worker_flag);
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    const int error = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    input_ = to[1];
    output_ = from[0];
    if (error != 0) {
      pid_ = -1;
      throw std::system_error(error, std::generic_category(), "starting a worker");
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    close(input_);
    close(output_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  bool Send(const std::string& line) {
    const std::string text = line + "\n";
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = write(input_, text.data() + sent, text.size() - sent);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

  enum class Reply { kLine, kEnd, kTimeout };

  /// The worker's next line; waits `timeout_seconds` at most for each part of it (0: for ever).
  Reply Receive(std::string& line, int timeout_seconds) {
    for (;;) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return Reply::kLine;
      }
      pollfd wait{output_, POLLIN, 0};
      const int ready = poll(&wait, 1, timeout_seconds > 0 ? timeout_seconds * 1000 : -1);
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) return Reply::kTimeout;
      char chunk[4096];
      const ssize_t n = read(output_, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Reply::kEnd;
      buffer_.append(chunk, static_cast<size_t>(n));
    }
  }

  /// Waits for the end of a worker that closed its output; says how it ended.
  std::string Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                               : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
};

CaseResult RunInWorker(std::optional<Worker>& worker, const TestCase& test, const Options& options,
                       const std::vector<std::string>& arguments) {
  CaseResult result{.name = test.name, .group = test.folder_group};
  if (!worker) worker.emplace(arguments);
  std::string line;
  const auto reply = worker->Send(ToJson(test)) ? worker->Receive(line, options.timeout_seconds) : Worker::Reply::kEnd;
  switch (reply) {
    case Worker::Reply::kLine: return CaseResultFromJson(line);
    case Worker::Reply::kTimeout:
      result.cause = "timeout";
      result.message = fmt::format("no result after {} s", options.timeout_seconds);
      break;
    case Worker::Reply::kEnd:
      result.cause = "crash";
      result.message = "the process " + worker->Wait();
      break;
  }
  worker.reset();
  return result;
}

}  // namespace

void RunIsolated(std::span<const TestCase> cases, const Options& options, const std::vector<std::string>& arguments,
                 const std::function<void(CaseResult)>& done) {
  signal(SIGPIPE, SIG_IGN);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  const auto serve = [&] {
    std::optional<Worker> worker;
    for (size_t i = next++; i < cases.size(); i = next++) {
      CaseResult result{.name = cases[i].name, .group = cases[i].folder_group};
      try {
        result = RunInWorker(worker, cases[i], options, arguments);
      } catch (const std::exception& error) {
        result.cause = "crash";
        result.message = error.what();
        worker.reset();
      }
      const std::lock_guard lock(mutex);
      done(std::move(result));
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < options.jobs; ++i) threads.emplace_back(serve);
  serve();
  threads.clear();  // waits for them
}

int WorkerMain(const Options& options) {
  // A worker in the middle of a long case does not see that its input has ended.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Whatever a library prints must not look like a result.
  const int results = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::string line;
  while (std::getline(std::cin, line)) {
    const TestCase test = TestCaseFromJson(line);
    const std::string reply = ToJson(RunCase(test, options)) + "\n";
    for (size_t sent = 0; sent < reply.size();) {
      const ssize_t n = write(results, reply.data() + sent, reply.size() - sent);
      if (n <= 0 && errno != EINTR) return 1;
      if (n > 0) sent += static_cast<size_t>(n);
    }
  }
  return 0;
}

}  // namespace tessera::runner
