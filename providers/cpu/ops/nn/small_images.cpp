#include "cpu/ops/nn/small_images.h"

#include <algorithm>
#include <vector>

#include "base/weight_memory.h"
#include "cpu/ops/nn/image_rows.h"
#include "cpu/ops/nn/packed_weights.h"
#include "kernels/gemm/gemm.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kRowsTogether = 192;  // of a GEMM: what it reads of them stays in the cache, and weights are read seldom

/// [outputs, channels, taps] as panels of a matrix [taps, channels] by outputs.
void PackByTaps(ThreadPool& threads, const Tensor& weights, float* packed) {
  const Shape& shape = weights.shape();
  const int64_t outputs = shape[0], channels = shape[1], taps = shape.SizeOfRange(2, shape.rank());
  if (taps == 1) {
    PackGemmBInStrips<float>(threads, channels, outputs, weights.unaligned_data<float>(), true, packed);
    return;
  }
  std::vector<float> by_taps(static_cast<size_t>(weights.num_elements()));
  TransposePlanes(threads, outputs, channels, taps, weights.unaligned_data<float>(), by_taps.data());
  PackGemmB<float>(threads, taps * channels, outputs, by_taps.data(), 1, taps * channels, packed);
}

}  // namespace

SmallImagesConv::SmallImagesConv(const KernelInfo& info) {
  const Tensor* weights = info.constant_input(1);
  const Shape& shape = weights_shape_ = weights->shape();
  const Shape size{static_cast<int64_t>(PackedGemmBSize<float>(shape.SizeOfRange(1, shape.rank()), shape[0]))};
  packed_ = SharedTensor(info, *weights, "small_images", ElementType::kFloat, size, [&] {
    auto packed = std::make_shared<Tensor>(ElementType::kFloat, size, WeightMemory());
    PackByTaps(info.threads(), *weights, packed->mutable_data<float>());
    return packed;
  });
  info.ReleaseConstant(1);
}

void SmallImagesConv::Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                               const Epilogue<float>& epilogue, float* output) const {
  const int64_t outputs = weights_shape_[0], channels = weights_shape_[1], taps = window.kernel.num_elements();
  const int64_t pixels = window.output.num_elements(), plane = window.input.num_elements(), k = CheckedMul(taps, channels);
  const int64_t together = std::clamp<int64_t>(kRowsTogether / pixels, 1, batch), most = CheckedMul(together, pixels);
  const std::span<const int64_t> indices = MeetingPixels(context, window);
  const auto allocate = [&](int64_t rows, int64_t columns) {
    return context.scratch<float>(static_cast<size_t>(CheckedMul(rows, columns))).data();
  };
  float* by_pixels = plane == 1 ? nullptr : allocate(CheckedMul(together, plane), channels);
  float* gathered = AreRows(indices, taps, plane) ? nullptr : allocate(most, k);
  float* results = pixels == 1 ? nullptr : allocate(most, outputs);
  GemmProblem<float> args;
  args.n = outputs;
  args.k = k;
  args.lhs.row = k;
  args.rhs.packed = packed_->data<float>();
  args.out.row = outputs;
  args.epilogue = epilogue;
  args.m = most;
  const size_t workspace_size = GemmWorkspaceSize(args, context.threads().num_threads());
  float* workspace = workspace_size == 0 ? nullptr : context.scratch<float>(workspace_size).data();
  for (int64_t i = 0; i < batch; i += together) {
    const int64_t images = std::min(together, batch - i);
    const float* from = input + i * channels * plane;
    if (by_pixels != nullptr) {
      TransposePlanes(context.threads(), images, channels, plane, from, by_pixels);
      from = by_pixels;
    }
    if (gathered != nullptr) GatherRows(context.threads(), indices, taps, plane, channels, images, 0.0f, from, gathered);
    args.m = images * pixels;
    args.lhs.data = gathered != nullptr ? gathered : from;
    args.out.data = results != nullptr ? results : output + i * outputs;
    Gemm(context.threads(), args, workspace);
    if (results != nullptr)
      TransposePlanes(context.threads(), images, pixels, outputs, results, output + i * outputs * pixels);
  }
}

}  // namespace tessera::cpu
