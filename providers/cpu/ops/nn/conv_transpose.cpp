// ConvTranspose (1, 11, 22): the gradient of convolution as an operator. A matrix product gives every kernel position's
// contributions for some output channels; they are then gathered while they are in the cache.

#include <fmt/format.h>

#include <numeric>

#include "base/weight_memory.h"
#include "ops/nn/float_view.h"
#include "ops/nn/products.h"
#include "ops/nn/window.h"
#include "ops/ops.h"
#include "runtime/packed_store.h"
#include "simd/conv_transpose.h"
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

/// Tables of which kernel and input positions meet in which output pixels.
class TransposedTables {
 public:
  TransposedTables(KernelContext& context, const Window& window) : context_(context), window_(window), last_(window.rank() - 1) {
    geometry_.output_width = window.input[last_];
    geometry_.input_width = window.output[last_];
    geometry_.stride = window.strides[last_];
    geometry_.kernel_width = window.kernel[last_];
    geometry_.phases = std::min(geometry_.stride, geometry_.output_width);
    FindColumns();
    FindMeetings();
  }

  const TransposedGeometry& geometry() const { return geometry_; }
  int64_t output_rows() const { return output_rows_; }
  /// Taps that may meet in one phase of a row, for one input channel.
  int64_t most_taps() const { return std::max<int64_t>(most_meetings_ * most_columns_, 1); }

 private:
  void FindColumns() {
    const int64_t stride = geometry_.stride;
    const auto starts = context_.scratch<int64_t>(static_cast<size_t>(geometry_.phases + 1));
    const auto columns = context_.scratch<TransposedColumn>(static_cast<size_t>(geometry_.kernel_width));
    std::fill(starts.begin(), starts.end(), 0);
    const auto shift_of = [&](int64_t k) {
      const int64_t x = k * window_.dilations[last_] - window_.begin[last_];
      return x >= 0 ? x / stride : -((stride - 1 - x) / stride);
    };
    const auto phase_of = [&](int64_t k) { return k * window_.dilations[last_] - window_.begin[last_] - shift_of(k) * stride; };
    for (int64_t k = 0; k < geometry_.kernel_width; ++k) {
      if (phase_of(k) < geometry_.phases) ++starts[static_cast<size_t>(phase_of(k) + 1)];
    }
    for (size_t i = 1; i < starts.size(); ++i) {
      most_columns_ = std::max(most_columns_, starts[i]);
      starts[i] += starts[i - 1];
    }
    for (int64_t k = geometry_.kernel_width; k-- > 0;) {
      const int64_t phase = phase_of(k), shift = shift_of(k);
      if (phase >= geometry_.phases) continue;
      const int64_t pixels = (geometry_.output_width - phase + stride - 1) / stride;
      const int64_t first = std::clamp<int64_t>(shift, 0, pixels);
      columns[static_cast<size_t>(--starts[static_cast<size_t>(phase + 1)])] = {
          k, shift, first, std::clamp<int64_t>(geometry_.input_width + shift, first, pixels)};
    }
    // Each start has moved down to where its phase begins.
    for (size_t i = 0; i + 1 < starts.size(); ++i) starts[i] = starts[i + 1];
    int64_t used = 0;
    for (int64_t k = 0; k < geometry_.kernel_width; ++k) used += phase_of(k) < geometry_.phases ? 1 : 0;
    starts.back() = used;
    geometry_.phase_starts = starts.data();
    geometry_.columns = columns.data();
  }

  /// The output row where a kernel row and an input row meet; -1 outside.
  int64_t MeetingRow(const Shape& kernel, const Shape& input) const {
    int64_t row = 0;
    for (size_t i = 0; i < last_; ++i) {
      const int64_t pixel = input[i] * window_.strides[i] + kernel[i] * window_.dilations[i] - window_.begin[i];
      if (pixel < 0 || pixel >= window_.input[i]) return -1;
      row = row * window_.input[i] + pixel;
    }
    return row;
  }

