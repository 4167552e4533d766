// Conv (1, 11, 22): any number of spatial axes, groups, dilations. kernels/conv/choose says by which algorithm.

#include <algorithm>
#include <new>
#include <optional>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/slots.h"
#include "cpu/fused_activation.h"
#include "cpu/ops/nn/conv_input.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/implicit_gemm_conv.h"
#include "cpu/ops/nn/kn2row_conv.h"
#include "cpu/ops/nn/nchw8c_depthwise.h"
#include "cpu/ops/nn/packed_weights.h"
#include "cpu/ops/nn/pixels_read.h"
#include "cpu/ops/nn/small_images.h"
#include "cpu/ops/nn/small_planes.h"
#include "cpu/ops/nn/winograd_conv.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "graph/private_names.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/depthwise/depthwise.h"
#include "ops/nn/conv.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kSlack = 64;  // elements read past the end of a laid-out input
// Laid-out input of a round of images: of one thread it stays in the second cache, several meet after each round.
constexpr int64_t kNearBytes = int64_t{256} << 10, kRoundBytes = int64_t{8} << 20;

/// Panels of the implicit im2col matrix [channels * kernel positions, output pixels] of one image and group.
template <class T>
class ConvPanels final : public GemmPanelSource<T> {
 public:
  ConvPanels(const ConvInput& input, const T* base, const T* end, std::span<const int64_t> offsets)
      : input_(input), base_(base), end_(end), offsets_(offsets) {}

  void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, T* out) const override {
    if (kc == 0) return;
    ConvSegment segments[64];
    size_t count = 0;
    const int64_t panel = GemmPanelWidth<T>();
    int64_t farthest = 0;
    for (int64_t done = 0; done < width; ++count) {
      const int64_t row = (n0 + done) / input_.output_width();
      const int64_t column = (n0 + done) % input_.output_width();
      const int64_t length = std::min(width - done, input_.output_width() - column);
      segments[count] = {input_.row_offsets()[static_cast<size_t>(row)] + column, done, length};
      farthest = std::max(farthest, segments[count].from + length);
      done += length;
    }
    // In place there is no slack after the last element; offsets grow with k there, so the last row reaches farthest.
    const bool exact = input_.in_place() && base_ + offsets_[static_cast<size_t>(k0 + kc - 1)] + farthest + kSlack > end_;
    CopyConvPanel<T>(base_, offsets_.data() + k0, kc, {segments, count}, panel, exact, out);
  }

 private:
  const ConvInput& input_;
  const T* base_;
  const T* end_;
  std::span<const int64_t> offsets_;
};

/// One convolution's tensors and sizes.
template <class C>
struct ConvTensors {
  int64_t batch, channels, outputs, groups, pixels, kernel_size, plane;  // plane: elements of an input channel
  const C* input;
  const C* weights;
  C* out;
  Epilogue<C> epilogue;

  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }

  GemmProblem<C> Gemm(int64_t image, int64_t group) const {
    GemmProblem<C> args;
    args.m = group_outputs();
    args.n = pixels;
    args.k = group_channels() * kernel_size;
    args.lhs = {.data = weights + group * args.m * args.k, .row = args.k};
    args.out = {.data = out + (image * outputs + group * args.m) * pixels, .row = pixels};
    args.epilogue = epilogue.From(group * args.m, 0);
    args.epilogue.channels_are_rows = true;
    return args;
  }
};

/// Kernel of one pixel, unit strides, no padding: a plain GEMM.
template <class C>
void Pointwise(KernelContext& context, const ConvTensors<C>& problem) {
  RunGemms<C>(context, problem.batch * problem.groups, [&](int64_t i) {
    GemmProblem<C> args = problem.Gemm(i / problem.groups, i % problem.groups);
    args.rhs = {.data = problem.input + i * problem.group_channels() * problem.pixels, .k = problem.pixels};
    return args;
  });
}

