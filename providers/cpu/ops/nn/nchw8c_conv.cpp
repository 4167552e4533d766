// Nchw8cConv (ai.tessera 1): Conv in NCHW8c, with its epilogue. Inputs X, W (constant), B, R,
// which is added to the result before the activation, and S, the slopes of PRelu. With plain_input or from_nchw X is [N,
// C, ...] of one to three spatial axes; the first reads it plane by plane, the second converts it to NCHW8c.

#include "base/weight_memory.h"
#include "cpu/fused_activation.h"
#include "cpu/ops/nn/nchw8c_dense.h"
#include "cpu/ops/nn/nchw8c_layout.h"
#include "cpu/ops/nn/nchw8c_winograd.h"
#include "cpu/ops/ops.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/winograd/fit.h"
#include "ops/nn/conv.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

class Nchw8cConv final : public Kernel {
 public:
  explicit Nchw8cConv(const KernelInfo& info)
      : attributes_(info.node()),
        group_(GroupOf(info.node())),
        layout_(LayoutOf(info.node())),
        preference_(ConvPreference::Parse(info.node().hints.algorithm)),
        activation_(FusedActivation(info)) {
    const Tensor* weights = info.constant_input(1);
    Require(weights != nullptr && weights->is(ElementType::kFloat) && weights->shape().rank() > 2 &&
                weights->shape().rank() <= kSpatialAxes + 2,
            "the weights must be constant floats with one to {} spatial axes", kSpatialAxes);
    weights_shape_ = weights->shape();
    Require(weights->num_elements() > 0 && group_ > 0 && outputs() % group_ == 0 && outputs() % kChannelBlock == 0,
            "{} outputs in {} groups do not divide into blocks", outputs(), group_);
    depthwise_ = group_ > 1 && weights_shape_[1] == 1 && outputs() == group_;
    const bool divides = weights_shape_[1] % kChannelBlock == 0 && outputs() / group_ % kChannelBlock == 0;
    Require(layout_ == ConvLayout::kNchw8cFromPlanes ? group_ == 1 : depthwise_ || divides,
            "the weights {} in {} groups do not divide into blocks", weights_shape_, group_);
    const Window window = attributes_.Expand(Shape(kernel().size(), 1).dims(), kernel()).WithRank(kSpatialAxes);
    Require(!depthwise_ || layout_ == ConvLayout::kNchw8c, "a depthwise convolution reads blocks");
    if (!depthwise_) dense_ = Nchw8cDense(outputs(), weights_shape_[1], window, group_, layout_);
    Prepare(info, *weights);
    info.ReleaseConstant(1);
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Window fitted = CheckInput(input), window = fitted.WithRank(kSpatialAxes);
    const Shape shape = Nchw8cShape(input.shape()[0], outputs() / kChannelBlock, fitted.output.dims());
    Tensor* output = context.output(0, shape);
    const Epilogue<float> epilogue = EpilogueOf(activation_, context, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t batch = input.shape()[0];
    if (depthwise_) {
      Depthwise(context, window, batch, input.data<float>(), epilogue, output->mutable_data<float>());
    } else if (transformed_ && Choose(window, batch) == ConvAlgorithm::kWinograd) {
      Require(FitsForm(Upright(window), form_),
              "the image is {}, its size was declared to be another: correct its value_info", input.shape());
      ConvolveNchw8cWinograd(context, form_, window, Channels(batch), transformed_->data<float>(), InNchw8c(context, input),
                             epilogue, output->mutable_data<float>());
    } else {
      dense_.Convolve(context, window, batch, packed_->data<float>(), input.data<float>(), epilogue,
                      output->mutable_data<float>());
    }
  }

  std::string Implementation(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    return std::string(NameOf(Choose(CheckInput(input).WithRank(kSpatialAxes), input.shape()[0])));
  }

 private:
  /// The best algorithm whose weights were packed.
  ConvAlgorithm Choose(const Window& window, int64_t batch) const {
    if (transformed_ && !packed_) return ConvAlgorithm::kWinograd;
    const ConvProblem problem{.layout = layout_,
                              .batch = batch,
                              .channels = channels(),
                              .outputs = outputs(),
                              .groups = group_,
                              .window = window};
    const ConvCandidates ranked = RankConvAlgorithms(problem).Preferring(preference_);
    const ConvCandidate& best = ranked.front();
    if (best.algorithm != ConvAlgorithm::kWinograd || (transformed_ && best.form == form_)) return best.algorithm;
    return ranked.Find(ConvAlgorithm::kDirect) ? ConvAlgorithm::kDirect : ConvAlgorithm::kDirectByRegions;
  }

  int64_t outputs() const { return weights_shape_[0]; }
  int64_t channels() const { return weights_shape_[1] * group_; }
  std::span<const int64_t> kernel() const { return weights_shape_.dims().subspan(2); }
  int64_t positions() const { return weights_shape_.SizeOfRange(2, weights_shape_.rank()); }

  /// Weights for the best algorithm, and for direct convolution where the image's size is not known.
  void Prepare(const KernelInfo& info, const Tensor& weights) {
    const ConvProblem likely =
        DescribeLikelyConv(info.node(), info.input_info(0).shape.value_or(SymbolicShape()), weights_shape_);
    const ConvCandidate best = RankConvAlgorithms(likely).Preferring(preference_).front();
    if (best.algorithm == ConvAlgorithm::kWinograd) {
      form_ = best.form;
      const Shape shape{group_, form_.planes(), outputs() / group_,
                        weights_shape_.SizeOfRange(1, std::max<size_t>(weights_shape_.rank(), 4) - 2)};
      const std::string key =
          fmt::format("nchw8c_winograd {} {} {}", static_cast<int>(form_.y), static_cast<int>(form_.x), group_);
      transformed_ = SharedTensor(info, weights, key, ElementType::kFloat, shape,
                                  [&] { return PackNchw8cWinograd(info.threads(), form_, group_, weights); });
      if (likely.known_image) return;
    }
    const char* form = depthwise_                                 ? "nchw8c_depthwise"
                       : layout_ == ConvLayout::kNchw8cFromPlanes ? "nchw8c_plain"
                                                                  : "nchw8c";
    const std::string key = fmt::format("{} {}", form, group_);
    packed_ = SharedTensor(info, weights, key, ElementType::kFloat, weights_shape_, [&] {
      auto packed = std::make_shared<Tensor>(ElementType::kFloat, weights_shape_, WeightMemory());
      depthwise_ ? PackDepthwise(weights.unaligned_data<float>(), packed->mutable_data<float>())
                 : dense_.Pack(info.threads(), weights.unaligned_data<float>(), packed->mutable_data<float>());
      return packed;
    });
  }

  /// The input's shape as far as it is known, [N, channels or their blocks, ...].
  SymbolicShape PlainImage(const KernelInfo& info) const {
    SymbolicShape image = info.input_info(0).shape.value_or(SymbolicShape());
    if (layout_ == ConvLayout::kNchw8c && !image.empty()) image.pop_back();
    return image;
  }

  Nchw8cChannels Channels(int64_t batch) const { return {batch, group_, weights_shape_[1], outputs() / group_}; }

  /// The input in place, or, in planes, converted to blocks.
  const float* InNchw8c(KernelContext& context, const Tensor& input) const {
    const auto* from = input.data<float>();
    if (layout_ == ConvLayout::kNchw8c) return from;
    float* blocks = context.scratch<float>(static_cast<size_t>(input.num_elements())).data();
    const int64_t pixels = input.shape().SizeOfRange(2, input.shape().rank());
    BringIntoBlocks(context, from, input.num_elements() / (pixels * kChannelBlock), pixels, blocks);
    return blocks;
  }

  void PackDepthwise(const float* weights, float* packed) const {
    for (int64_t c = 0; c < outputs(); ++c) {
      float* to = packed + c / kChannelBlock * positions() * kChannelBlock + c % kChannelBlock;
      for (int64_t i = 0; i < positions(); ++i) to[i * kChannelBlock] = LoadUnaligned(weights + c * positions() + i);
    }
  }

  Window CheckInput(const Tensor& input) const {
    const Shape& shape = input.shape();
    const bool nchw8c = layout_ == ConvLayout::kNchw8c;
    Require(input.is(ElementType::kFloat) && shape.rank() == weights_shape_.rank() + (nchw8c ? 1 : 0),
            "the input is {}, the weights are {}", shape, weights_shape_);
    if (nchw8c) RequireNchw8c(input);
    Require(shape[1] * (nchw8c ? kChannelBlock : 1) == channels(), "the input is {}, the weights take {} channels", shape,
            channels());
    Require(!attributes_.has_kernel() || std::ranges::equal(attributes_.kernel(), kernel()),
            "kernel_shape is {}, the weights are {}", attributes_.kernel(), weights_shape_);
    return attributes_.Fit(nchw8c ? SpatialDims(shape) : shape.dims().subspan(2), kernel());
  }

  void Depthwise(KernelContext& context, const Window& fitted, int64_t batch, const float* input,
                 const Epilogue<float>& epilogue, float* output) const {
    const Nchw8cWindow window = ToNchw8cWindow(fitted);
    const int64_t blocks = outputs() / kChannelBlock;
    const double cost = 20 + static_cast<double>(window.x.output) * (2 + 1.2 * static_cast<double>(positions()));
    context.threads().ParallelFor(
        batch * blocks * window.z.output * window.y.output, cost, [&](int64_t begin, int64_t end) {
          ConvolveNchw8cDepthwise(window, input, packed_->data<float>(), blocks, epilogue, begin, end, output);
        });
  }

  WindowAttributes attributes_;
  int64_t group_;
  ConvLayout layout_;
  ConvPreference preference_;
  Activation<float> activation_;
  bool depthwise_ = false;
  Shape weights_shape_;
  Nchw8cDense dense_;
  std::shared_ptr<const Tensor> packed_;
  WinogradForm form_{};
  std::shared_ptr<const Tensor> transformed_;  // for `form_`
};

}  // namespace

void RegisterNchw8cConv(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cConv").Make<Nchw8cConv>());
}

}  // namespace tessera::cpu
