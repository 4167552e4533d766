// BlockedConv (ai.tessera 1): Conv over images in blocks of channels, with what follows it. Inputs X, W (constant), B, and R,
// which is added to the result before the activation. With plain_input X is [N, C, H, W].

#include <optional>

#include "base/checked.h"
#include "ops/nn/blocked_layout.h"
#include "ops/nn/blocked_winograd.h"
#include "ops/ops.h"
#include "simd/winograd.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kRoundBytes = int64_t{8} << 20;  // padded input per round of images
constexpr double kProductNs = 1.0 / 45;

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How the pixels and the block groups of an image are shared out.
struct Split {
  int64_t pixels, groups;  // parts of each
};

/// The parts that `threads` finish first: each reads its inputs and its weights.
Split ChooseSplit(const BlockedProduct& product, int64_t images, int64_t threads) {
  const int64_t groups = BlockGroups(product.output_blocks);
  if (threads == 1) return {1, 1};
  Split best{1, 1};
  double best_cost = 1e300;
  for (int64_t group_parts = 1; group_parts <= std::min(groups, 4 * threads); ++group_parts) {
    for (int64_t tasks = threads; tasks <= 4 * threads; tasks += threads) {
      const int64_t pixel_parts = std::clamp<int64_t>(tasks / group_parts, 1, CeilDiv(product.pixels, 4));
      const double pixels = static_cast<double>(CeilDiv(CeilDiv(product.pixels, pixel_parts), 6) * 6);
      const double outputs = static_cast<double>(CeilDiv(groups, group_parts) * 2 * kChannelBlock);
      const double depth = static_cast<double>(product.depth());
      const double task = 300 + depth * (pixels * outputs * kProductNs + outputs * 0.25 + pixels * 0.1);
      const double cost = static_cast<double>(CeilDiv(pixel_parts * group_parts * images, threads)) * task;
      if (cost < best_cost) {
        best = {pixel_parts, group_parts};
        best_cost = cost;
      }
    }
  }
  return best;
}

/// Where a window's rows lie once they are padded.
struct PaddedImage {
  explicit PaddedImage(const Window& window) : window(window) {
    height = CheckedAdd(CheckedMul(window.output[0] - 1, window.strides[0]), window.extent(0));
    width = CheckedAdd(CheckedMul(window.output[1] - 1, window.strides[1]), window.extent(1));
    in_place = window.begin[0] == 0 && window.begin[1] == 0 && height <= window.input[0] && width <= window.input[1];
    if (in_place) {
      height = window.input[0];
      width = window.input[1];
    }
  }

  int64_t pixels() const { return height * width; }

  /// One plane of `size` elements a pixel.
  void Pad(const float* from, int64_t size, float* to) const {
    const int64_t left = window.begin[1];
    const int64_t columns = std::clamp<int64_t>(width - left, 0, window.input[1]);
    for (int64_t y = 0; y < height; ++y, to += width * size) {
      const int64_t source = y - window.begin[0];
      if (source < 0 || source >= window.input[0]) {
        std::fill_n(to, width * size, 0.0f);
        continue;
      }
      std::fill_n(to, std::min(left, width) * size, 0.0f);
      std::copy_n(from + source * window.input[1] * size, columns * size, to + std::min(left, width) * size);
      std::fill(to + std::min(left + columns, width) * size, to + width * size, 0.0f);
    }
  }

  const Window& window;
  int64_t height, width;
  bool in_place;
};

