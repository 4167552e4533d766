#pragma once

// Functions of the program's that the library calls while it loads or compiles a model.

#include <exception>
#include <memory>
#include <mutex>

#include "bindings/python/interpreter.h"
#include "bindings/python/runtime.h"

namespace tessera::python {

/// What a function of the program's threw: as a status it crosses the library, whose threads know nothing of it, and it
/// comes out of the call that the program made.
class Thrown {
 public:
  /// Runs what calls such a function, with the interpreter's lock.
  template <class Body>
  OrtStatus* Guard(Body&& body) noexcept {
    if (!InterpreterRuns()) return Api().CreateStatus(ORT_FAIL, "the interpreter has ended");
    const Inside locked;
    try {
      std::forward<Body>(body)();
      return nullptr;
    } catch (const std::exception& error) {
      Keep(std::current_exception());
      return Api().CreateStatus(ORT_FAIL, error.what());
    }
  }

  /// Of the program's call, with the lock: throws what its function threw, where the call failed for that, or what the
  /// library says. A call that went well in spite of it tells who listens to errors that nobody handles.
  void Check(OrtStatus* status);

  /// Whether a function of the program's has thrown.
  bool any() {
    const std::lock_guard lock(mutex_);
    return first_ != nullptr;
  }

 private:
  void Keep(std::exception_ptr thrown);

  std::mutex mutex_;
  std::exception_ptr first_;
};

/// The function that has what a provider stored outside of a model, and how many bytes it may give at once.
struct ContextSource {
  HeldFunction function;  // null: the files beside the model are read
  size_t most = 0;
};

/// What one load or compilation calls. The library has its address; sessions keep it, as their providers may ask later.
struct Callbacks {
  ContextSource read;
  HeldFunction write, place_weight, stream;
  Thrown thrown;

  /// Makes the options' loads ask `read`, where there is such a function.
  void ReadBy(OrtSessionOptions& options);
};

/// An OrtWriteNamedBufferFunc whose state are the callbacks.
OrtStatus* WriteContext(void* callbacks, const char* name, const void* data, size_t size) noexcept;

}  // namespace tessera::python