/// Weights [outputs, channels * kernel positions] packed as the rhs: output channels are a tile's
/// columns and its pixels the rows, of which a small image has too few to fill panels. `columns`: [channels * kernel
/// positions, pixels].
template <class C>
GemmProblem<C> GemmWithPackedWeights(const ConvTensors<C>& problem, const C* packed, const C* columns, int64_t image) {
  GemmProblem<C> args;
  args.m = problem.pixels;
  args.n = problem.outputs;
  args.k = problem.channels * problem.kernel_size;
  args.lhs = {.data = columns, .row = 1, .k = problem.pixels};
  args.rhs.packed = packed;
  args.out = {.data = problem.out + image * problem.outputs * problem.pixels, .row = 1, .col = problem.pixels};
  args.epilogue = problem.epilogue;
  return args;
}

template <class C>
void PointwiseWithPackedWeights(KernelContext& context, const ConvTensors<C>& problem, const C* packed) {
  RunGemms<C>(context, problem.batch, [&](int64_t i) {
    return GemmWithPackedWeights(problem, packed, problem.input + i * problem.channels * problem.pixels, i);
  });
}

/// Images whose windows are gathered one image after the other, for weights that are the packed operand.
template <class C>
class GatheredImages {
 public:
  GatheredImages(KernelContext& context, const ConvTensors<C>& problem, const ConvInput& input)
      : context_(context),
        problem_(problem),
        input_(input),
        channel_columns_(CheckedMul(problem.kernel_size, problem.pixels)),
        // Vectors read past a channel: the slack after each keeps them out of what another thread writes.
        padded_size_(CheckedAdd(input.channel_size(), kSlack)),
        segments_(context.scratch<ConvSegment>(input.row_offsets().size())) {
    for (size_t row = 0; row < segments_.size(); ++row) {
      segments_[row] = {input.row_offsets()[row], static_cast<int64_t>(row) * input.output_width(), input.output_width()};
    }
  }

  void Multiply(const C* packed) {
    const int64_t threads = context_.threads().num_threads();
    const double channel_ns = 20 + static_cast<double>(input_.channel_size() + channel_columns_) * 0.15;
    // As many images for each thread, or nearly: otherwise threads share the channels of each.
    if (threads > 1 && (problem_.batch >= 4 * threads || problem_.batch % threads == 0)) {
      const double multiplied = static_cast<double>(problem_.outputs * problem_.pixels) *
                                static_cast<double>(problem_.channels * problem_.kernel_size);
      return Apart(packed, channel_ns * static_cast<double>(problem_.channels) + multiplied * 0.02);
    }
    const Buffers buffers = Allocate();
    for (int64_t image = 0; image < problem_.batch; ++image) {
      context_.threads().ParallelFor(problem_.channels, channel_ns,
                                     [&](int64_t begin, int64_t end) { Gather(buffers, image, begin, end); });
      RunGemms<C>(context_, 1, [&](int64_t) { return GemmWithPackedWeights(problem_, packed, buffers.columns, image); });
    }
  }

 private:
  struct Buffers {
    C *columns, *laid_out;  // laid_out: null where images are read as they are
  };

  Buffers Allocate() const {
    const auto allocate = [&](int64_t size) {
      return context_.scratch<C>(static_cast<size_t>(CheckedMul(problem_.channels, size))).data();
    };
    const Buffers buffers{allocate(channel_columns_), input_.in_place() ? nullptr : allocate(padded_size_)};
    for (int64_t c = 0; c < problem_.channels && !input_.in_place(); ++c)
      std::fill_n(buffers.laid_out + c * padded_size_ + input_.channel_size(), kSlack, C{0});
    return buffers;
  }

  void Apart(const C* packed, double image_ns) {
    ParallelGroups(
        context_.threads(), problem_.batch, 1, image_ns, [&] { return Allocate(); },
        [&](const Buffers& own, int64_t image, int64_t) {
          Gather(own, image, 0, problem_.channels);
          GemmSerial(GemmWithPackedWeights(problem_, packed, own.columns, image));
        });
  }

