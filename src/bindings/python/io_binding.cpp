// Inputs and outputs bound once for many runs.

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "bindings/c/memory_info.h"
#include "bindings/python/arrays.h"
#include "bindings/python/device.h"
#include "bindings/python/sessions.h"
#include "bindings/python/strings.h"

namespace tessera::python {
namespace {

class PyIoBinding {
 public:
  explicit PyIoBinding(const PySession& session) : loaded_(session.loaded()) {
    CheckCall(Api().CreateIoBinding(loaded_->session, &binding_));
  }
  ~PyIoBinding() { Api().ReleaseIoBinding(binding_); }
  PyIoBinding(const PyIoBinding&) = delete;
  PyIoBinding& operator=(const PyIoBinding&) = delete;

  OrtIoBinding* get() const noexcept { return binding_; }
  /// For whoever calls with what get() returns: threads that share a binding wait for each other, without the interpreter.
  std::unique_lock<std::recursive_mutex> Alone() const {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) [[unlikely]] {
      const Unlocked unlocked;
      lock.lock();
    }
    return lock;
  }
  const Loaded& session() const noexcept { return *loaded_; }

  void BindInput(const std::string& name, const Value& value) {
    const OrtValue given(value);
    const auto alone = Alone();
    CheckCall(Api().BindInput(binding_, CharactersOf(name), &given));
  }
  void BindOutput(const std::string& name, const Value& value) {
    RequireWritable(value);
    const OrtValue given(value);
    const auto alone = Alone();
    CheckCall(Api().BindOutput(binding_, CharactersOf(name), &given));
  }
  void BindOutputTo(const std::string& name, const MemoryInfo& memory) {
    const OrtMemoryInfo* info = nullptr;
    OrtMemoryInfo* made = nullptr;
    if (memory == MemoryInfo()) {
      CheckCall(Api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &made));
      info = made;
    } else {
      CheckCall(Api().CreateMemoryInfo_V2(std::string(memory.name).c_str(), OrtMemoryInfoDeviceType_GPU, 0,
                                          memory.device_id, OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &made));
      info = made;
    }
    const auto alone = Alone();
    OrtStatus* status = Api().BindOutputToDevice(binding_, CharactersOf(name), info);
    Api().ReleaseMemoryInfo(made);
    CheckCall(status);
  }

 private:
  std::shared_ptr<Loaded> loaded_;
  OrtIoBinding* binding_ = nullptr;
  /// Recursive: what is bound no more may end in any code of Python's, which may use the binding.
  mutable std::recursive_mutex mutex_;
};

using Binding = nb::class_<PyIoBinding>;

Device DeviceFrom(nb::handle device, int id) {
  if (nb::isinstance<Device>(device)) return nb::cast<Device>(device);
  return DeviceNamed(nb::cast<std::string_view>(device), id);
}

/// Memory that the program names by its address, and keeps.
Tensor TensorAt(const Device& device, nb::handle type, const std::vector<int64_t>& shape, uintptr_t address) {
  return Tensor::View(ElementTypeFrom(type), Shape(shape), reinterpret_cast<void*>(address), MemoryOf(device));
}

void BindArray(PyIoBinding& self, const std::string& name, nb::handle array) {
  const NamedType* declared = self.session().InputNamed(0, name);
  self.BindInput(name, Take(array, declared == nullptr ? TypeInfo() : declared->type));
}

std::vector<HeldValue> Outputs(const PyIoBinding& self) {
  OrtAllocator* allocator = nullptr;
  CheckCall(Api().GetAllocatorWithDefaultOptions(&allocator));
  OrtValue** values = nullptr;
  size_t count = 0;
  const auto alone = self.Alone();
  CheckCall(Api().GetBoundOutputValues(self.get(), allocator, &values, &count));
  std::vector<HeldValue> outputs;
  outputs.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    outputs.emplace_back(std::move(static_cast<Value&>(*values[i])));
    Api().ReleaseValue(values[i]);
  }
  if (values != nullptr) CheckCall(Api().AllocatorFree(allocator, values));
  return outputs;
}

/// A result in the processor's memory, where it has to be copied there.
Value OnHost(const Session& session, Value value) {
  const Tensor* tensor = value.tensor_if();
  if (tensor == nullptr || tensor->memory().host_accessible) return value;
  Tensor copy(tensor->type(), tensor->shape());
  session.Copy(*tensor, copy);
  return copy;
}

nb::list Listed(const std::vector<HeldValue>& values) {
  nb::list list;
  for (const HeldValue& value : values) list.append(nb::cast(value));
  return list;
}

void Run(const PySession& self, const PyIoBinding& binding, nb::handle run_options) {
  const std::shared_ptr<Loaded> session = self.loaded();
  const OrtRunOptions* options = OptionsIn(run_options);
  OrtStatus* status = nullptr;
  {
    const auto alone = binding.Alone();
    const Unlocked unlocked;
    status = Api().RunWithBinding(session->session, options, binding.get());
  }
  CheckCall(status);
}

