#include "bindings/c/kernels/kernel_context.h"

#include <algorithm>
#include <cstring>

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/type_info.h"

namespace tessera::c_abi {
namespace {

/// Clients do not say what a batch of theirs costs: enough for two threads to share.
constexpr double kBatchNs = ThreadPool::kSerialBelowNs;

tessera::KernelContext& ContextOf(const OrtKernelContext* context) { return Given(context, "the kernel context").context; }

/// Copies the bytes where one of the two lies on a device, in its stream's order.
void CopyOnDevice(const OrtKernelContext& run, const Tensor& from, Tensor& output) {
  Require(run.transfer != nullptr, "an output begins as an input in {} memory, and nothing copies from there to {} memory",
          from.memory().name, output.memory().name);
  Tensor to = Tensor::View(output.type(), from.shape(), output.mutable_raw(), output.memory());
  Stream* const stream = run.context.stream();
  if (run.transfer->CanCopy(from.memory(), to.memory())) return run.transfer->Copy(from, to, stream);
  if (stream != nullptr) stream->Synchronize();  // what makes the input
  Tensor host(from.type(), from.shape());
  run.transfer->Copy(from, host, nullptr);
  run.transfer->Copy(host, to, nullptr);
}

/// Kernels that change an input in place are given an output that holds it.
void BeginAsInput(const OrtKernelContext& run, size_t index, Tensor& output) {
  const int32_t input = index < run.aliases.size() ? run.aliases[index] : -1;
  const Value* value = input < 0 ? nullptr : run.inputs[static_cast<size_t>(input)];
  const Tensor* from = value == nullptr ? nullptr : value->tensor_if();
  if (from == nullptr || from->type() != output.type() || from->num_elements() != output.num_elements()) return;
  if (output.type() == ElementType::kString) {
    std::ranges::copy(std::span(from->data<std::string>(), static_cast<size_t>(from->num_elements())),
                      output.mutable_data<std::string>());
  } else if (from->raw() == output.raw() || from->byte_size() == 0) {
    return;
  } else if (from->memory().host_accessible && output.memory().host_accessible) {
    std::memcpy(output.mutable_raw(), from->raw(), from->byte_size());
  } else {
    CopyOnDevice(run, *from, output);
  }
}

bool IsHost(const OrtMemoryInfo& info) { return MemoryOf(info).host_accessible; }

}  // namespace

OrtStatusPtr KernelContext_GetInputCount(const OrtKernelContext* context, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(context, "the kernel context").inputs.size(); });
}

OrtStatusPtr KernelContext_GetOutputCount(const OrtKernelContext* context, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(context, "the kernel context").indices.size(); });
}

OrtStatusPtr KernelContext_GetInput(const OrtKernelContext* context, size_t index, const OrtValue** out) noexcept {
  return Guarded([&] {
    const auto inputs = Given(context, "the kernel context").inputs;
    Given(out, "out") = index < inputs.size() ? static_cast<const OrtValue*>(inputs[index]) : nullptr;  // left out
  });
}

OrtStatusPtr KernelContext_GetOutput(OrtKernelContext* context, size_t index, const int64_t* dim_values, size_t dim_count,
                                     OrtValue** out) noexcept {
  return Guarded([&] {
    OrtKernelContext& run = Given(context, "the kernel context");
    OrtValue*& result = Given(out, "out");
    result = nullptr;
    if (index >= run.outputs.size()) return;  // left out
    Require(dim_count == 0 || dim_values != nullptr, "the output's {} dimensions are null", dim_count);
    const Shape shape = ShapeOf(dim_values, dim_count);
    if (const Tensor* made = run.outputs[index].tensor_if(); made != nullptr && made->defined()) {
      Require(made->shape() == shape, "output {} was made as {}, and is asked for as {} now: the kernel may hold the first",
              index, made->shape(), shape);
      result = &run.outputs[index];
      return;
    }
    const int32_t place = run.indices[index];
    const bool wanted = place >= 0 && run.context.has_output(static_cast<size_t>(place));
    Tensor* storage = wanted ? run.context.output(static_cast<size_t>(place), shape) : nullptr;
    if (storage == nullptr) {
      if (run.types[index] == ElementType::kUndefined) return;                                             // left out
      static_cast<Value&>(run.outputs[index]) = Tensor(run.types[index], shape, run.context.allocator());  // for nobody
      result = &run.outputs[index];
      return;
    }
    if (!run.aliases.empty()) BeginAsInput(run, index, *storage);
    OrtValue& view = run.outputs[index];
    if (shape.num_elements() == 0) {
      static_cast<Value&>(view) = *storage;
    } else {
      static_cast<Value&>(view) =
          Tensor::View(storage->type(), storage->shape(), storage->mutable_raw(), storage->memory());
    }
    result = &view;
  });
}

