// ConvTranspose (1, 11, 22): the gradient of convolution as an operator. A GEMM computes every kernel position's
// contributions for some output channels; they are then gathered while they are in the cache.

#include <fmt/format.h>

#include "base/checked.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/transposed_gather.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/conv/choose/transposed.h"
#include "ops/nn/conv_transpose.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

template <class T>
class ConvTranspose final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit ConvTranspose(const KernelInfo& info) : attributes_(info.node()) {
    const Tensor* weights = info.constant_input(1);
    if (weights == nullptr || !weights->is(ElementTypeOf<T>) || weights->num_elements() == 0 || weights->shape().rank() < 3)
      return;
    weights_shape_ = weights->shape();
    if (weights_shape_[0] % attributes_.group != 0 || GathersTransposed(weights_shape_[0] / attributes_.group)) return;
    transposed_ = SharedTensor(info, *weights, fmt::format("conv_transpose.{}", attributes_.group), ElementTypeOf<C>,
                               weights_shape_, [&] { return TransposeWeights(info.threads(), *weights); });
    info.ReleaseConstant(1);
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor* weights = transposed_ ? nullptr : &context.required_input(1);
    const Shape& weights_shape = transposed_ ? weights_shape_ : weights->shape();
    const Tensor* bias = context.input(2);
    const Window window = attributes_.Fit(input.shape(), weights_shape, bias);
    const int64_t groups = attributes_.group;
    Tensor* output = context.output(0, attributes_.ResultShape(input.shape(), weights_shape, window));
    if (output == nullptr || output->num_elements() == 0) return;
    ComputeResult<T> result(context, *output);
    const TransposedProblem<C> problem{input.shape()[0],
                                       groups,
                                       input.shape()[1] / groups,
                                       weights_shape[1],
                                       window.kernel.num_elements(),
                                       window.output.num_elements(),
                                       window.input.num_elements(),
                                       ComputeView<T>(context, &input),
                                       ComputeView<T>(context, weights),
                                       transposed_ ? transposed_->data<C>() : nullptr,
                                       ComputeView<T>(context, bias),
                                       result.data()};
    Run(context, window, problem);
    result.Finish();
  }

 private:
  /// Weights with the input channels as the last axis.
  std::shared_ptr<const Tensor> TransposeWeights(ThreadPool& threads, const Tensor& weights) const {
    auto transposed = std::make_shared<Tensor>(ElementTypeOf<C>, weights.shape(), WeightMemory());
    const int64_t channels = weights.shape()[0] / attributes_.group;
    const int64_t rows = weights.shape().SizeOfRange(1, weights.shape().rank());
    const T* from = weights.data<T>();
    C* to = transposed->template mutable_data<C>();
    threads.ParallelFor(attributes_.group * rows, static_cast<double>(channels) * 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* column = from + i / rows * channels * rows + i % rows;
        for (int64_t c = 0; c < channels; ++c) to[i * channels + c] = static_cast<C>(column[c * rows]);
      }
    });
    return transposed;
  }

  static void Run(KernelContext& context, const Window& window, const TransposedProblem<C>& problem) {
    const ConvAlgorithm algorithm = ChooseTransposed(window, problem.channels);
    if (algorithm == ConvAlgorithm::kGemm) {
      RunGemms<C>(context, problem.batch * problem.groups, [&](int64_t i) {
        const int64_t group = i % problem.groups;
        auto args = problem.Gemm(i / problem.groups, group, 0, problem.outputs,
                                 problem.out + i * problem.outputs * problem.columns);
        args.epilogue = {.bias = problem.bias_of(group * problem.outputs), .channels_are_rows = true};
        return args;
      });
      return;
    }
    const TransposedTables tables(context, window);
    if (algorithm == ConvAlgorithm::kGather) {
      GatherInput(context, problem, tables);
    } else {
      GatherMatMul(context, problem, tables);
    }
  }

  ConvTransposeAttributes attributes_;
  Shape weights_shape_;
  std::shared_ptr<const Tensor> transposed_;
};

}  // namespace

void RegisterConvTranspose(KernelRegistry& registry) {
  registry.Add(Op("ConvTranspose").Types(0, kFloats).Factory(MakeTyped<ConvTranspose, FloatTypes>));
}

}  // namespace tessera::cpu
