// GridSample (ai.onnx 16, 20, 22), any number of spatial axes.

#include "kernels/image/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/on_texts.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/image/grid_sample.h"

namespace tessera::cpu {
namespace {

constexpr size_t kMaxSpatial = 6;
constexpr int64_t kTile = 128;  // sampling points whose table is shared by all channels

using Mode = GridSampleMode;
using Padding = GridSamplePadding;

/// Elements along an axis that a sample is made of.
int64_t TapsOf(Mode mode) { return mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : 4; }

double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (x >= low && x <= high) return x;
  if (!(range > 0)) return low;
  const double distance = std::fmod(x < low ? low - x : x - high, 2 * range);
  const double back = distance < range ? distance : 2 * range - distance;
  return x < low ? low + back : high - back;
}

/// One spatial axis of the input.
class Axis {
 public:
  Axis(const GridSampleAttributes& attributes, int64_t size)
      : attributes_(attributes),
        size_(size),
        low_(attributes.align_corners ? 0.0 : -0.5),
        high_(static_cast<double>(size) - (attributes.align_corners ? 1.0 : 0.5)) {}

  int64_t size() const { return size_; }

  /// From [-1, 1] to a position on the axis, inside the border where the padding moves it there. A cubic's position stays
  /// where it is before a border, and its taps are moved, each by itself, as in PyTorch: the others' samples are the same
  /// either way.
  template <class G>
  double Position(G normalized) const {
    const G length = static_cast<G>(size_);
    double x = static_cast<double>(attributes_.align_corners ? (normalized + 1) / 2 * (length - 1)
                                                             : ((normalized + 1) * length - 1) / 2);
    if (std::isnan(x)) x = -8;  // outside
    if (attributes_.mode == Mode::kNearest) x = std::nearbyint(x);
    if (x < low_ || x > high_) {
      if (attributes_.padding == Padding::kBorder && attributes_.mode != Mode::kCubic)
        x = std::clamp(x, 0.0, static_cast<double>(size_ - 1));
      if (attributes_.padding == Padding::kReflection) {
        x = Reflect(x, low_, high_);
        if (std::isnan(x)) x = 0;  // from infinity
      }
    }
    return std::clamp(x, -8.0, static_cast<double>(size_) + 8);
  }

  /// The element at an integer position; -1: none.
  int64_t Index(int64_t i) const {
    if (i >= 0 && i < size_) return i;
    switch (attributes_.padding) {
      case Padding::kZeros: return -1;
      case Padding::kBorder: return std::clamp<int64_t>(i, 0, size_ - 1);
      case Padding::kReflection:
        return std::clamp<int64_t>(static_cast<int64_t>(Reflect(static_cast<double>(i), low_, high_)), 0, size_ - 1);
    }
    return -1;
  }