  void Gather(const Buffers& buffers, int64_t image, int64_t begin, int64_t end) const {
    constexpr int64_t kTogether = 8;  // channels that stay in a near cache
    for (int64_t c = begin; c < end; c += kTogether) {
      CancellationPoint();
      const int64_t channels = std::min(kTogether, end - c);
      const C* from = problem_.input + (image * problem_.channels + c) * problem_.plane;
      int64_t step = problem_.plane;
      if (!input_.in_place()) {
        C* padded = buffers.laid_out + c * padded_size_;
        input_.LayOutChannels<C>(from, step, channels, padded_size_, padded);
        from = padded;
        step = padded_size_;
      }
      for (int64_t i = 0; i < channels; ++i) {
        CopyConvPanel<C>(from + i * step, input_.kernel_offsets().data(), problem_.kernel_size, segments_, problem_.pixels,
                         input_.in_place(), buffers.columns + (c + i) * channel_columns_);
      }
    }
  }

  KernelContext& context_;
  const ConvTensors<C>& problem_;
  const ConvInput& input_;
  const int64_t channel_columns_, padded_size_;
  const std::span<ConvSegment> segments_;
};

/// One input channel per group, a small square kernel over an image.
void DepthwisePlanes(KernelContext& context, const ConvTensors<float>& problem, const Window& window) {
  const DepthwiseTensors tensors{problem.input, problem.weights, problem.out, problem.epilogue};
  const DepthwiseShape shape{problem.channels, problem.group_outputs(), window.input[0], window.input[1],
                             window.output[0], window.output[1],        window.begin[0], window.begin[1],
                             window.kernel[0], window.strides[0]};
  const double cost = static_cast<double>(problem.pixels * problem.group_outputs() * problem.kernel_size) * 0.03 + 20 +
                      static_cast<double>(problem.plane) * 0.05;
  const int64_t planes = problem.batch * problem.channels, together = DepthwisePlanesTogether(shape);
  context.threads().ParallelFor(CeilDiv(planes, together), cost * static_cast<double>(together),
                                [&](int64_t begin, int64_t end) {
                                  ConvolveDepthwise(shape, tensors, begin * together, std::min(end * together, planes));
                                });
}

/// One input channel per group.
template <class C>
void Depthwise(KernelContext& context, const ConvTensors<C>& problem, const ConvInput& input) {
  const int64_t planes = problem.batch * problem.channels;
  const int64_t parts =
      std::clamp<int64_t>(planes, 1, context.threads().num_threads() == 1 ? 1 : 4 * context.threads().num_threads());
  const int64_t size = (input.channel_size() + kSlack + 15) / 16 * 16;
  const C* bias = problem.epilogue.bias;
  const auto buffers = context.scratch<C>(static_cast<size_t>(CheckedMul(parts, size)));
  const double cost = static_cast<double>(problem.pixels * problem.group_outputs() * problem.kernel_size) * 0.05 +
                      static_cast<double>(input.channel_size()) * 0.1;
  context.threads().ParallelFor(
      parts, cost * static_cast<double>(planes) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          C* buffer = buffers.data() + part * size;
          std::fill_n(buffer + input.channel_size(), size - input.channel_size(), C{0});
          for (int64_t plane = planes * part / parts; plane < planes * (part + 1) / parts; ++plane) {
            CancellationPoint();
            const C* from = problem.input + plane * problem.plane;
            if (input.in_place()) {
              std::memcpy(buffer, from, static_cast<size_t>(problem.plane) * sizeof(C));
            } else {
              input.LayOutChannels<C>(from, 0, 1, 0, buffer);
            }
            for (int64_t i = 0; i < problem.group_outputs(); ++i) {
              CancellationPoint();
              const int64_t output = plane % problem.channels * problem.group_outputs() + i;
              const int64_t at = plane / problem.channels * problem.outputs + output;
              ComputeDepthwisePlane<C>({buffer, input.row_offsets().data(),
                                        static_cast<int64_t>(input.row_offsets().size()), input.output_width(),
                                        input.kernel_offsets().data(), problem.weights + output * problem.kernel_size,
                                        problem.kernel_size, bias == nullptr ? C{0} : bias[output],
                                        problem.epilogue.activation, problem.out + at * problem.pixels});
            }
          }
        }
      });
}