void SynchronizeInputs(OrtIoBinding* binding) { CheckCall(Api().SynchronizeBoundInputs(binding)); }
void SynchronizeOutputs(OrtIoBinding* binding) { CheckCall(Api().SynchronizeBoundOutputs(binding)); }
void ClearInputs(OrtIoBinding* binding) { Api().ClearBoundInputs(binding); }
void ClearOutputs(OrtIoBinding* binding) { Api().ClearBoundOutputs(binding); }

template <void (*Function)(OrtIoBinding*)>
void Call(PyIoBinding& self) {
  const auto alone = self.Alone();
  Function(self.get());
}

void BindInputs(Binding& binding) {
  // As programs say it, and as the extension module of ONNX Runtime has it: the value alone, or a device and its number.
  binding.def("bind_input", &BindArray, nb::arg("name"), nb::arg("arr_on_cpu"),
              "Binds an array, which is read where it lies; bools of other bytes than 0 and 1 are copied now.");
  binding.def(
      "bind_input",
      [](PyIoBinding& self, const std::string& name, nb::handle device, int id, nb::handle type,
         const std::vector<int64_t>& shape,
         uintptr_t address) { self.BindInput(name, TensorAt(DeviceFrom(device, id), type, shape, address)); },
      nb::arg("name"), nb::arg("device_type"), nb::arg("device_id"), nb::arg("element_type"), nb::arg("shape"),
      nb::arg("buffer_ptr"), "Binds memory by its address, which the program keeps.");
  binding.def("bind_input", [](PyIoBinding& self, const std::string& name, const Device& device, nb::handle type,
                               const std::vector<int64_t>& shape,
                               uintptr_t address) { self.BindInput(name, TensorAt(device, type, shape, address)); });
  binding.def("bind_cpu_input", &BindArray, nb::arg("name"), nb::arg("arr_on_cpu"),
              "Binds an array, which is read where it lies; bools of other bytes than 0 and 1 are copied now.");
  binding.def(
      "bind_ortvalue_input",
      [](PyIoBinding& self, const std::string& name, const HeldValue& value) { self.BindInput(name, value.value); },
      nb::arg("name"), nb::arg("ortvalue"), "Binds a value, which is read where it lies.");
}

void BindOutputs(Binding& binding) {
  binding.def(
      "bind_output",
      [](PyIoBinding& self, const std::string& name, nb::handle device, int id, nb::handle type, nb::handle shape,
         nb::handle address) {
        const Device wanted = DeviceFrom(device, id);
        if (address.is_none() || shape.is_none()) return self.BindOutputTo(name, MemoryOf(wanted));
        self.BindOutput(name, TensorAt(wanted, type, nb::cast<std::vector<int64_t>>(shape), nb::cast<uintptr_t>(address)));
      },
      nb::arg("name"), nb::arg("device_type") = "cpu", nb::arg("device_id") = 0, nb::arg("element_type") = nb::none(),
      nb::arg("shape") = nb::none(), nb::arg("buffer_ptr") = nb::none(),
      "Binds an output to memory by its address, or, without, to a new buffer of the device for each run.");
  binding.def("bind_output", [](PyIoBinding& self, const std::string& name, const Device& device, nb::handle type,
                                const std::vector<int64_t>& shape,
                                uintptr_t address) { self.BindOutput(name, TensorAt(device, type, shape, address)); });
  binding.def(
      "bind_ortvalue_output",
      [](PyIoBinding& self, const std::string& name, const HeldValue& value) { self.BindOutput(name, value.value); },
      nb::arg("name"), nb::arg("ortvalue"), "Binds an output to a value's memory.");
}

}  // namespace

void BindIoBinding(nb::module_& module) {
  Binding binding(module, "SessionIOBinding",
                  "Inputs and outputs bound once for many runs of a session, on one thread at a time.");
  binding.def(nb::init<const PySession&>(), nb::arg("session"));
  binding.def_prop_ro("_iobinding", [](nb::object self) { return self; });
  BindInputs(binding);
  BindOutputs(binding);
  binding.def("synchronize_inputs", &Call<SynchronizeInputs>);
  binding.def("synchronize_outputs", &Call<SynchronizeOutputs>);
  binding.def("clear_binding_inputs", &Call<ClearInputs>);
  binding.def("clear_binding_outputs", &Call<ClearOutputs>);
  binding.def(
      "get_outputs", [](const PyIoBinding& self) { return Listed(Outputs(self)); },
      "Results of the last run, as OrtValues.");
  binding.def("get_outputs_as_ortvaluevector", [](const PyIoBinding& self) { return HeldValues{Outputs(self)}; });
  binding.def(
      "copy_outputs_to_cpu",
      [](const PyIoBinding& self) {
        nb::list arrays;
        for (HeldValue& output : Outputs(self))
          arrays.append(ToPython(OnHost(self.session().core(), std::move(static_cast<Value&>(output.value)))));
        return arrays;
      },
      "Results of the last run, as arrays.");
  nb::object session = module.attr("InferenceSession");
  nb::cpp_function_def(&Run, nb::scope(session), nb::name("run_with_iobinding"), nb::is_method(), nb::arg("iobinding"),
                       nb::arg("run_options") = nb::none(), "Runs with everything bound.");
}

}  // namespace tessera::python
