// Inputs and outputs bound once for many runs.

#include <algorithm>
#include <cstring>
#include <string>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "bindings/c/run_options.h"
#include "bindings/c/session.h"
#include "bindings/c/value.h"
#include "session/session_state.h"

struct OrtIoBinding {
  explicit OrtIoBinding(const tessera::Session& session) : binding(session), state(session.state()) {}

  tessera::c_abi::Mark<OrtIoBinding> mark;
  tessera::IoBinding binding;
  std::shared_ptr<tessera::Session::State> state;
  std::string unknown_output;  // the first that was bound and that the model does not have: an error of the run
};

namespace tessera::c_abi {
namespace {

IoBinding& Binding(OrtIoBinding* binding) { return Given(binding, "the binding").binding; }

/// Binds an output by `bind`, or keeps its name for the run where there is none such.
template <class Bind>
void BindKnown(OrtIoBinding* binding_ptr, const char* name, const Bind& bind) {
  OrtIoBinding& given = Given(binding_ptr, "the binding");
  const std::string_view output = &Given(name, "the output's name");
  if (!given.state->model->output_position.contains(output)) {
    if (given.unknown_output.empty()) given.unknown_output = output;
    return;
  }
  bind(given.binding, output);
}

/// Frees what a client's allocator gave, unless it is released.
class ClientArray {
 public:
  ClientArray(OrtAllocator& allocator, size_t bytes)
      : allocator_(allocator), memory_(bytes == 0 ? nullptr : allocator.Alloc(&allocator, bytes)) {
    if (memory_ == nullptr && bytes > 0) Fail(ErrorCode::kRuntimeException, "the allocator gives no {} bytes", bytes);
  }
  ~ClientArray() {
    if (memory_ != nullptr) allocator_.Free(&allocator_, memory_);
  }
  ClientArray(const ClientArray&) = delete;
  ClientArray& operator=(const ClientArray&) = delete;
  void* get() const noexcept { return memory_; }
  void* release() noexcept { return std::exchange(memory_, nullptr); }

 private:
  OrtAllocator& allocator_;
  void* memory_;
};

}  // namespace

OrtStatusPtr CreateIoBinding(OrtSession* session, OrtIoBinding** out) noexcept {
  return Making(out, [&] { return new OrtIoBinding(Given(session, "the session").loaded()); });
}

void ReleaseIoBinding(OrtIoBinding* input) { Release(input); }

OrtStatusPtr BindInput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) noexcept {
  return Guarded([&] {
    OrtIoBinding& given = Given(binding_ptr, "the binding");
    const std::string_view input = &Given(name, "the input's name");
    if (!given.state->model->input_position.contains(input))
      Fail(ErrorCode::kFail, "the model has no input '{}'; SessionGetInputName lists those it has", input);
    given.binding.BindInput(input, Given(val_ptr, "the value"));
  });
}

OrtStatusPtr BindOutput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) noexcept {
  return Guarded([&] {
    const OrtValue& value = Given(val_ptr, "the value");
    BindKnown(binding_ptr, name, [&](IoBinding& binding, std::string_view output) {
      const Tensor* buffer = value.tensor_if();
      if (buffer != nullptr && buffer->defined()) {
        binding.BindOutput(output, *buffer);
      } else {
        binding.BindOutput(output);
      }
    });
  });
}

OrtStatusPtr BindOutputToDevice(OrtIoBinding* binding_ptr, const char* name, const OrtMemoryInfo* mem_info_ptr) noexcept {
  return Guarded([&] {
    const MemoryInfo memory = MemoryOf(Given(mem_info_ptr, "the memory info"));
    BindKnown(binding_ptr, name, [&](IoBinding& binding, std::string_view output) { binding.BindOutput(output, memory); });
  });
}

OrtStatusPtr GetBoundOutputNames(const OrtIoBinding* binding_ptr, OrtAllocator* allocator, char** buffer, size_t** lengths,
                                 size_t* count) noexcept {
  return Guarded([&] {
    const std::span<const std::string> names = Given(binding_ptr, "the binding").binding.output_names();
    OrtAllocator& memory = Given(allocator, "the allocator");
    Given(buffer, "out") = nullptr;
    Given(lengths, "the lengths") = nullptr;
    Given(count, "the number") = names.size();
    if (names.empty()) return;
    size_t size = 0;
    for (const std::string& name : names) size += name.size();
    ClientArray text(memory, size);
    ClientArray sizes(memory, names.size() * sizeof(size_t));
    char* at = static_cast<char*>(text.get());
    for (size_t i = 0; i < names.size(); ++i) {
      at = std::ranges::copy(names[i], at).out;
      static_cast<size_t*>(sizes.get())[i] = names[i].size();
    }
    *buffer = static_cast<char*>(text.release());
    *lengths = static_cast<size_t*>(sizes.release());
  });
}

OrtStatusPtr GetBoundOutputValues(const OrtIoBinding* binding_ptr, OrtAllocator* allocator, OrtValue*** output,
                                  size_t* output_count) noexcept {
  return Guarded([&] {
    const std::span<const Value> values = Given(binding_ptr, "the binding").binding.outputs();
    OrtAllocator& memory = Given(allocator, "the allocator");
    Given(output, "out") = nullptr;
    Given(output_count, "the number") = 0;
    if (values.empty()) return;
    ClientArray list(memory, values.size() * sizeof(OrtValue*));
    auto** handles = static_cast<OrtValue**>(list.get());
    size_t made = 0;
    try {
      for (; made < values.size(); ++made) handles[made] = new OrtValue(values[made]);
    } catch (...) {
      while (made > 0) delete handles[--made];
      throw;
    }
    *output = static_cast<OrtValue**>(list.release());
    *output_count = values.size();
  });
}

void ClearBoundInputs(OrtIoBinding* binding_ptr) noexcept {
  if (binding_ptr != nullptr) (void)Guarded([&] { binding_ptr->binding.ClearInputs(); });
}

void ClearBoundOutputs(OrtIoBinding* binding_ptr) noexcept {
  if (binding_ptr == nullptr) return;
  (void)Guarded([&] { binding_ptr->binding.ClearOutputs(); });
  binding_ptr->unknown_output.clear();
}

OrtStatusPtr SynchronizeBoundInputs(OrtIoBinding* binding_ptr) noexcept {
  return Guarded([&] { Binding(binding_ptr).SynchronizeInputs(); });
}

OrtStatusPtr SynchronizeBoundOutputs(OrtIoBinding* binding_ptr) noexcept {
  return Guarded([&] { Binding(binding_ptr).SynchronizeOutputs(); });
}

OrtStatusPtr RunWithBinding(OrtSession* session, const OrtRunOptions* run_options,
                            const OrtIoBinding* binding_ptr) noexcept {
  return Guarded([&] {
    // The run writes the results of the binding, which clients hold as constant.
    auto& given = const_cast<OrtIoBinding&>(Given(binding_ptr, "the binding"));
    Require(given.unknown_output.empty(), "the model has no output '{}', which is bound", given.unknown_output);
    Given(session, "the session").loaded().Run(given.binding, CoreOf(run_options));
  });
}

}  // namespace tessera::c_abi
