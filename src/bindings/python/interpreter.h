#pragma once

// Python objects that the library holds: they are let go under the interpreter's lock, from whatever thread.

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace tessera::python {

namespace nb = nanobind;

/// False before the interpreter starts and once it ends: nobody may ask for its lock then.
inline bool InterpreterRuns() noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

/// An owner for the library's values that keeps `object` alive.
inline std::shared_ptr<void> Owner(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            if (!InterpreterRuns()) return;  // the process ends
            const PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF(static_cast<PyObject*>(held));
            PyGILState_Release(state);
          }};
}

/// An object to be copied and destroyed without the lock.
class Held {
 public:
  explicit Held(nb::object object) : owner_(Owner(std::move(object))) {}
  /// With the lock only.
  nb::handle get() const noexcept { return static_cast<PyObject*>(owner_.get()); }

 private:
  std::shared_ptr<void> owner_;
};

}  // namespace tessera::python