  void FindMeetings() {
    for (size_t i = 0; i < last_; ++i) output_rows_ = CheckedMul(output_rows_, window_.input[i]);
    const auto kernel_rows = window_.kernel.dims().first(last_), input_rows = window_.output.dims().first(last_);
    const auto starts = context_.scratch<int64_t>(static_cast<size_t>(CheckedAdd(output_rows_, int64_t{1})));
    std::fill(starts.begin(), starts.end(), 0);
    const auto visit = [&](auto&& body) {
      int64_t kernel_row = 0;
      ForEachIndex(kernel_rows, [&](const Shape& kernel) {
        int64_t input_row = 0;
        ForEachIndex(input_rows, [&](const Shape& input) {
          const int64_t row = MeetingRow(kernel, input);
          if (row >= 0) body(row, TransposedMeeting{kernel_row, input_row});
          ++input_row;
        });
        ++kernel_row;
      });
    };
    int64_t count = 0;
    visit([&](int64_t row, const TransposedMeeting&) {
      most_meetings_ = std::max(most_meetings_, ++starts[static_cast<size_t>(row)]);
      ++count;
    });
    const auto meetings = context_.scratch<TransposedMeeting>(static_cast<size_t>(count));
    for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    visit([&](int64_t row, const TransposedMeeting& meeting) { meetings[static_cast<size_t>(--starts[static_cast<size_t>(row)])] = meeting; });
    geometry_.row_starts = starts.data();
    geometry_.meetings = meetings.data();
  }

  KernelContext& context_;
  const Window& window_;
  size_t last_;
  TransposedGeometry geometry_{};
  int64_t output_rows_ = 1;
  int64_t most_meetings_ = 0;
  int64_t most_columns_ = 0;
};

constexpr int64_t kMostJoined = 256;  // columns of an image

/// One transposed convolution's tensors and sizes.
template <class C>
struct TransposedProblem {
  int64_t batch, groups, channels, outputs;  // channels and outputs of a group
  int64_t kernel, columns, pixels;
  const C* input;
  const C* weights;  // [group, channel, output, kernel], or null with
  const C* turned;   // [group, output, kernel, channel]
  const C* bias;
  C* out;

  const C* bias_of(int64_t output) const { return bias == nullptr ? nullptr : bias + output; }
  /// Products of one image have few columns for the weights that they read.
  bool JoinsImages() const { return batch > 1 && columns > 0 && columns <= kMostJoined && batch * columns <= 4 * kMostJoined; }
  const C* image(int64_t i, int64_t group) const { return input + (i * groups + group) * channels * columns; }

  /// columns = W' X for `count` outputs of a group.
  GemmArgs<C> Product(int64_t i, int64_t group, int64_t first, int64_t count, C* to) const {
    GemmArgs<C> args;
    args.m = count * kernel;
    args.n = columns;
    args.k = channels;
    if (turned != nullptr) {
      args.a = turned + (group * outputs + first) * kernel * channels;
      args.a_row = channels;
    } else {
      args.a = weights + (group * channels * outputs + first) * kernel;
      args.a_row = 1;
      args.a_k = outputs * kernel;
    }
    args.b = image(i, group);
    args.b_k = columns;
    args.c = to;
    args.c_row = columns;
    return args;
  }
};

/// Runs parts [0, parts) of `items`: body(part, begin, end).
template <class Body>
void ForEachPart(ThreadPool& threads, int64_t items, int64_t parts, double cost_ns, Body&& body) {
  threads.ParallelFor(parts, cost_ns * static_cast<double>(items) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(part, items * part / parts, items * (part + 1) / parts);
  });
}

inline int64_t PartsFor(const ThreadPool& threads, int64_t items) {
  return threads.num_threads() == 1 ? 1 : std::clamp<int64_t>(items, 1, 4 * threads.num_threads());
}

/// Scratch of one part that gathers rows.
template <class C>
class GatherScratch {
 public:
  GatherScratch(KernelContext& context, const TransposedTables& tables, int64_t channels, int64_t parts)
      : row_(tables.geometry().phases * TransposedPhaseSize(tables.geometry())), taps_(CheckedMul(tables.most_taps(), 2 * channels)) {
    rows_ = context.scratch<C>(static_cast<size_t>(CheckedMul(row_, parts)));
    all_taps_ = context.scratch<TransposedTap<C>>(static_cast<size_t>(CheckedMul(taps_, parts)));
  }
  void Give(int64_t part, TransposedPlanes<C>& planes) const {
    planes.buffer = rows_.data() + part * row_;
    planes.taps = all_taps_.data() + part * taps_;
  }

 private:
  int64_t row_;
  int64_t taps_;
  std::span<C> rows_;
  std::span<TransposedTap<C>> all_taps_;
};

