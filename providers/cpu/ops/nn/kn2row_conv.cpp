#include "cpu/ops/nn/kn2row_conv.h"

#include <algorithm>

#include "base/weight_memory.h"
#include "cpu/ops/nn/transposed_gather.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {

Kn2RowConv::Kn2RowConv(const KernelInfo& info) {
  constexpr int64_t kMostOutputs = 6, kFewestChannels = 16;
  const Tensor* weights = info.constant_input(1);
  if (weights == nullptr || !weights->is(ElementType::kFloat) || weights->shape().rank() < 3 ||
      weights->num_elements() == 0)
    return;
  weights_shape_ = weights->shape();
  const int64_t outputs = weights_shape_[0], channels = weights_shape_[1],
                taps = weights_shape_.SizeOfRange(2, weights_shape_.rank());
  if (outputs > kMostOutputs || channels < kFewestChannels || taps == 1) return;
  transposed_ = SharedTensor(info, *weights, "few_outputs", ElementType::kFloat, weights_shape_, [&] {
    auto transposed = std::make_shared<Tensor>(ElementType::kFloat, weights_shape_, WeightMemory());
    const float* from = weights->unaligned_data<float>();
    float* to = transposed->mutable_data<float>();
    for (int64_t i = 0; i < outputs * taps; ++i) {
      const float* column = from + i / taps * channels * taps + taps - 1 - i % taps;
      for (int64_t c = 0; c < channels; ++c) *to++ = LoadUnaligned(column + c * taps);
    }
    return transposed;
  });
}

bool Kn2RowConv::Suits(const Window& window) const {
  constexpr double kMostMultiplications =
      16 << 20;  // 64 MiB of them at a time; or as many as a padded copy of the input would have elements
  if (transposed_ == nullptr) return false;
  double pixels = 1;
  for (size_t i = 0; i < window.rank(); ++i) {
    if (window.strides[i] != 1 || window.begin[i] >= window.extent(i) || window.input[i] == 0) return false;
    pixels *= static_cast<double>(window.input[i]);
  }
  const double multiplications = pixels * static_cast<double>(weights_shape_[0] * window.kernel.num_elements());
  return multiplications <= std::max(kMostMultiplications, pixels * static_cast<double>(weights_shape_[1]));
}

void Kn2RowConv::Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                          const Epilogue<float>& epilogue, float* output) const {
  Window transposed_window = window;
  std::swap(transposed_window.input, transposed_window.output);
  for (size_t i = 0; i < window.rank(); ++i) transposed_window.begin[i] = window.extent(i) - 1 - window.begin[i];
  const TransposedProblem<float> problem{batch,
                                         1,
                                         weights_shape_[1],
                                         weights_shape_[0],
                                         window.kernel.num_elements(),
                                         window.input.num_elements(),
                                         window.output.num_elements(),
                                         input,
                                         nullptr,
                                         transposed_->data<float>(),
                                         epilogue.bias,
                                         output,
                                         epilogue.activation};
  GatherMatMul(context, problem, TransposedTables(context, transposed_window));
}

}  // namespace tessera::cpu