  /// Weights of the taps around `x`; returns the position of the first.
  template <class F>
  int64_t Weights(double x, F* weights) const {
    if (attributes_.mode == Mode::kNearest) {
      weights[0] = 1;
      return static_cast<int64_t>(x);
    }
    const double floor = std::floor(x);
    const F f = static_cast<F>(x - floor);
    const auto first = static_cast<int64_t>(floor);
    if (attributes_.mode == Mode::kLinear) {
      weights[0] = 1 - f;
      weights[1] = f;
      return first;
    }
    constexpr F a = F(-0.75);
    const auto outer = [](F t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
    const auto inner = [](F t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
    weights[0] = outer(f + 1);
    weights[1] = inner(f);
    weights[2] = inner(1 - f);
    weights[3] = outer(2 - f);
    return first - 1;
  }

 private:
  GridSampleAttributes attributes_;
  int64_t size_;
  double low_, high_;
};

/// Fills tables of sampling points.
template <class F>
class TableBuilder {
 public:
  TableBuilder(const GridSampleAttributes& attributes, std::span<const int64_t> sizes)
      : attributes_(attributes), taps_(TapsOf(attributes.mode)) {
    rank_ = sizes.size();
    for (size_t i = 0; i < rank_; ++i) {
      sizes_[i] = sizes[i];
      if (i + 1 < rank_) rows_ *= taps_;
    }
    width_ = std::min(taps_, sizes.back());
  }

  int64_t rows() const { return rows_; }
  int64_t taps() const { return width_; }

  /// `grid` holds the points' coordinates, innermost axis first.
  template <class G>
  void Fill(const G* grid, int64_t points, int32_t* offsets, F* row_weights, F* tap_weights) const {
    for (int64_t p = 0; p < points; ++p, grid += rank_) {
      int32_t* offset = offsets + p * rows_;
      F* weight = row_weights + p * rows_;
      offset[0] = static_cast<int32_t>(FillTaps(grid[0], tap_weights + p * width_));
      weight[0] = 1;
      int64_t filled = 1, stride = sizes_[rank_ - 1];
      for (size_t a = rank_ - 1; a-- > 0;) {
        const Axis axis(attributes_, sizes_[a]);
        F weights[4];
        const int64_t first = axis.Weights(axis.Position(grid[rank_ - 1 - a]), weights);
        for (int64_t t = taps_; t-- > 0;) {
          const int64_t index = axis.Index(first + t);
          const F own = index < 0 ? F{0} : weights[t];
          const auto shift = static_cast<int32_t>(std::max<int64_t>(index, 0) * stride);
          for (int64_t r = 0; r < filled; ++r) {
            offset[t * filled + r] = offset[r] + shift;
            weight[t * filled + r] = weight[r] * own;
          }
        }
        filled *= taps_;
        stride *= axis.size();
      }
    }
  }

 private:
  /// The innermost axis: weights of a window of neighbours. Returns its first position.
  template <class G>
  int64_t FillTaps(G coordinate, F* out) const {
    const Axis axis(attributes_, sizes_[rank_ - 1]);
    F weights[4];
    const int64_t first = axis.Weights(axis.Position(coordinate), weights);
    const int64_t window = std::clamp<int64_t>(first, 0, axis.size() - width_);
    std::fill_n(out, width_, F{0});
    for (int64_t t = 0; t < taps_; ++t) {
      const int64_t index = axis.Index(first + t);
      // Taps that are reflected or clamped stay within the window: it starts or ends at the border then.
      if (index >= 0) out[std::clamp<int64_t>(index - window, 0, width_ - 1)] += weights[t];
    }
    return window;
  }

  GridSampleAttributes attributes_;
  int64_t taps_;
  size_t rank_;
  int64_t sizes_[kMaxSpatial];
  int64_t rows_ = 1;
  int64_t width_ = 1;
};

/// Sizes of one call.
struct Problem {
  int64_t batches, channels;
  std::span<const int64_t> sizes;  // spatial, of the input
  int64_t plane = 1;               // their product
  int64_t points = 1;              // sampling points of one image
};

/// Calls body(image, first point, points, table) for every tile of sampling points.
template <class F, class G, class Body>
void ForEachTile(KernelContext& context, const GridSampleAttributes& attributes, const Problem& problem, const G* grid,
                 double channel_cost, Body body) {
  const TableBuilder<F> builder(attributes, problem.sizes);
  const int64_t rows = builder.rows(), taps = builder.taps();
  const int64_t tiles = CeilDiv(problem.points, kTile), total = tiles * problem.batches;
  const int64_t chunks = std::min<int64_t>(total, 4 * context.threads().num_threads());
  const std::span<F> weights = context.scratch<F>(static_cast<size_t>(chunks * kTile * (rows + taps)));
  const std::span<int32_t> offsets = context.scratch<int32_t>(static_cast<size_t>(chunks * kTile * rows));
  const double point_cost = 15.0 * static_cast<double>(problem.sizes.size()) + 2.0 * static_cast<double>(rows) +
                            channel_cost * static_cast<double>(problem.channels * rows * taps);
  const double cost = point_cost * static_cast<double>(problem.points * problem.batches) / static_cast<double>(chunks);
  context.threads().ParallelFor(chunks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int32_t* offset = offsets.data() + c * kTile * rows;
      F* row_weights = weights.data() + c * kTile * (rows + taps);
      F* tap_weights = row_weights + kTile * rows;
      for (int64_t i = total * c / chunks; i < total * (c + 1) / chunks; ++i) {
        CancellationPoint();
        const int64_t image = i / tiles, first = i % tiles * kTile;
        const int64_t points = std::min(kTile, problem.points - first);
        const G* from = grid + (image * problem.points + first) * static_cast<int64_t>(problem.sizes.size());
        builder.Fill(from, points, offset, row_weights, tap_weights);
        body(image, first, SampleTable<F>{points, rows, taps, offset, row_weights, tap_weights});
      }
    }
  });
}

/// Nearest sampling of elements that are only moved.
template <class E, class G>
void Gather(KernelContext& context, const GridSampleAttributes& attributes, const Problem& problem, const E* in,
            const G* grid, E* out) {
  ForEachTile<float>(context, attributes, problem, grid, 1.0,
                     [&](int64_t image, int64_t first, const SampleTable<float>& table) {
                       PacedCancellationPoint look(100);
                       for (int64_t c = 0; c < problem.channels; ++c) {
                         look.Pass();
                         const E* channel = in + (image * problem.channels + c) * problem.plane;
                         E* target = out + (image * problem.channels + c) * problem.points + first;
                         for (int64_t p = 0; p < table.points; ++p) {
                           target[p] = table.row_weights[p] * table.tap_weights[p] != 0 ? channel[table.offsets[p]] : E{};
                         }
                       }
                     });
}

/// A point's sum without the taps of weight 0, which stand at some element too: one that is outside meets no NaN or
/// infinity there.
template <class F>
F SumOfWeighted(const SampleTable<F>& table, const F* channel, int64_t p) {
  F sum = 0;
  for (int64_t r = 0; r < table.rows; ++r) {
    for (int64_t t = 0; t < table.taps; ++t) {
      const F weight = table.row_weights[p * table.rows + r] * table.tap_weights[p * table.taps + t];
      if (weight != 0) sum += weight * channel[table.offsets[p * table.rows + r] + t];
    }
  }
  return sum;
}

template <class F, class G>
void Interpolate(KernelContext& context, const GridSampleAttributes& attributes, const Problem& problem, const F* in,
                 const G* grid, F* out) {
  ForEachTile<F>(context, attributes, problem, grid, 0.4, [&](int64_t image, int64_t first, const SampleTable<F>& table) {
    PacedCancellationPoint look(100);
    for (int64_t c = 0; c < problem.channels; ++c) {
      look.Pass();
      const int64_t i = image * problem.channels + c;
      const F* channel = in + i * problem.plane;
      F* target = out + i * problem.points + first;
      SampleChannel(table, channel, target);
      for (int64_t p = 0; p < table.points; ++p) {
        if (std::isnan(target[p])) [[unlikely]]
          target[p] = SumOfWeighted(table, channel, p);
      }
    }
  });
}

template <class T, class F>
T FromNumber(F x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (!(x > static_cast<F>(std::numeric_limits<T>::min()))) return x < 0 ? std::numeric_limits<T>::min() : T{0};
    if (x >= static_cast<F>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(x);
  } else {
    return static_cast<T>(x);
  }
}

/// Interpolates elements of T in numbers of F.
template <class T, class F, class G>
void InterpolateAs(KernelContext& context, const GridSampleAttributes& attributes, const Problem& problem,
                   const Tensor& input, const G* grid, Tensor& output) {
  if constexpr (std::is_same_v<T, F>) {
    return Interpolate(context, attributes, problem, input.data<F>(), grid, output.mutable_data<F>());
  } else {
    const std::span<F> in = context.scratch<F>(static_cast<size_t>(input.num_elements()));
    const std::span<F> out = context.scratch<F>(static_cast<size_t>(output.num_elements()));
    const T* elements = input.data<T>();
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<F>(elements[i]);
    Interpolate(context, attributes, problem, in.data(), grid, out.data());
    T* results = output.mutable_data<T>();
    for (size_t i = 0; i < out.size(); ++i) results[i] = FromNumber<T>(out[i]);
  }
}

/// Complex elements as two channels of numbers.
template <class F, class G>
void InterpolateComplex(KernelContext& context, const GridSampleAttributes& attributes, Problem problem,
                        const Tensor& input, const G* grid, Tensor& output) {
  const auto in_size = static_cast<size_t>(input.num_elements()), out_size = static_cast<size_t>(output.num_elements());
  const std::span<F> in = context.scratch<F>(2 * in_size), out = context.scratch<F>(2 * out_size);
  const F* elements = static_cast<const F*>(input.raw());
  const auto plane = static_cast<size_t>(problem.plane), points = static_cast<size_t>(problem.points);
  for (size_t i = 0; i < in_size; ++i) {
    const size_t at = i / plane * plane * 2 + i % plane;
    in[at] = elements[2 * i];
    in[at + plane] = elements[2 * i + 1];
  }
  problem.channels *= 2;
  Interpolate(context, attributes, problem, in.data(), grid, out.data());
  F* results = static_cast<F*>(output.mutable_raw());
  for (size_t i = 0; i < out_size; ++i) {
    const size_t at = i / points * points * 2 + i % points;
    results[2 * i] = out[at];
    results[2 * i + 1] = out[at + points];
  }
}

struct Bytes16 {
  uint64_t low = 0, high = 0;
};

class GridSample final : public Kernel {
 public:
  explicit GridSample(const KernelInfo& info) : attributes_(info.node()) {
    Require(attributes_.mode == Mode::kNearest || info.input_type(0) != ElementType::kString,
            "strings can be sampled in mode nearest only");
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& grid = context.required_input(1);
    const Shape &shape = input.shape(), &grid_shape = grid.shape();
    const size_t spatial = shape.rank() - 2;
    const Shape out_shape = GridSampleAttributes::ResultShape(shape, grid_shape);
    Require(spatial <= kMaxSpatial, "X is {}: at most {} spatial axes are sampled", shape, kMaxSpatial);
    Tensor* output = context.output(0, input.type(), out_shape);
    if (output == nullptr || output->num_elements() == 0) return;
    Problem problem{shape[0], shape[1], shape.dims().subspan(2)};
    problem.plane = shape.SizeOfRange(2, shape.rank());
    problem.points = out_shape.SizeOfRange(2, shape.rank());
    Require(problem.plane <= std::numeric_limits<int32_t>::max(), "X is {}: too large", shape);

    if (grid.is(ElementType::kDouble)) return Run(context, problem, input, grid.data<double>(), *output);
    if (grid.is(ElementType::kFloat)) return Run(context, problem, input, grid.data<float>(), *output);
    const std::span<float> numbers = context.scratch<float>(static_cast<size_t>(grid.num_elements()));
    VisitType(TypeList<Float16, BFloat16>{}, grid.type(), [&]<class T>() {
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = grid.data<T>()[i];
    });
    Run(context, problem, input, numbers.data(), *output);
  }

