#pragma once

#include <CL/cl.h>

#include <string_view>

namespace tessera::opencl {

/// "CL_OUT_OF_RESOURCES"; empty for what is not in OpenCL 1.2.
std::string_view ErrorName(cl_int status) noexcept;

/// Throws Error(kEpFail) naming the call, OpenCL's error and what helps unless `status` is CL_SUCCESS.
void Check(cl_int status, const char* call);

/// Waits until everything in the queue is done. Throws like Check; even then the device does not use host memory any more,
/// unless it is lost for good.
void Finish(cl_command_queue queue);

}  // namespace tessera::opencl
