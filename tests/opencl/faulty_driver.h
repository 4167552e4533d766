#pragma once

// An OpenCL driver that fails on request: the program's own definitions of the OpenCL functions that the provider calls,
// which pass calls on to the installed driver.

#include <CL/cl.h>

#include <map>
#include <string>

namespace tessera::testing {

class FaultyDriver {
 public:
  /// The call after `passed` more calls fails with `status`, and with `for_good` all calls after it too. `only`: calls of
  /// that function alone are counted and fail; null: of every function that can fail.
  static void FailAfter(int passed, cl_int status, bool for_good = false, const char* only = nullptr);
  /// Every call is passed on again. Returns the function that failed first, empty if none did.
  static std::string Repair();

  /// Calls since the last Reset, failed ones included, by function.
  static const std::map<std::string, int>& calls();
  static int all_calls();
  static void Reset();

  /// OpenCL objects that nobody has released.
  static int live_objects();
  /// While set, devices give this answer instead of their own to clGetDeviceInfo, or to clGetKernelWorkGroupInfo. Repair
  /// ends it.
  static void Answer(cl_uint what, std::string bytes);
  template <class T>
  static void Answer(cl_uint what, const T& value) {
    Answer(what, std::string(reinterpret_cast<const char*>(&value), sizeof value));
  }
  /// While set, launches of more than 65535 groups along any dimension but the first fail, as on some drivers.
  static void LimitGroups(bool limit);
  /// While set, the device says that it does not share the host's memory.
  static void SeparateMemory(bool separate);
};

}  // namespace tessera::testing