class BlockedConv final : public Kernel {
 public:
  explicit BlockedConv(const KernelInfo& info)
      : attributes_(info),
        group_(info.attribute<int64_t>("group", 1)),
        plain_input_(info.attribute<int64_t>("plain_input", 0) != 0),
        epilogue_(ParseActivation(info)) {
    const Tensor* weights = info.constant_input(1);
    Require(weights != nullptr && weights->is(ElementType::kFloat) && weights->shape().rank() == 4, "the weights must be four constant axes of floats");
    weights_shape_ = weights->shape();
    Require(weights->num_elements() > 0 && group_ > 0 && outputs() % group_ == 0 && outputs() % kChannelBlock == 0,
            "{} outputs in {} groups do not divide into blocks", outputs(), group_);
    depthwise_ = group_ > 1 && weights_shape_[1] == 1 && outputs() == group_;
    const bool whole = plain_input_ ? group_ == 1
                                    : depthwise_ || (weights_shape_[1] % kChannelBlock == 0 && outputs() / group_ % kChannelBlock == 0);
    Require(whole, "the weights {} in {} groups do not divide into blocks", weights_shape_.ToString(), group_);
    Prepare(info, *weights);
    info.ReleaseConstant(1);
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Window window = CheckInput(input);
    Tensor* output = context.output(0, BlockedShape(input.shape()[0], outputs() / kChannelBlock, window));
    const Tensor* bias = context.input(2);
    const Tensor* residual = context.input(3);
    Require(bias == nullptr || (bias->is(ElementType::kFloat) && bias->num_elements() == outputs()), "the bias must have {} floats", outputs());
    if (output == nullptr || output->num_elements() == 0) return;
    Require(residual == nullptr || (residual->is(ElementType::kFloat) && residual->shape() == output->shape()),
            "what is added is {}, the output is {}", residual == nullptr ? "" : residual->shape().ToString(), output->shape().ToString());
    BlockedEpilogue epilogue = epilogue_;
    epilogue.bias = bias == nullptr ? nullptr : bias->data<float>();
    epilogue.residual = residual == nullptr ? nullptr : residual->data<float>();
    const int64_t batch = input.shape()[0];
    if (depthwise_) {
      Depthwise(context, window, batch, input.data<float>(), epilogue, output->mutable_data<float>());
    } else if (transformed_ && (!packed_ || SuitsWinograd(window, batch))) {
      ConvolveBlockedWinograd(context, window, batch, channels(), outputs(), transformed_->data<float>(), input.data<float>(), epilogue,
                              output->mutable_data<float>());
    } else {
      Dense(context, window, batch, input.data<float>(), epilogue, output->mutable_data<float>());
    }
  }

 private:
  int64_t outputs() const { return weights_shape_[0]; }
  int64_t channels() const { return weights_shape_[1] * group_; }
  int64_t positions() const { return weights_shape_[2] * weights_shape_[3]; }
  /// Neighbouring inputs of a step, and how many of them a group has at each kernel position.
  int64_t step() const { return plain_input_ ? 1 : kChannelBlock; }
  int64_t group_inputs() const { return weights_shape_[1] / step(); }

  static BlockedEpilogue ParseActivation(const KernelInfo& info) {
    const auto name = info.attribute<std::string>("tessera_activation", "");
    BlockedEpilogue epilogue;
    epilogue.alpha = info.attribute<float>("tessera_alpha", 0);
    epilogue.beta = info.attribute<float>("tessera_beta", 0);
    for (const auto& [known, activation] :
         {std::pair("Relu", BlockedActivation::kClip), std::pair("Clip", BlockedActivation::kClip),
          std::pair("LeakyRelu", BlockedActivation::kLeakyRelu), std::pair("HardSigmoid", BlockedActivation::kHardSigmoid),
          std::pair("HardSwish", BlockedActivation::kHardSwish), std::pair("Sigmoid", BlockedActivation::kSigmoid),
          std::pair("Silu", BlockedActivation::kSilu)}) {
      if (name == known) epilogue.activation = activation;
    }
    Require(name.empty() || epilogue.activation != BlockedActivation::kNone, "attribute 'tessera_activation' is '{}', which is not known", name);
    if (name == "Relu") {
      epilogue.alpha = 0;
      epilogue.beta = std::numeric_limits<float>::infinity();
    }
    return epilogue;
  }

  /// Weights for Winograd's transform, for plain sums, or where the image's size is not known for both.
  void Prepare(const KernelInfo& info, const Tensor& weights) {
    if (!plain_input_ && group_ == 1) {
      const auto& data = info.input_info(0).shape;
      const bool known = data && data->size() == 5 && (*data)[2].known() && (*data)[3].known();
      const int64_t batch = known && data->front().known() ? data->front().value : 1;
      constexpr int64_t kLikely = 56;  // the side of an image that is not known
      const Shape image{known ? (*data)[2].value : kLikely, known ? (*data)[3].value : kLikely};
      const auto kernel = weights_shape_.dims().subspan(2);
      const Window window = attributes_.Expand(image.dims(), kernel);
      if (window.extent(0) == 3 && window.extent(1) == 3 && SuitsWinograd(attributes_.Fit(image.dims(), kernel), batch)) {
        transformed_ = Packed(info, weights, "blocked_winograd", [&] { return PackBlockedWinograd(info.threads(), weights); });
        if (known) return;
      }
    }
    const std::string key = fmt::format("{} {}", depthwise_ ? "blocked_depthwise" : plain_input_ ? "blocked_plain" : "blocked", group_);
    packed_ = Packed(info, weights, key, [&] {
      auto packed = std::make_shared<Tensor>(ElementType::kFloat, weights_shape_);
      depthwise_ ? PackDepthwise(weights.data<float>(), packed->mutable_data<float>())
                 : PackDense(weights.data<float>(), packed->mutable_data<float>());
      return packed;
    });
  }

