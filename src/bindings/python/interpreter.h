#pragma once

// Python objects that the library holds: they are let go under the interpreter's lock, from whatever thread.

#include <nanobind/nanobind.h>
#include <unistd.h>

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

/// Calls what takes the interpreter's lock. Before 3.14 an interpreter that ends makes other threads than its own exit
/// there, which unwinds their stacks: through functions that let nothing pass, which would end the process by SIGABRT, and
/// through objects that need the lock. Such a thread waits here for the end of the process instead, as it does from 3.14
/// on.
template <class Function>
auto TakingLock(Function&& take) noexcept {
  try {
    return std::forward<Function>(take)();
  } catch (...) {  // the unwinding; Python's own functions throw nothing
    for (;;) pause();
  }
}

/// Lets other threads have the interpreter meanwhile.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    TakingLock([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const state_;
};

/// The interpreter's lock on a thread that may not have it.
class Inside {
 public:
  Inside() noexcept : state_(TakingLock([] { return PyGILState_Ensure(); })) {}
  ~Inside() { PyGILState_Release(state_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const PyGILState_STATE state_;
};

/// Ends the hold on an object, on any thread.
inline void LetGo(void* held) noexcept {
  if (!InterpreterRuns()) return;  // the process ends
  const Inside inside;
  Py_DECREF(static_cast<PyObject*>(held));
}

/// An owner for the library's values that keeps `object` alive.
inline std::shared_ptr<void> Owner(nb::object object) { return {object.release().ptr(), &LetGo}; }

/// The memory of bytes, arrays and the like, which stays where it is as long as anybody has the buffer.
inline std::shared_ptr<Py_buffer> BufferOf(nb::handle object) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_SIMPLE) != 0) nb::raise_python_error();
  return {buffer.release(), [](Py_buffer* held) {
            const std::unique_ptr<Py_buffer> owned(held);
            if (!InterpreterRuns()) return;  // the process ends
            const Inside inside;
            PyBuffer_Release(held);
          }};
}

/// A class whose methods and properties exclude each other for one object where the interpreter has no lock of its own.
/// Where it has one, that does it.
template <class T>
class Locked : public nb::class_<T> {
  using Base = nb::class_<T>;

 public:
  using Base::Base;
  template <class Function, class... Extra>
  Locked& def(const char* name, Function&& function, const Extra&... extra) {
    Base::def(name, std::forward<Function>(function), extra..., nb::lock_self());
    return *this;
  }
  template <class... Arguments, class... Extra>
  Locked& def(nb::init<Arguments...> init, const Extra&... extra) {
    Base::def(std::move(init), extra...);
    return *this;
  }
  template <class Getter, class... Extra>
  Locked& def_prop_ro(const char* name, Getter&& getter, const Extra&... extra) {
    Base::def_prop_ro(name, std::forward<Getter>(getter), extra..., nb::lock_self());
    return *this;
  }
  template <class Getter, class Setter, class... Extra>
  Locked& def_prop_rw(const char* name, Getter&& getter, Setter&& setter, const Extra&... extra) {
    Base::def_prop_rw(name, std::forward<Getter>(getter), std::forward<Setter>(setter), extra..., nb::lock_self());
    return *this;
  }
  template <class C, class D, class... Extra>
  Locked& def_rw(const char* name, D C::* member, const Extra&... extra) {
    Base::def_rw(name, member, extra..., nb::lock_self());
    return *this;
  }
};

/// Excludes other threads from an object of the interpreter's, where it has no lock of its own.
class Exclusive {
 public:
#ifdef Py_GIL_DISABLED
  explicit Exclusive(nb::handle object) { PyCriticalSection_Begin(&section_, object.ptr()); }
  ~Exclusive() { PyCriticalSection_End(&section_); }

 private:
  PyCriticalSection section_;
#else
  explicit Exclusive(nb::handle /*object*/) {}
  ~Exclusive() {}
#endif
 public:
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
};

/// An object to be copied and destroyed without the lock.
class Held {
 public:
  explicit Held(nb::object object) : owner_(Owner(std::move(object))) {}
  /// With the lock only.
  nb::handle get() const noexcept { return static_cast<PyObject*>(owner_.get()); }

 private:
  std::shared_ptr<void> owner_;
};

/// A function that one object of the interpreter's holds; whoever else does makes a Held of their own.
using HeldFunction = std::shared_ptr<const Held>;

inline HeldFunction HeldAgain(const HeldFunction& function) {
  return function == nullptr ? nullptr : std::make_shared<const Held>(nb::borrow(function->get()));
}

/// Lets the interpreter find cycles through what objects of class T hold: functions refer to nearly everything. T has
/// Visit, which shows each object that it holds once, and Forget, which lets go of them.
template <class T>
struct Collected {
  static int Traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->Visit(visit, arg) : 0;
  }
  static int Clear(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->Forget();
    return 0;
  }
  static inline const PyType_Slot kSlots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(&Traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&Clear)}, {0, nullptr}};
};

/// For Visit: what others hold as well, as a load that is under way does, is alive.
inline int Show(const HeldFunction& function, visitproc visit, void* arg) {
  if (function != nullptr && function.use_count() == 1) Py_VISIT(function->get().ptr());
  return 0;
}

}  // namespace tessera::python
