#include "faulty_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace tessera::testing {
namespace {

struct State {
  std::mutex mutex;
  std::map<std::string, int> calls;
  int all = 0;
  int left = -1;  // calls until one fails; -1: none will
  cl_int status = CL_SUCCESS;
  bool for_good = false;
  const char* only = nullptr;
  std::string failed;
  std::map<cl_uint, std::string> answers;
  std::atomic<int> live = 0;
  std::atomic<bool> separate = false, limits_groups = false;
};

State& Driver() {
  static State& state = *new State;  // devices that stay open outlive statics
  return state;
}

/// CL_SUCCESS: the call is to be passed on.
cl_int Count(const char* name) {
  State& state = Driver();
  const std::lock_guard lock(state.mutex);
  ++state.calls[name];
  ++state.all;
  if (state.left < 0 || (state.only != nullptr && std::strcmp(state.only, name) != 0)) return CL_SUCCESS;
  if (state.left > 0) {
    --state.left;
    return CL_SUCCESS;
  }
  if (!state.for_good) state.left = -1;
  if (state.failed.empty()) state.failed = name;
  return state.status;
}

/// The driver's own function.
template <class Function>
Function* Next(Function*, const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "there is no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

/// A function that returns its status.
template <class Function, class... Args>
cl_int Call(Function* self, const char* name, Args... args) {
  const cl_int fault = Count(name);
  return fault != CL_SUCCESS ? fault : Next(self, name)(args...);
}

/// Puts the answer that a test gives in the place of the driver's.
void Replace(cl_uint what, size_t size, void* value, size_t* needed) {
  State& state = Driver();
  const std::lock_guard lock(state.mutex);
  const auto found = state.answers.find(what);
  if (found == state.answers.end()) return;
  if (needed != nullptr) *needed = found->second.size();
  if (value != nullptr) std::memcpy(value, found->second.data(), std::min(size, found->second.size()));
}

/// A function that makes an object and writes its status, the last argument.
template <class Function, class... Args>
auto Make(Function* self, const char* name, cl_int* status, Args... args) {
  using Made = decltype(self(args..., status));
  if (const cl_int fault = Count(name); fault != CL_SUCCESS) {
    if (status != nullptr) *status = fault;
    return Made(nullptr);
  }
  const Made made = Next(self, name)(args..., status);
  if (made != nullptr && std::strcmp(name, "clEnqueueMapBuffer") != 0) ++Driver().live;
  return made;
}

/// A function that gives one reference back; those never fail.
template <class Function, class Handle>
cl_int Release(Function* self, const char* name, Handle handle) {
  --Driver().live;
  return Next(self, name)(handle);
}

/// A command that may give an event.
template <class Function, class... Args>
cl_int Enqueue(Function* self, const char* name, cl_event* event, Args... args) {
  const cl_int status = Call(self, name, args..., event);
  if (status == CL_SUCCESS && event != nullptr) ++Driver().live;
  return status;
}

}  // namespace

void FaultyDriver::FailAfter(int passed, cl_int status, bool for_good, const char* only) {
  State& state = Driver();
  const std::lock_guard lock(state.mutex);
  state.left = passed;
  state.status = status;
  state.for_good = for_good;
  state.only = only;
  state.failed.clear();
}

std::string FaultyDriver::Repair() {
  State& state = Driver();
  const std::lock_guard lock(state.mutex);
  state.left = -1;
  state.answers.clear();
  return std::exchange(state.failed, {});
}

void FaultyDriver::Answer(cl_uint what, std::string bytes) {
  const std::lock_guard lock(Driver().mutex);
  Driver().answers[what] = std::move(bytes);
}
const std::map<std::string, int>& FaultyDriver::calls() { return Driver().calls; }
int FaultyDriver::all_calls() { return Driver().all; }
void FaultyDriver::Reset() {
  const std::lock_guard lock(Driver().mutex);
  Driver().calls.clear();
  Driver().all = 0;
}
int FaultyDriver::live_objects() { return Driver().live; }
void FaultyDriver::LimitGroups(bool limit) { Driver().limits_groups = limit; }
void FaultyDriver::SeparateMemory(bool separate) { Driver().separate = separate; }

}  // namespace tessera::testing

using namespace tessera::testing;