  /// Three-by-three, one step at a time, in an image large enough.
  bool SuitsWinograd(const Window& window, int64_t batch) const {
    constexpr double kTileNs = 4;
    for (size_t i = 0; i < 2; ++i) {
      if (window.kernel[i] != 3 || window.strides[i] != 1 || window.dilations[i] != 1) return false;
      if (window.begin[i] > 2 || window.end[i] > 2) return false;
    }
    return WinogradMayPay(channels(), outputs()) &&
           WinogradPays(batch, channels(), outputs(), window.output[0], window.output[1], kTileNs);
  }

  template <class Make>
  static std::shared_ptr<const Tensor> Packed(const KernelInfo& info, const Tensor& weights, const std::string& key, const Make& make) {
    return std::static_pointer_cast<const Tensor>(
        info.SharedPrepack(weights, key, [&]() -> std::shared_ptr<const void> { return make(); }));
  }

  void PackDepthwise(const float* weights, float* packed) const {
    for (int64_t c = 0; c < outputs(); ++c) {
      float* to = packed + c / kChannelBlock * positions() * kChannelBlock + c % kChannelBlock;
      for (int64_t i = 0; i < positions(); ++i) to[i * kChannelBlock] = weights[c * positions() + i];
    }
  }

  void PackDense(const float* weights, float* packed) const {
    const int64_t depth = weights_shape_[1] * positions();
    std::vector<int64_t> order;
    order.reserve(static_cast<size_t>(depth));
    for (int64_t i = 0; i < group_inputs(); ++i) {
      for (int64_t k = 0; k < positions(); ++k) {
        for (int64_t c = 0; c < step(); ++c) order.push_back((i * step() + c) * positions() + k);
      }
    }
    const int64_t group_outputs = outputs() / group_;
    for (int64_t g = 0; g < group_; ++g) {
      const int64_t at = g * group_outputs * depth;
      PackBlockedWeights(weights + at, depth, order.data(), depth, group_outputs / kChannelBlock, packed + at);
    }
  }

  Window CheckInput(const Tensor& input) const {
    const Shape& shape = input.shape();
    if (plain_input_) {
      Require(input.is(ElementType::kFloat) && shape.rank() == 4, "the input is {}, four axes of floats are expected", shape.ToString());
    } else {
      RequireBlocked(input);
    }
    Require(shape[1] * (plain_input_ ? 1 : kChannelBlock) == channels(), "the input is {}, the weights take {} channels",
            shape.ToString(), channels());
    const auto kernel = weights_shape_.dims().subspan(2);
    Require(!attributes_.has_kernel() || std::ranges::equal(attributes_.kernel(), kernel), "kernel_shape is {}, the weights are {}",
            attributes_.kernel().ToString(), weights_shape_.ToString());
    return attributes_.Fit(shape.dims().subspan(2, 2), kernel);
  }

  void Depthwise(KernelContext& context, const Window& window, int64_t batch, const float* input, const BlockedEpilogue& epilogue,
                 float* output) const {
    const int64_t blocks = outputs() / kChannelBlock;
    const double cost = 20 + static_cast<double>(window.output[1]) * (2 + 1.2 * static_cast<double>(positions()));
    context.threads().ParallelFor(batch * blocks * window.output[0], cost, [&](int64_t begin, int64_t end) {
      ConvolveBlockedDepthwise(ToBlockedWindow(window), input, packed_->data<float>(), blocks, epilogue, begin, end, output);
    });
  }

  /// Elements from an image's start to each pixel's window, and from there to each step.
  void FindOffsets(const PaddedImage& padded, std::span<int64_t> pixels, std::span<int64_t> steps) const {
    const Window& window = padded.window;
    size_t i = 0;
    for (int64_t y = 0; y < window.output[0] && !pixels.empty(); ++y) {
      for (int64_t x = 0; x < window.output[1]; ++x) {
        pixels[i++] = (y * window.strides[0] * padded.width + x * window.strides[1]) * step();
      }
    }
    i = 0;
    for (int64_t c = 0; c < group_inputs(); ++c) {
      for (int64_t y = 0; y < window.kernel[0]; ++y) {
        for (int64_t x = 0; x < window.kernel[1]; ++x) {
          const int64_t at = y * window.dilations[0] * padded.width + x * window.dilations[1];
          steps[i++] = (c * padded.pixels() + at) * step();
        }
      }
    }
  }