template <class C>
void General(KernelContext& context, const ConvTensors<C>& problem, const ConvInput& input) {
  const std::span<const int64_t> offsets = input.TapOffsets(context, problem.group_channels());
  const int64_t image_size = CheckedMul(problem.channels, input.channel_size());
  const int64_t image_bytes = CheckedMul(image_size, static_cast<int64_t>(sizeof(C)));
  const int64_t round_bytes = context.threads().num_threads() == 1 ? kNearBytes : kRoundBytes;
  const int64_t round = std::clamp<int64_t>(round_bytes / std::max<int64_t>(image_bytes, 1), 1, problem.batch);
  std::span<C> laid_out;
  if (!input.in_place()) {
    laid_out = context.scratch<C>(static_cast<size_t>(CheckedAdd(CheckedMul(round, image_size), kSlack)));
    std::fill(laid_out.end() - kSlack, laid_out.end(), C{0});
  }
  auto* panels = reinterpret_cast<ConvPanels<C>*>(
      context.scratch<std::byte>(static_cast<size_t>(round * problem.groups) * sizeof(ConvPanels<C>)).data());
  for (int64_t image = 0; image < problem.batch; image += round) {
    const int64_t images = std::min(round, problem.batch - image);
    const C* from = problem.input + image * problem.channels * problem.plane;
    if (!input.in_place()) {
      context.threads().ParallelFor(images * problem.channels, 20 + static_cast<double>(input.channel_size()) * 0.15,
                                    [&](int64_t begin, int64_t end) {
                                      input.LayOutChannels<C>(from + begin * problem.plane, problem.plane, end - begin,
                                                              input.channel_size(),
                                                              laid_out.data() + begin * input.channel_size());
                                    });
    }
    const C* base = input.in_place() ? from : laid_out.data();
    const C* end = input.in_place() ? problem.input + problem.batch * problem.channels * problem.plane
                                    : laid_out.data() + laid_out.size();
    for (int64_t i = 0; i < images * problem.groups; ++i) {
      new (panels + i) ConvPanels<C>(input, base + i * problem.group_channels() * input.channel_size(), end, offsets);
    }
    RunGemms<C>(context, images * problem.groups, [&](int64_t i) {
      GemmProblem<C> args = problem.Gemm(image + i / problem.groups, i % problem.groups);
      args.rhs.source = panels + i;
      return args;
    });
  }
}

