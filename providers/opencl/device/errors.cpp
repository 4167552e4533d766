#include "opencl/device/errors.h"

#include <fmt/format.h>

namespace tessera::opencl {
namespace {

struct KnownError {
  cl_int status;
  std::string_view name;
  std::string_view remedy = {};
};

constexpr std::string_view kLost =
    "the device was reset, unplugged or taken away by its driver; make a new session once it is back, or use another "
    "provider";
constexpr std::string_view kMemory =
    "the device has no memory left, or its driver stopped a kernel; use smaller inputs, fewer runs or sessions at once, or "
    "another "
    "provider; where every run fails from now on, make a new session";
constexpr std::string_view kHostMemory =
    "the host has no memory left, or none that the driver sets aside for a kernel's private arrays; use smaller inputs, "
    "fewer "
    "runs or sessions at once, or, on a GPU, kernels=tiles";

constexpr KnownError kErrors[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND", kLost},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE", kLost},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE", "install the driver's compiler, or use another provider"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE", kMemory},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", kMemory},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", kHostMemory},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_MAP_FAILURE, "CL_MAP_FAILURE", kMemory},
    {CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", kMemory},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE", kLost},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT", kLost},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", kLost},
    {CL_INVALID_HOST_PTR, "CL_INVALID_HOST_PTR"},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE", kMemory},
};

const KnownError* Find(cl_int status) noexcept {
  for (const KnownError& error : kErrors) {
    if (error.status == status) return &error;
  }
  return nullptr;
}

}  // namespace

std::string_view ErrorName(cl_int status) noexcept {
  const KnownError* error = Find(status);
  return error == nullptr ? std::string_view() : error->name;
}

void Check(cl_int status, const char* call) {
  if (status == CL_SUCCESS) return;
  const KnownError* error = Find(status);
  if (error == nullptr) throw DeviceError(status, fmt::format("{} failed with OpenCL error {}", call, status));
  throw DeviceError(status, fmt::format("{} failed with OpenCL error {} ({}){}{}", call, status, error->name,
                                        error->remedy.empty() ? "" : ": ", error->remedy));
}

void Finish(cl_command_queue queue) {
  const cl_int status = clFinish(queue);
  if (status == CL_SUCCESS) return;
  // A driver that could not wait, for want of memory say, may still be at work on what the caller is about to free.
  clFinish(queue);
  Check(status, "clFinish");
}

}  // namespace tessera::opencl