  void Dense(KernelContext& context, const Window& window, int64_t batch, const float* input, const BlockedEpilogue& epilogue,
             float* output) const {
    const PaddedImage padded(window);
    const int64_t planes = channels() / step();
    const int64_t plane_size = CheckedMul(padded.pixels(), step());
    const int64_t image_size = CheckedMul(planes, plane_size);
    const int64_t image_bytes = CheckedMul(image_size, static_cast<int64_t>(sizeof(float)));
    const int64_t round = padded.in_place ? batch : std::clamp<int64_t>(kRoundBytes / std::max<int64_t>(image_bytes, 1), 1, batch);
    const int64_t pixels = window.output[0] * window.output[1];
    const bool in_order = padded.in_place && positions() == 1 && window.strides[0] == 1 && window.strides[1] == 1 && !plain_input_;
    const auto pixel_offsets = context.scratch<int64_t>(static_cast<size_t>(in_order ? 0 : pixels));
    const auto steps = context.scratch<int64_t>(static_cast<size_t>(group_inputs() * positions()));
    FindOffsets(padded, pixel_offsets, steps);
    const auto copies = context.scratch<float>(static_cast<size_t>(padded.in_place ? 0 : CheckedMul(round, image_size)));
    BlockedProduct product;
    product.pixel_offsets = in_order ? nullptr : pixel_offsets.data();
    product.step_offsets = steps.data();
    product.steps = group_inputs() * positions();
    product.step = step();
    product.pixels = pixels;
    product.output_blocks = outputs() / group_ / kChannelBlock;
    product.epilogue = epilogue;
    for (int64_t image = 0; image < batch; image += round) {
      const int64_t images = std::min(round, batch - image);
      const float* from = input + image * planes * window.input.num_elements() * step();
      if (!padded.in_place) {
        context.threads().ParallelFor(images * planes, 10 + 0.15 * static_cast<double>(plane_size), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            padded.Pad(from + i * window.input.num_elements() * step(), step(), copies.data() + i * plane_size);
          }
        });
        from = copies.data();
      }
      product.output = output + image * outputs() * pixels;
      if (epilogue.residual != nullptr) product.epilogue.residual = epilogue.residual + image * outputs() * pixels;
      product.input = from;
      Products(context, product, images, image_size);
    }
  }

  /// `first` is the first of images * group products.
  void Products(KernelContext& context, const BlockedProduct& first, int64_t images, int64_t image_size) const {
    const int64_t products = images * group_;
    const int64_t group_outputs = outputs() / group_;
    const Split split = ChooseSplit(first, products, context.threads().num_threads());
    const int64_t block_groups = BlockGroups(first.output_blocks);
    const double work = static_cast<double>(first.pixels) * static_cast<double>(group_outputs) * static_cast<double>(first.depth()) * kProductNs;
    const int64_t parts = split.pixels * split.groups;
    context.threads().ParallelFor(products * parts, work / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / parts / group_, group = i / parts % group_;
        const int64_t pixel_part = i % parts % split.pixels, group_part = i % parts / split.pixels;
        BlockedProduct product = first;
        const int64_t at = (image * outputs() + group * group_outputs) * first.pixels;
        product.input += image * image_size + group * (image_size / group_);
        product.weights = packed_->data<float>() + group * group_outputs * first.depth();
        product.output += at;
        if (product.epilogue.bias != nullptr) product.epilogue.bias += group * group_outputs;
        if (product.epilogue.residual != nullptr) product.epilogue.residual += at;
        MultiplyBlocked(product, first.pixels * pixel_part / split.pixels, first.pixels * (pixel_part + 1) / split.pixels,
                        block_groups * group_part / split.groups, block_groups * (group_part + 1) / split.groups);
      }
    });
  }

  WindowAttributes attributes_;
  int64_t group_;
  bool plain_input_;
  BlockedEpilogue epilogue_;  // only the activation
  bool depthwise_ = false;
  Shape weights_shape_;
  std::shared_ptr<const Tensor> packed_;
  std::shared_ptr<const Tensor> transformed_;  // for Winograd's transform
};

}  // namespace

void RegisterBlockedConv(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(BlockedOp("BlockedConv").Make<BlockedConv>());
}

}  // namespace tessera::cpu