template <class T>
class Conv final : public Kernel {
 public:
  explicit Conv(const KernelInfo& info)
      : attributes_(info.node()),
        activation_(FusedActivationInRegisters<ComputeType<T>>(info)),
        preference_(ConvPreference::Parse(info.node().hints.algorithm)) {
    const Tensor* weights = info.constant_input(1);
    if (weights == nullptr || !weights->is(ElementTypeOf<T>) || weights->shape().rank() < 3 || weights->num_elements() == 0)
      return;
    weights_shape_ = weights->shape();
    ConvProblem likely =
        DescribeLikelyConv(info.node(), info.input_info(0).shape.value_or(SymbolicShape()), weights_shape_);
    likely.types = kTypes;
    known_image_ = likely.known_image;
    for (const ConvCandidate& candidate : RankConvAlgorithms(likely).Preferring(preference_)) {
      Pack(info, candidate.algorithm);
      if (!known_image_) continue;
      // Nothing else computes it. How depthwise ones are divided shows in the run.
      if (!likely.depthwise()) decided_ = candidate.algorithm;
      return;
    }
  }

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    const Tensor* weights = released_ ? nullptr : &context.required_input(1);
    const Shape& weights_shape = released_ ? weights_shape_ : weights->shape();
    const Tensor* bias = context.input(2);
    const Window window = attributes_.Fit(input.shape(), weights_shape, bias);
    Tensor* output = context.output(0, ConvAttributes::ResultShape(input.shape(), weights_shape, window));
    if (output == nullptr || output->num_elements() == 0) return;
    ComputeResult<T> result(context, *output);
    const ConvTensors<C> tensors{input.shape()[0],
                                 input.shape()[1],
                                 weights_shape[0],
                                 attributes_.group,
                                 window.output.num_elements(),
                                 window.kernel.num_elements(),
                                 window.input.num_elements(),
                                 ComputeView<T>(context, &input),
                                 ComputeView<T>(context, weights),
                                 result.data(),
                                 {.bias = ComputeView<T>(context, bias), .activation = activation_}};
    Run(context, Choose(context, window, input.shape(), weights_shape), window, tensors);
    result.Finish();
  }

  std::string Implementation(KernelContext& context) override {
    const Shape& weights = released_ ? weights_shape_ : context.required_input(1).shape();
    const Shape& input = context.required_input(0).shape();
    return std::string(NameOf(Choose(context, attributes_.Fit(input, weights, context.input(2)), input, weights)));
  }

 private:
  static constexpr ConvTypes kTypes = std::is_same_v<T, float> ? ConvTypes::kFloat : ConvTypes::kOtherFloat;

  /// Weights for the algorithm, where it wants them otherwise than they are.
  void Pack(const KernelInfo& info, ConvAlgorithm algorithm) {
    switch (algorithm) {
      case ConvAlgorithm::kGemmPackedWeights:
      case ConvAlgorithm::kIm2colPackedWeights:
        packed_ =
            PackConstantInput<T>(info, 1, 1, weights_shape_.SizeOfRange(1, weights_shape_.rank()), weights_shape_[0], true);
        released_ = algorithm;
        return;
      case ConvAlgorithm::kBatchedIm2col:
        small_images_.emplace(info);
        released_ = algorithm;
        return;
      case ConvAlgorithm::kImplicitGemm:
        implicit_gemm_.emplace(info, attributes_.group);
        released_ = algorithm;
        return;
      case ConvAlgorithm::kWinograd:
        winograd_.emplace(info);
        if (!known_image_) return;
        released_ = algorithm;
        info.ReleaseConstant(1);
        return;
      case ConvAlgorithm::kKn2Row: kn2row_.emplace(info); return;
      default: return;
    }
  }

  /// The algorithm that was decided for when the kernel was made, or else the best that can run.
  ConvAlgorithm Choose(KernelContext& context, const Window& window, const Shape& input, const Shape& weights) const {
    if (released_) return *released_;
    if (decided_) return *decided_;
    const ConvProblem problem{.types = kTypes,
                              .batch = input[0],
                              .channels = input[1],
                              .outputs = weights[0],
                              .groups = attributes_.group,
                              .window = window,
                              .constant_weights = weights_shape_.rank() > 0,
                              .known_image = known_image_,
                              .threads = context.threads().num_threads()};
    const ConvCandidates ranked = RankConvAlgorithms(problem).Preferring(preference_);
    return std::ranges::find_if(ranked, [&](const ConvCandidate& candidate) { return CanRun(candidate.algorithm); })
        ->algorithm;
  }

  bool CanRun(ConvAlgorithm algorithm) const {
    switch (algorithm) {
      case ConvAlgorithm::kWinograd: return winograd_.has_value();
      case ConvAlgorithm::kKn2Row: return kn2row_.has_value();
      case ConvAlgorithm::kDepthwiseNchw8c: return !activation_ || Clamps(activation_.kind);
      case ConvAlgorithm::kBatchedIm2col:
      case ConvAlgorithm::kImplicitGemm:
      case ConvAlgorithm::kGemmPackedWeights:
      case ConvAlgorithm::kIm2colPackedWeights: return false;
      default: return true;
    }
  }

  /// A pointwise convolution with strides is one without, of the pixels that it reads.
  template <class C>
  static ConvTensors<C> OfPixelsRead(KernelContext& context, const Window& window, const ConvTensors<C>& problem) {
    if (window.input == window.output) return problem;
    ConvTensors<C> picked = problem;
    picked.input = PixelsRead(context, window, problem.batch * problem.channels, problem.input);
    picked.plane = problem.pixels;
    return picked;
  }

  template <class C>
  void Run(KernelContext& context, ConvAlgorithm algorithm, const Window& window, const ConvTensors<C>& tensors) const {
    switch (algorithm) {
      case ConvAlgorithm::kGemm: return Pointwise(context, OfPixelsRead(context, window, tensors));
      case ConvAlgorithm::kGemmPackedWeights:
        return PointwiseWithPackedWeights(context, OfPixelsRead(context, window, tensors), packed_->template data<C>());
      case ConvAlgorithm::kIm2colPackedWeights:
        return GatheredImages<C>(context, tensors, ConvInput(context, window)).Multiply(packed_->template data<C>());
      case ConvAlgorithm::kDepthwise: return Depthwise(context, tensors, ConvInput(context, window));
      case ConvAlgorithm::kIm2col: return General(context, tensors, ConvInput(context, window));
      default: break;
    }
    if constexpr (kTypes == ConvTypes::kFloat) RunFloats(context, algorithm, window, tensors);
  }

  /// What only floats have a kernel for.
  void RunFloats(KernelContext& context, ConvAlgorithm algorithm, const Window& window,
                 const ConvTensors<float>& tensors) const {
    const auto run = [&](const auto& conv) {
      conv.Convolve(context, window, tensors.batch, tensors.input, tensors.epilogue, tensors.out);
    };
    switch (algorithm) {
      case ConvAlgorithm::kBatchedIm2col: return run(*small_images_);
      case ConvAlgorithm::kImplicitGemm: return run(*implicit_gemm_);
      case ConvAlgorithm::kWinograd: return run(*winograd_);
      case ConvAlgorithm::kKn2Row: return run(*kn2row_);
      case ConvAlgorithm::kDepthwisePlanes: return DepthwisePlanes(context, tensors, window);
      case ConvAlgorithm::kDepthwiseSmallPlanes:
        return ConvolveSmallPlanes(context, window, tensors.batch, tensors.channels, tensors.group_outputs(),
                                   {tensors.input, tensors.weights, tensors.out, tensors.epilogue});
      default:
        ConvolveDepthwiseByBlocks(context, window, tensors.batch, tensors.channels,
                                  {tensors.input, tensors.weights, tensors.out, tensors.epilogue});
    }
  }

  ConvAttributes attributes_;
  Activation<ComputeType<T>> activation_;
  ConvPreference preference_;
  Shape weights_shape_;  // of weights that may be packed
  bool known_image_ = false;
  std::optional<ConvAlgorithm> released_;  // the one whose packed weights replace the others
  std::optional<ConvAlgorithm> decided_;   // of an image that is known
  std::shared_ptr<const Tensor> packed_;
  std::optional<SmallImagesConv> small_images_;
  std::optional<ImplicitGemmConv> implicit_gemm_;
  std::optional<WinogradConv> winograd_;
  std::optional<Kn2RowConv> kn2row_;
};

}  // namespace

void RegisterConv(KernelRegistry& registry) {
  registry.Add(Op("Conv").Types(0, kFloats).Factory(MakeTyped<Conv, FloatTypes>));
  registry.Add(Op("FusedConv", kTesseraDomain).Types(0, kFloats).Factory(MakeTyped<Conv, FloatTypes>));
}

}  // namespace tessera::cpu
