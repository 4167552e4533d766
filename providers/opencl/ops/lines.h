#pragma once

// Operators along one axis: a work item for each line, or for each slice of a long one. lines.cl stands before their
// kernels.

#include <string>

#include "base/checked.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "opencl/device/sources.h"
#include "opencl/ops/row_layout.h"
#include "ops/axis.h"

namespace tessera::opencl {

/// Of lines of the first input.
inline std::string LineDefines(const KernelInfo& info) {
  return Computed('X', info.input_type(0)) + std::string(KernelSource("lines"));
}

/// A kernel of the file, compiled when the first long line comes.
inline LazyLaunchable OfSlices(const KernelInfo& info, std::string_view source, const char* name) {
  return {DeviceOf(info), source, LineDefines(info), name};
}

/// How lines are divided.
struct LineSlices {
  using OfLine = Slices<4096>;
  static bool Pay(const AxisView& view) { return OfLine::Pay(view.count); }

  explicit LineSlices(const AxisView& view) : LineSlices(view, OfLine(view.count)) {}

  /// Room on the device for numbers of 8 bytes.
  static size_t Bytes(int64_t numbers) { return static_cast<size_t>(CheckedMul(numbers, int64_t{8})); }

  int64_t lines;
  cl_long count, stride, length, slices;
  int64_t parts;

 private:
  LineSlices(const AxisView& view, const OfLine& divided)
      : lines(view.outer * view.inner),
        count(view.count),
        stride(view.inner),
        length(divided.length),
        slices(divided.count),
        parts(CheckedMul(lines, divided.count)) {}
};

}  // namespace tessera::opencl
