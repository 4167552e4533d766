#include "opencl/gemm/split_k_gemm.h"

#include <algorithm>

#include "base/rounding.h"
#include "opencl/device/scratch.h"
#include "opencl/gemm/panel_gemm.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kFewResults = 64;  // that all other ways leave most of the device idle for
constexpr int64_t kLong = 1 << 15;   // steps of k that are worth a second launch
constexpr int64_t kSlice = 1 << 13;  // steps of a work item
constexpr int64_t kMostSlices = 1 << 12;

}  // namespace

SplitKGemm::SplitKGemm(const KernelInfo& info)
    : strided_slices_(SettingsOf(info).tiles),
      sum_(DeviceOf(info), "split_k_gemm", Computed('X', info.input_type(0)), "sum_slices"),
      slices_(DeviceOf(info), info.input_type(0), EpilogueOf(info)) {}

bool SplitKGemm::Pays(int64_t m, int64_t n, int64_t k, int64_t stacks) noexcept {
  return k >= kLong && m <= kFewResults && n <= kFewResults && stacks <= kFewResults && m * n * stacks <= kFewResults;
}

void SplitKGemm::Multiply(KernelContext& context, const Tensor& a, const Tensor& b, const SplitKBias& bias, const Tensor& y,
                          std::span<const Tensor* const> epilogue, SplitKShape shape, const Strided& stack,
                          int64_t stacks) {
  const int64_t slices = std::clamp<int64_t>(CeilDiv<int64_t>(shape.k, kSlice), 1, kMostSlices);
  const int64_t results = int64_t{shape.m} * shape.n;
  shape.slices = static_cast<cl_int>(slices);
  shape.slice = static_cast<cl_int>(CeilDiv<int64_t>(shape.k, slices));
  shape.step = strided_slices_ ? shape.slices : 1;
  const DeviceScratch sums(context, slices_.Bytes(results * stacks * slices));
  sum_.Compile().Grid(context, slices, results, stacks, a, b, sums.range(), shape, stack);
  const SliceSumsShape joined{.results = results,
                              .result_step = slices,
                              .slice_step = 1,
                              .n = shape.n,
                              .slices = shape.slices,
                              .row_bias = bias.row,
                              .col_bias = bias.column,
                              .alpha = bias.alpha,
                              .beta = bias.beta};
  slices_.Join(context, sums.range(), bias.bias, y, joined, stacks, epilogue);
}

}  // namespace tessera::opencl