// Outputs get their memory when their shapes are known.
OrtStatusPtr KernelContext_GetPreallocatedOutput(const OrtKernelContext* context, size_t output_index,
                                                 OrtValue** output) noexcept {
  return Guarded([&] {
    const size_t count = Given(context, "the kernel context").indices.size();
    Require(output_index < count, "the node has {} outputs, number {} is asked for", count, output_index);
    Given(output, "out") = nullptr;
  });
}

OrtStatusPtr KernelContext_GetGPUComputeStream(const OrtKernelContext* context, void** out) noexcept {
  return Guarded([&] {
    const Stream* stream = ContextOf(context).stream();
    Given(out, "out") = stream == nullptr ? nullptr : stream->native_handle();
  });
}

// Resources are those of ONNX Runtime's own CUDA and ROCm providers.
OrtStatusPtr KernelContext_GetResource(const OrtKernelContext* context, int /*resource_version*/, int resource_id,
                                       void** resource) noexcept {
  return Guarded([&] {
    ContextOf(context);
    Given(resource, "out") = nullptr;
    Fail(ErrorCode::kInvalidArgument, "the kernel runs on no stream that has resource {}", resource_id);
  });
}

OrtStatusPtr KernelContext_GetSyncStream(const OrtKernelContext* context, OrtSyncStream** out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(context, "the kernel context").stream; });
}

OrtStatusPtr KernelContext_GetLogger(const OrtKernelContext* context, const OrtLogger** logger) noexcept {
  return Guarded([&] { Given(logger, "out") = &Given(context, "the kernel context").logger; });
}

OrtStatusPtr KernelContext_GetAllocator(const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                                        OrtAllocator** out) noexcept {
  return Guarded([&] {
    const OrtMemoryInfo& asked = Given(mem_info, "the memory info");
    Allocator& own = ContextOf(context).allocator();
    const bool is_own = MemoryOf(asked) == own.memory();
    Require(is_own || IsHost(asked), "the node's kernel allocates {} memory, not {}", own.memory().name, asked.name);
    Give(out, [&] { return new OfferedAllocator(is_own ? own : HostAllocator(), asked, nullptr); });
  });
}

OrtStatusPtr KernelContext_GetScratchBuffer(const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                                            size_t count_or_bytes, void** out) noexcept {
  return Guarded([&] {
    tessera::KernelContext& run = ContextOf(context);
    Require(IsHost(Given(mem_info, "the memory info")), "scratch memory is the host's, {} memory is asked for",
            mem_info->name);
    Given(out, "out") = count_or_bytes == 0 ? nullptr : run.scratch<std::byte>(count_or_bytes).data();
  });
}

// Batches are runs of neighbours, as many as are asked for at most; 0: as the pool likes it.
OrtStatusPtr KernelContext_ParallelFor(const OrtKernelContext* context, void (*fn)(void*, size_t), size_t total,
                                       size_t num_batch, void* usr_data) noexcept {
  return Guarded([&] {
    tessera::KernelContext& run = ContextOf(context);
    Require(fn != nullptr, "the function is null");
    if (total == 0) return;
    const size_t batches = num_batch == 0 ? total : std::min(num_batch, total);
    const size_t least = total / batches, more = total % batches;
    run.threads().ParallelFor(static_cast<int64_t>(batches), kBatchNs, [&](int64_t begin, int64_t end) {
      for (auto batch = static_cast<size_t>(begin); batch < static_cast<size_t>(end); ++batch) {
        const size_t first = batch * least + std::min(batch, more);
        const size_t last = first + least + (batch < more ? 1 : 0);
        for (size_t i = first; i < last; ++i) fn(usr_data, i);
      }
    });
  });
}

}  // namespace tessera::c_abi