/// Few input channels in a group: the pixels are gathered from the input itself.
template <class C>
void GatherInput(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables) {
  const int64_t planes = problem.batch * problem.groups * problem.outputs;
  const int64_t rows = CheckedMul(planes, tables.output_rows());
  const int64_t parts = PartsFor(context.threads(), rows);
  const GatherScratch<C> scratch(context, tables, problem.channels, parts);
  const double taps = static_cast<double>(problem.kernel * problem.columns * problem.channels) / static_cast<double>(tables.output_rows());
  ForEachPart(context.threads(), rows, parts, 20 + taps * 0.1, [&](int64_t part, int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t index = begin / tables.output_rows(), row = begin % tables.output_rows();
      const int64_t count = std::min(tables.output_rows() - row, end - begin);
      const int64_t i = index / (problem.groups * problem.outputs), output = index % (problem.groups * problem.outputs);
      const int64_t group = output / problem.outputs;
      TransposedPlanes<C> plane{};
      plane.columns = problem.image(i, group);
      plane.channels = problem.channels;
      plane.channel_step = problem.columns;
      plane.kernel_step = 0;
      plane.count = 1;
      if (problem.weights != nullptr) plane.weights = problem.weights + (group * problem.channels * problem.outputs + output % problem.outputs) * problem.kernel;
      plane.weight_step = problem.outputs * problem.kernel;
      plane.bias = problem.bias_of(output);
      plane.out = problem.out + index * problem.pixels;
      scratch.Give(part, plane);
      ComputeTransposedRows<C>(tables.geometry(), plane, row, row + count);
      begin += count;
    }
  });
}

/// Neighbouring output channels of image `i`, whose products lie in rows of `row` elements.
template <class C>
TransposedPlanes<C> ColumnsPlanes(const TransposedProblem<C>& problem, const C* columns, int64_t row, int64_t i, int64_t output,
                                  int64_t count) {
  TransposedPlanes<C> planes{};
  planes.columns = columns;
  planes.channels = 1;
  planes.kernel_step = row;
  planes.count = count;
  planes.columns_step = problem.kernel * row;
  planes.bias = problem.bias_of(output);
  planes.out = problem.out + (i * problem.groups * problem.outputs + output) * problem.pixels;
  planes.out_step = problem.pixels;
  return planes;
}

/// Few output channels for the threads: the product is split by columns too, and gathered afterwards.
template <class C>
void GatherAfterwards(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables) {
  const int64_t outputs = problem.groups * problem.outputs;
  const auto buffer = context.scratch<C>(static_cast<size_t>(CheckedMul(CheckedMul(outputs, problem.kernel), problem.columns)));
  const int64_t rows = CheckedMul(outputs, tables.output_rows());
  const int64_t parts = PartsFor(context.threads(), rows);
  const GatherScratch<C> scratch(context, tables, 1, parts);
  const double taps = static_cast<double>(problem.kernel * problem.columns) / static_cast<double>(tables.output_rows());
  for (int64_t i = 0; i < problem.batch; ++i) {
    RunProducts<C>(context, problem.groups, [&](int64_t group) {
      return problem.Product(i, group, 0, problem.outputs, buffer.data() + group * problem.outputs * problem.kernel * problem.columns);
    });
    ForEachPart(context.threads(), rows, parts, 20 + taps * 0.1, [&](int64_t part, int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t output = begin / tables.output_rows(), row = begin % tables.output_rows();
        const int64_t count = std::min(tables.output_rows() - row, end - begin);
        const C* columns = buffer.data() + output * problem.kernel * problem.columns;
        auto plane = ColumnsPlanes<C>(problem, columns, problem.columns, i, output, 1);
        scratch.Give(part, plane);
        ComputeTransposedRows<C>(tables.geometry(), plane, row, row + count);
        begin += count;
      }
    });
  }
}

/// The images of all groups side by side, [group, channel, image, column]: one product for all of them reads the weights once.
template <class C>
const C* JoinImages(KernelContext& context, const TransposedProblem<C>& problem) {
  const int64_t planes = problem.groups * problem.channels;
  C* joined = context.scratch<C>(static_cast<size_t>(CheckedMul(CheckedMul(planes, problem.batch), problem.columns))).data();
  context.threads().ParallelFor(planes * problem.batch, 10 + static_cast<double>(problem.columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / problem.batch, image = i % problem.batch;
      std::copy_n(problem.input + (image * planes + plane) * problem.columns, problem.columns, joined + i * problem.columns);
    }
  });
  return joined;
}

