#pragma once

#include <CL/cl.h>

#include <string>
#include <string_view>

#include "tessera/error.h"

namespace tessera::opencl {

/// An OpenCL call that failed, with its status: for those who can do without what they asked for.
class DeviceError final : public Error {
 public:
  DeviceError(cl_int status, const std::string& message) : Error(ErrorCode::kEpFail, message), status_(status) {}

  cl_int status() const noexcept { return status_; }

 private:
  cl_int status_;
};

/// "CL_OUT_OF_RESOURCES"; empty for what is not in OpenCL 1.2.
std::string_view ErrorName(cl_int status) noexcept;

/// Throws DeviceError naming the call, OpenCL's error and what helps unless `status` is CL_SUCCESS.
void Check(cl_int status, const char* call);

/// Waits until everything in the queue is done. Throws like Check; even then the device does not use host memory any more,
/// unless it is lost for good.
void Finish(cl_command_queue queue);

}  // namespace tessera::opencl