 private:
  template <class G>
  void Run(KernelContext& context, const Problem& problem, const Tensor& input, const G* grid, Tensor& output) const {
    const ElementType type = input.type();
    if (attributes_.mode == Mode::kNearest) {
      if (type == ElementType::kString) {
        const auto given = context.scratch<std::string_view>(static_cast<size_t>(input.num_elements()));
        const auto taken = context.scratch<std::string_view>(static_cast<size_t>(output.num_elements()));
        std::ranges::copy(input.values<std::string>(), given.begin());
        Gather(context, attributes_, problem, given.data(), grid, taken.data());
        return WriteTexts(context, 0, output.shape(), taken);
      }
      const auto gather = [&]<class E>(E) {
        Gather(context, attributes_, problem, static_cast<const E*>(input.raw()), grid,
               static_cast<E*>(output.mutable_raw()));
      };
      switch (BitWidth(type)) {
        case 8: return gather(uint8_t{});
        case 16: return gather(uint16_t{});
        case 32: return gather(uint32_t{});
        case 64: return gather(uint64_t{});
        default: return gather(Bytes16{});
      }
    }
    if (type == ElementType::kComplex64)
      return InterpolateComplex<float>(context, attributes_, problem, input, grid, output);
    if (type == ElementType::kComplex128)
      return InterpolateComplex<double>(context, attributes_, problem, input, grid, output);
    if (type == ElementType::kBool) return InterpolateAs<bool, float>(context, attributes_, problem, input, grid, output);
    VisitType(NumberTypes{}, type, [&]<class T>() {
      constexpr bool wide = std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) >= 4);
      InterpolateAs<T, std::conditional_t<wide, double, float>>(context, attributes_, problem, input, grid, output);
    });
  }

  GridSampleAttributes attributes_;
};

}  // namespace

void RegisterGridSample(KernelRegistry& registry) {
  registry.Add(Op("GridSample").Versions(16).Types(1, kFloats).Make<GridSample>());
}

}  // namespace tessera::cpu