extern "C" {

cl_int clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  return Call(&clGetPlatformIDs, "clGetPlatformIDs", entries, platforms, count);
}
cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* value, size_t* needed) {
  return Call(&clGetPlatformInfo, "clGetPlatformInfo", platform, what, size, value, needed);
}
cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id* devices,
                      cl_uint* count) {
  return Call(&clGetDeviceIDs, "clGetDeviceIDs", platform, type, entries, devices, count);
}
cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value, size_t* needed) {
  const cl_int status = Call(&clGetDeviceInfo, "clGetDeviceInfo", device, what, size, value, needed);
  if (status == CL_SUCCESS && what == CL_DEVICE_HOST_UNIFIED_MEMORY && value != nullptr && Driver().separate) {
    *static_cast<cl_bool*>(value) = CL_FALSE;
  }
  if (status == CL_SUCCESS) Replace(what, size, value, needed);
  return status;
}
cl_context clCreateContext(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data, cl_int* status) {
  return Make(&clCreateContext, "clCreateContext", status, properties, count, devices, notify, data);
}
cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int* status) {
  return Make(&clCreateCommandQueue, "clCreateCommandQueue", status, context, device, properties);
}
cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* status) {
  return Make(&clCreateBuffer, "clCreateBuffer", status, context, flags, size, host);
}
cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings, const size_t* lengths,
                                     cl_int* status) {
  return Make(&clCreateProgramWithSource, "clCreateProgramWithSource", status, context, count, strings, lengths);
}
cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id* devices, const size_t* lengths,
                                     const unsigned char** binaries, cl_int* binary_status, cl_int* status) {
  return Make(&clCreateProgramWithBinary, "clCreateProgramWithBinary", status, context, count, devices, lengths, binaries,
              binary_status);
}
cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  return Call(&clBuildProgram, "clBuildProgram", program, count, devices, options, notify, data);
}
cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* status) {
  return Make(&clCreateKernel, "clCreateKernel", status, program, name);
}
cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void* value, size_t* needed) {
  return Call(&clGetProgramInfo, "clGetProgramInfo", program, what, size, value, needed);
}
cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size,
                                void* value, size_t* needed) {
  const cl_int status =
      Call(&clGetKernelWorkGroupInfo, "clGetKernelWorkGroupInfo", kernel, device, what, size, value, needed);
  if (status == CL_SUCCESS) Replace(what, size, value, needed);
  return status;
}
cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t size, void* value, size_t* needed) {
  return Call(&clGetMemObjectInfo, "clGetMemObjectInfo", memory, what, size, value, needed);
}
cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  return Call(&clSetKernelArg, "clSetKernelArg", kernel, index, size, value);
}
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint waits, const cl_event* list,
                              cl_event* event) {
  constexpr size_t kMostGroups = 65535;
  for (cl_uint i = 1; Driver().limits_groups && i < dimensions; ++i) {
    if (global[i] / local[i] > kMostGroups) return CL_INVALID_WORK_GROUP_SIZE;
  }
  return Enqueue(&clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel", event, queue, kernel, dimensions, offset, global, local,
                 waits, list);
}
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void* data,
                           cl_uint waits, const cl_event* list, cl_event* event) {
  return Enqueue(&clEnqueueReadBuffer, "clEnqueueReadBuffer", event, queue, buffer, blocking, offset, size, data, waits,
                 list);
}
cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                            const void* data, cl_uint waits, const cl_event* list, cl_event* event) {
  return Enqueue(&clEnqueueWriteBuffer, "clEnqueueWriteBuffer", event, queue, buffer, blocking, offset, size, data, waits,
                 list);
}
cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                           size_t size, cl_uint waits, const cl_event* list, cl_event* event) {
  return Enqueue(&clEnqueueCopyBuffer, "clEnqueueCopyBuffer", event, queue, from, to, from_offset, to_offset, size, waits,
                 list);
}
cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_size, size_t offset,
                           size_t size, cl_uint waits, const cl_event* list, cl_event* event) {
  return Enqueue(&clEnqueueFillBuffer, "clEnqueueFillBuffer", event, queue, buffer, pattern, pattern_size, offset, size,
                 waits, list);
}
void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                         size_t size, cl_uint waits, const cl_event* list, cl_event* event, cl_int* status) {
  return Make(&clEnqueueMapBuffer, "clEnqueueMapBuffer", status, queue, buffer, blocking, flags, offset, size, waits, list,
              event);
}
cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint waits, const cl_event* list,
                               cl_event* event) {
  return Enqueue(&clEnqueueUnmapMemObject, "clEnqueueUnmapMemObject", event, queue, memory, mapped, waits, list);
}
cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint waits, const cl_event* list, cl_event* event) {
  return Enqueue(&clEnqueueMarkerWithWaitList, "clEnqueueMarkerWithWaitList", event, queue, waits, list);
}
cl_int clWaitForEvents(cl_uint count, const cl_event* list) {
  return Call(&clWaitForEvents, "clWaitForEvents", count, list);
}
cl_int clFlush(cl_command_queue queue) { return Call(&clFlush, "clFlush", queue); }
cl_int clFinish(cl_command_queue queue) { return Call(&clFinish, "clFinish", queue); }
cl_int clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK* notify)(cl_mem, void*), void* data) {
  return Call(&clSetMemObjectDestructorCallback, "clSetMemObjectDestructorCallback", memory, notify, data);
}
cl_int clRetainMemObject(cl_mem memory) {
  const cl_int status = Call(&clRetainMemObject, "clRetainMemObject", memory);
  if (status == CL_SUCCESS) ++Driver().live;
  return status;
}
cl_int clReleaseMemObject(cl_mem memory) { return Release(&clReleaseMemObject, "clReleaseMemObject", memory); }
cl_int clReleaseKernel(cl_kernel kernel) { return Release(&clReleaseKernel, "clReleaseKernel", kernel); }
cl_int clReleaseProgram(cl_program program) { return Release(&clReleaseProgram, "clReleaseProgram", program); }
cl_int clReleaseEvent(cl_event event) { return Release(&clReleaseEvent, "clReleaseEvent", event); }
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  return Release(&clReleaseCommandQueue, "clReleaseCommandQueue", queue);
}
cl_int clReleaseContext(cl_context context) { return Release(&clReleaseContext, "clReleaseContext", context); }

}  // extern "C"
