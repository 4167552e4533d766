// Threads that the sessions of an environment share.

#include "bindings/c/threading.h"

#include <functional>
#include <memory>
#include <mutex>

#include "bindings/c/entry.h"
#include "bindings/c/env.h"

namespace tessera::c_abi {
namespace {

/// What a thread of the client's calls. It frees what it is given, as nobody else knows when it has begun.
void CallBody(void* body) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(body));
  (*owned)();
}

constexpr uint32_t kCallbacksVersion = 25;

}  // namespace

ThreadStarter StarterOf(const ThreadFunctions& functions) {
  if (functions.create == nullptr && functions.join == nullptr) return nullptr;
  Require(functions.create != nullptr && functions.join != nullptr,
          "one function for threads is given; give both, which start them and wait for their ends");
  return [functions](std::function<void()> body) -> std::function<void()> {
    auto owned = std::make_unique<std::function<void()>>(std::move(body));
    const OrtCustomThreadHandle thread = functions.create(functions.options, CallBody, owned.get());
    if (thread == nullptr) Fail(ErrorCode::kFail, "the program's function started no thread");
    [[maybe_unused]] const auto* of_thread = owned.release();
    return [join = functions.join, thread] { join(thread); };
  };
}

OrtStatusPtr SetPerSessionThreadPoolCallbacks(OrtEnv* env, const OrtThreadPoolCallbacksConfig* config) noexcept {
  return Guarded([&] {
    OrtEnv& own = Given(env, "the environment");
    const OrtThreadPoolCallbacksConfig& given = Given(config, "the callbacks");
    Require(given.version >= kCallbacksVersion, "the callbacks' version is {}, expected {} or more", given.version,
            kCallbacksVersion);
    const ThreadWorkObserver observer{given.on_enqueue, given.on_start_work, given.on_stop_work, given.on_abandon,
                                      given.user_context};
    const std::lock_guard lock(own.mutex);
    own.observer = observer;
  });
}

OrtStatusPtr CreateThreadingOptions(OrtThreadingOptions** out) noexcept {
  return Making(out, [&] { return new OrtThreadingOptions; });
}

void ReleaseThreadingOptions(OrtThreadingOptions* input) { Release(input); }

OrtStatusPtr SetGlobalIntraOpNumThreads(OrtThreadingOptions* tp_options, int intra_op_num_threads) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").intra_op_threads = intra_op_num_threads; });
}

OrtStatusPtr SetGlobalInterOpNumThreads(OrtThreadingOptions* tp_options, int inter_op_num_threads) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").inter_op_threads = inter_op_num_threads; });
}

OrtStatusPtr SetGlobalSpinControl(OrtThreadingOptions* tp_options, int allow_spinning) noexcept {
  return Guarded([&] {
    Require(allow_spinning == 0 || allow_spinning == 1, "allow_spinning is {}, expected 0 or 1", allow_spinning);
    Given(tp_options, "the threading options").threads.spin = allow_spinning == 1;
  });
}

OrtStatusPtr SetGlobalDenormalAsZero(OrtThreadingOptions* tp_options) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").denormal_as_zero = true; });
}

OrtStatusPtr SetGlobalIntraOpThreadAffinity(OrtThreadingOptions* tp_options, const char* affinity_string) noexcept {
  return Guarded([&] {
    const std::string_view affinity = &Given(affinity_string, "the affinities");
    Require(!affinity.empty() && affinity.size() <= 2048, "the affinities have {} characters, expected 1 to 2048",
            affinity.size());
    Given(tp_options, "the threading options").threads.affinities = affinity;
  });
}

OrtStatusPtr SetGlobalCustomCreateThreadFn(OrtThreadingOptions* tp_options,
                                           OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").functions.create = ort_custom_create_thread_fn; });
}

OrtStatusPtr SetGlobalCustomThreadCreationOptions(OrtThreadingOptions* tp_options,
                                                  void* ort_custom_thread_creation_options) noexcept {
  return Guarded(
      [&] { Given(tp_options, "the threading options").functions.options = ort_custom_thread_creation_options; });
}

OrtStatusPtr SetGlobalCustomJoinThreadFn(OrtThreadingOptions* tp_options,
                                         OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return Guarded([&] { Given(tp_options, "the threading options").functions.join = ort_custom_join_thread_fn; });
}

}  // namespace tessera::c_abi