/// Some output channels at a time: product and gathering. Small images are multiplied together.
template <class C>
void GatherBlocks(KernelContext& context, const TransposedProblem<C>& problem, const TransposedTables& tables, int64_t block) {
  ThreadPool& threads = context.threads();
  const bool joins = problem.JoinsImages();
  const int64_t images = joins ? problem.batch : 1, columns = images * problem.columns;  // of a product
  const int64_t matrices = problem.batch / images * problem.groups;
  const C* input = joins ? JoinImages(context, problem) : problem.input;
  const auto matrix_of = [&](int64_t i) { return input + i * problem.channels * columns; };
  const int64_t blocks = (problem.outputs + block - 1) / block;
  const int64_t items = matrices * blocks;
  const int64_t parts = PartsFor(threads, items);
  // With one column, the product reads the matrices where they are.
  const bool packs = blocks > 1 && columns > 1;
  const size_t panel = packs ? PackedGemmBSize<C>(problem.channels, columns) : 0;
  const auto packed = context.scratch<C>(static_cast<size_t>(CheckedMul(static_cast<int64_t>(panel), matrices)));
  for (int64_t i = 0; packs && i < matrices; ++i) {
    PackGemmB<C>(threads, problem.channels, columns, matrix_of(i), columns, 1, packed.data() + i * static_cast<int64_t>(panel));
  }
  const int64_t buffer_size = CheckedMul(CheckedMul(block, problem.kernel), columns);
  const auto buffers = context.scratch<C>(static_cast<size_t>(CheckedMul(buffer_size, parts)));
  const GatherScratch<C> scratch(context, tables, 1, parts);
  const double cost = static_cast<double>(buffer_size) * (static_cast<double>(problem.channels) * 0.025 + 0.2);
  ForEachPart(threads, items, parts, cost, [&](int64_t part, int64_t begin, int64_t end) {
    C* buffer = buffers.data() + part * buffer_size;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t matrix = item / blocks, first = item % blocks * block;
      const int64_t group = matrix % problem.groups, first_image = matrix / problem.groups;
      const int64_t count = std::min(block, problem.outputs - first);
      GemmArgs<C> args = problem.Product(0, group, first, count, buffer);
      args.n = args.b_k = args.c_row = columns;
      args.b = matrix_of(matrix);
      if (packs) args.packed_b = packed.data() + matrix * static_cast<int64_t>(panel);
      GemmSerial(args);
      for (int64_t image = 0; image < images; ++image) {
        auto planes = ColumnsPlanes<C>(problem, buffer + image * problem.columns, columns, first_image + image,
                                       group * problem.outputs + first, count);
        scratch.Give(part, planes);
        ComputeTransposedRows<C>(tables.geometry(), planes, 0, tables.output_rows());
      }
    }
  });
}

/// Output channels whose contributions fit the cache, enough of them for an efficient product.
template <class C>
int64_t ChooseBlock(const TransposedProblem<C>& problem, int threads) {
  const int64_t least = (24 + problem.kernel - 1) / problem.kernel;
  const int64_t images = problem.JoinsImages() ? problem.batch : 1;
  const int64_t fits = (int64_t{320} << 10) / (static_cast<int64_t>(sizeof(C)) * std::max<int64_t>(problem.kernel * problem.columns * images, 1));
  int64_t block = std::max(fits, least);
  if (threads > 1) {
    const int64_t all = problem.batch / images * problem.groups * problem.outputs;
    block = std::min(block, std::max((12 + problem.kernel - 1) / problem.kernel, all / (3 * threads)));
  }
  // Rows of the product come in sixes or twelves.
  const int64_t unit = 12 / std::gcd(problem.kernel, int64_t{12});
  if (unit <= block + 1) block = (block + unit - 1) / unit * unit;
  return std::clamp<int64_t>(block, 1, problem.outputs);
}

