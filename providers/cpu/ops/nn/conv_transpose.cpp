// ConvTranspose (1, 11, 22): the gradient of convolution as an operator. One matrix product gives every kernel position's
// contribution; they are then added up where they overlap.

#include "ops/nn/columns.h"
#include "ops/nn/float_view.h"
#include "ops/nn/products.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

struct TransposeAttributes {
  explicit TransposeAttributes(const KernelInfo& info)
      : window(info),
        group(info.attribute<int64_t>("group", 1)),
        output_padding(info.attribute("output_padding", std::vector<int64_t>{})),
        output_shape(info.attribute("output_shape", std::vector<int64_t>{})) {
    Require(group > 0, "attribute 'group' is {}, which must be positive", group);
    for (int64_t pad : output_padding) Require(pad >= 0 && pad <= INT32_MAX, "output_padding holds {}", pad);
    for (int64_t dim : output_shape) Require(dim > 0 && dim <= INT32_MAX, "output_shape holds {}", dim);
  }

  WindowAttributes window;
  int64_t group;
  Shape output_padding;
  Shape output_shape;
};

/// The output as a sliding window's input: its columns are the operator's input pixels.
Window FitTransposed(const TransposeAttributes& attributes, std::span<const int64_t> input, std::span<const int64_t> kernel) {
  Window window = attributes.window.Expand(input, kernel);
  const size_t rank = input.size();
  const Shape& padding = attributes.output_padding;
  const Shape& wanted = attributes.output_shape;
  Require(padding.rank() == 0 || padding.rank() == rank, "output_padding has {} values, {} are expected", padding.rank(), rank);
  // Some exporters write output_shape with batch and channels.
  Require(wanted.rank() == 0 || wanted.rank() == rank || wanted.rank() == rank + 2, "output_shape has {} values, {} are expected",
          wanted.rank(), rank);
  const AutoPad auto_pad = attributes.window.auto_pad();
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extra = padding.rank() == 0 ? 0 : padding[i];
    const int64_t full = CheckedAdd(CheckedMul(window.strides[i], input[i] - 1), window.extent(i) + extra);
    int64_t size = 0;
    if (wanted.rank() != 0 || same) {
      size = wanted.rank() != 0 ? wanted[wanted.rank() - rank + i] : CheckedMul(input[i], window.strides[i]);
      const int64_t total = std::max<int64_t>(full - size, 0);
      // The odd element goes to the end for SAME_UPPER and to the beginning otherwise.
      window.begin[i] = auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      window.end[i] = total - window.begin[i];
    } else {
      if (auto_pad == AutoPad::kValid) window.begin[i] = window.end[i] = 0;
      size = full - window.begin[i] - window.end[i];
    }
    Require(size >= 0, "spatial axis {} of the output would have {} elements", i, size);
    window.output[i] = input[i];
    window.input[i] = size;
  }
  return window;
}

template <class T>
class ConvTranspose final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit ConvTranspose(const KernelInfo& info) : attributes_(info) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& weights = context.required_input(1);
    const Tensor* bias = context.input(2);
    const Window window = CheckShapes(input.shape(), weights.shape(), bias);
    const int64_t outputs = weights.shape()[1] * attributes_.group;
    Shape shape{input.shape()[0], outputs};
    for (int64_t dim : window.input) shape.Append(dim);
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    ComputeResult<T> result(context, *output);
    Run(context, window, input.shape(), outputs, ComputeView<T>(context, &input), ComputeView<T>(context, &weights),
        ComputeView<T>(context, bias), result.data());
    result.Finish();
  }

 private:
  void Run(KernelContext& context, const Window& window, const Shape& input, int64_t outputs, const C* x, const C* w,
           const C* bias, C* y) const {
    const int64_t groups = attributes_.group;
    const int64_t channels = input[1] / groups;
    const int64_t group_outputs = outputs / groups;
    const int64_t kernel = window.kernel.num_elements();
    const int64_t columns = window.output.num_elements();
    const int64_t pixels = window.input.num_elements();
    const auto buffer = context.scratch<C>(static_cast<size_t>(CheckedMul(CheckedMul(outputs, kernel), columns)));
    for (int64_t image = 0; image < input[0]; ++image) {
      RunProducts<C>(context, groups, [&](int64_t g) {
        GemmArgs<C> args;  // columns = W' X
        args.m = group_outputs * kernel;
        args.n = columns;
        args.k = channels;
        args.a = w + g * channels * args.m;
        args.a_row = 1;
        args.a_k = args.m;
        args.b = x + (image * groups + g) * channels * columns;
        args.b_k = columns;
        args.c = buffer.data() + g * args.m * columns;
        args.c_row = columns;
        return args;
      });
      const double cost = static_cast<double>(pixels) * 0.2 + static_cast<double>(kernel * columns) * 0.5;
      context.threads().ParallelFor(outputs, cost, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          C* plane = y + (image * outputs + o) * pixels;
          std::fill_n(plane, pixels, bias == nullptr ? C{0} : bias[o]);
          AddColumns(window, buffer.data() + o * kernel * columns, plane, [](C& pixel, C value) { pixel += value; });
        }
      });
    }
  }

  Window CheckShapes(const Shape& input, const Shape& weights, const Tensor* bias) const {
    Require(input.rank() >= 3, "the input must have batch, channels and at least one spatial axis, it is {}", input.ToString());
    Require(weights.rank() == input.rank(), "the weights are {}, the input is {}", weights.ToString(), input.ToString());
    Require(input[1] == weights[0], "the input has {} channels, the weights take {}", input[1], weights[0]);
    Require(input[1] % attributes_.group == 0, "{} channels do not divide into {} groups", input[1], attributes_.group);
    const int64_t outputs = CheckedMul(weights[1], attributes_.group);
    Require(bias == nullptr || bias->num_elements() == outputs, "the bias has {} values, {} output channels need one each",
            bias == nullptr ? 0 : bias->num_elements(), outputs);
    const auto kernel = weights.dims().subspan(2);
    Require(!attributes_.window.has_kernel() || std::ranges::equal(attributes_.window.kernel(), kernel),
            "kernel_shape is {}, the weights are {}", attributes_.window.kernel().ToString(), weights.ToString());
    return FitTransposed(attributes_, input.dims().subspan(2), kernel);
  }

  TransposeAttributes attributes_;
};

}  // namespace

void RegisterConvTranspose(KernelRegistry& registry) {
  registry.Add(Op("ConvTranspose").Types(0, kFloats).Factory(MakeTyped<ConvTranspose, FloatTypes>));
}

}  // namespace tessera::cpu
