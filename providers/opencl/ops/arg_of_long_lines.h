#pragma once

#include "opencl/ops/lines.h"

namespace tessera::opencl {

/// The position of each line's largest or smallest element.
class ArgOfLongLines {
 public:
  explicit ArgOfLongLines(const KernelInfo& info)
      : slices_(OfSlices(info, "arg_max", "arg_slices")), join_(OfSlices(info, "arg_max", "arg_join")) {}

  template <class Result>
  void Run(KernelContext& context, const LineSlices& of, const Tensor& x, const Result& y, cl_int smallest, cl_int last) {
    const DeviceScratch best(context, LineSlices::Bytes(of.parts)), at(context, LineSlices::Bytes(of.parts));
    slices_.Compile().Linear(context, of.parts, x, best.range(), at.range(), of.count, of.stride, of.slices, of.length,
                             smallest, last);
    join_.Compile().Linear(context, of.lines, best.range(), at.range(), y, of.slices, smallest, last);
  }

 private:
  LazyLaunchable slices_, join_;
};

}  // namespace tessera::opencl
