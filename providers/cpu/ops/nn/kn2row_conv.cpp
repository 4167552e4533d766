#include "cpu/ops/nn/kn2row_conv.h"

#include <utility>

#include "base/weight_memory.h"
#include "cpu/ops/nn/transposed_gather.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {

Kn2RowConv::Kn2RowConv(const KernelInfo& info) {
  const Tensor* weights = info.constant_input(1);
  weights_shape_ = weights->shape();
  const int64_t outputs = weights_shape_[0], channels = weights_shape_[1],
                taps = weights_shape_.SizeOfRange(2, weights_shape_.rank());
  transposed_ = SharedTensor(info, *weights, "kn2row", ElementType::kFloat, weights_shape_, [&] {
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