template <class T>
class ConvTranspose final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit ConvTranspose(const KernelInfo& info) : attributes_(info) {
    const Tensor* weights = info.constant_input(1);
    if (weights == nullptr || !weights->is(ElementTypeOf<T>) || weights->num_elements() == 0 || weights->shape().rank() < 3) return;
    weights_shape_ = weights->shape();
    if (weights_shape_[0] % attributes_.group != 0 || weights_shape_[0] / attributes_.group <= kFewChannels) return;
    turned_ = SharedTensor(info, *weights, fmt::format("conv_transpose.{}", attributes_.group), ElementTypeOf<C>, weights_shape_,
                           [&] { return Turn(info.threads(), *weights); });
    info.ReleaseConstant(1);
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor* weights = turned_ ? nullptr : &context.required_input(1);
    const Shape& weights_shape = turned_ ? weights_shape_ : weights->shape();
    const Tensor* bias = context.input(2);
    const Window window = CheckShapes(input.shape(), weights_shape, bias);
    const int64_t groups = attributes_.group;
    Shape shape{input.shape()[0], weights_shape[1] * groups};
    for (int64_t dim : window.input) shape.Append(dim);
    Tensor* output = context.output(0, shape);
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
                                       turned_ ? turned_->data<C>() : nullptr,
                                       ComputeView<T>(context, bias),
                                       result.data()};
    Run(context, window, problem);
    result.Finish();
  }

 private:
  static constexpr int64_t kFewChannels = 2;

  /// Weights with the input channels last.
  std::shared_ptr<const Tensor> Turn(ThreadPool& threads, const Tensor& weights) const {
    auto turned = std::make_shared<Tensor>(ElementTypeOf<C>, weights.shape(), WeightMemory());
    const int64_t channels = weights.shape()[0] / attributes_.group;
    const int64_t rows = weights.shape().SizeOfRange(1, weights.shape().rank());
    const T* from = weights.data<T>();
    C* to = turned->template mutable_data<C>();
    threads.ParallelFor(attributes_.group * rows, static_cast<double>(channels) * 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* column = from + i / rows * channels * rows + i % rows;
        for (int64_t c = 0; c < channels; ++c) to[i * channels + c] = static_cast<C>(column[c * rows]);
      }
    });
    return turned;
  }

  static void Run(KernelContext& context, const Window& window, const TransposedProblem<C>& problem) {
    bool pointwise = problem.kernel == 1;
    for (size_t i = 0; i < window.rank(); ++i) pointwise = pointwise && window.input[i] == window.output[i] && window.begin[i] == 0;
    if (pointwise && problem.channels > 0) {
      RunProducts<C>(context, problem.batch * problem.groups, [&](int64_t i) {
        const int64_t group = i % problem.groups;
        auto args = problem.Product(i / problem.groups, group, 0, problem.outputs, problem.out + i * problem.outputs * problem.columns);
        args.epilogue.row_bias = problem.bias == nullptr ? nullptr : problem.bias + group * problem.outputs;
        return args;
      });
      return;
    }
    const TransposedTables tables(context, window);
    const int threads = context.threads().num_threads();
    if (problem.channels <= kFewChannels || problem.columns == 0) {
      GatherInput(context, problem, tables);
      return;
    }
    const int64_t block = ChooseBlock(problem, threads);
    const int64_t images = problem.JoinsImages() ? problem.batch : 1;
    const int64_t blocks = problem.batch / images * problem.groups * ((problem.outputs + block - 1) / block);
    if (threads > 1 && blocks < 2 * threads) {
      GatherAfterwards(context, problem, tables);
    } else {
      GatherBlocks(context, problem, tables, block);
    }
  }

  Window CheckShapes(const Shape& input, const Shape& weights, const Tensor* bias) const {
    Require(input.rank() >= 3, "the input must have batch, channels and at least one spatial axis, it is {}", input);
    Require(weights.rank() == input.rank(), "the weights are {}, the input is {}", weights, input);
    Require(input[1] == weights[0], "the input has {} channels, the weights take {}", input[1], weights[0]);
    Require(input[1] % attributes_.group == 0, "{} channels do not divide into {} groups", input[1], attributes_.group);
    const int64_t outputs = CheckedMul(weights[1], attributes_.group);
    Require(bias == nullptr || bias->num_elements() == outputs, "the bias has {} values, {} output channels need one each",
            bias == nullptr ? 0 : bias->num_elements(), outputs);
    const auto kernel = weights.dims().subspan(2);
    Require(!attributes_.window.has_kernel() || std::ranges::equal(attributes_.window.kernel(), kernel),
            "kernel_shape is {}, the weights are {}", attributes_.window.kernel(), weights);
    return FitTransposed(attributes_, input.dims().subspan(2), kernel);
  }

  TransposeAttributes attributes_;
  Shape weights_shape_;
  std::shared_ptr<const Tensor> turned_;
};

}  // namespace

void RegisterConvTranspose(KernelRegistry& registry) {
  registry.Add(Op("ConvTranspose").Types(0, kFloats).Factory(MakeTyped<ConvTranspose, FloatTypes>));
}

}  // namespace tessera::cpu
