#include "ops/image/resample_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/string_memory.h"

namespace tessera {
namespace {

/// The length that an axis is scaled to before it is rounded; a whole number where only rounding makes it another.
double FractionalLength(int64_t in, const AxisRequest& request) {
  const double whole = static_cast<double>(request.out), length = request.scale * static_cast<double>(in);
  return std::abs(length - whole) <= request.scale_error * std::max(1.0, whole) ? whole : length;
}

/// The length that align_corners takes. By onnx's text, ONNX Runtime and PyTorch it is the output's, so that corners meet.
/// Where an axis gets shorter by a scale, onnx's two cases of that (of its reference implementation) take the fractional
/// length all the same.
double AlignedLength(int64_t in, const AxisRequest& request) {
  return request.by_scale && request.scale < 1 ? FractionalLength(in, request) : static_cast<double>(request.out);
}

/// Where output position `o` lies on the source axis.
class CoordinateMap {
 public:
  CoordinateMap(CoordinateMode mode, int64_t in, const AxisRequest& request)
      : mode_(mode),
        request_(request),
        in_(static_cast<double>(in)),
        last_(static_cast<double>(request.out - 1)),
        fractional_(FractionalLength(in, request)),
        aligned_(AlignedLength(in, request)) {}

  double operator()(int64_t o) const {
    const double x = static_cast<double>(o);
    const double scale = request_.scale;
    switch (mode_) {
      case CoordinateMode::kHalfPixel: return (x + 0.5) / scale - 0.5;
      case CoordinateMode::kHalfPixelSymmetric: {
        const double adjustment = static_cast<double>(request_.out) / fractional_;
        const double offset = in_ / 2 * (1 - adjustment);
        return offset + (x + 0.5) / scale - 0.5;
      }
      case CoordinateMode::kPytorchHalfPixel: return request_.out > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
      case CoordinateMode::kAlignCorners: return aligned_ == 1 ? 0.0 : x * (in_ - 1) / (aligned_ - 1);
      case CoordinateMode::kAsymmetric: return x / scale;
      case CoordinateMode::kTfHalfPixelForNn: return (x + 0.5) / scale;
      case CoordinateMode::kTfCropAndResize: {
        // Written so that the ends are met exactly: what lies outside, by a rounding error even, is extrapolated.
        const double start = request_.roi_start, end = request_.roi_end;
        return last_ < 1 ? 0.5 * (start + end) * (in_ - 1) : (start * (last_ - x) + end * x) * (in_ - 1) / last_;
      }
    }
    return 0;
  }

 private:
  CoordinateMode mode_;
  AxisRequest request_;
  double in_;
  double last_;  // output position
  double fractional_, aligned_;
};

/// Positions on or halfway between source elements, without the rounding errors that would tip floor and ceil over.
double SnapToHalves(double x, double error) {
  const double half = std::round(2 * x) / 2;
  return std::abs(x - half) <= error * std::max(1.0, std::abs(x)) ? half : x;
}

int64_t NearestIndex(NearestMode mode, double position, const AxisRequest& request) {
  const double x = SnapToHalves(position, request.scale_error);
  const double floor = std::floor(x);
  const double ratio = x - floor;
  double index = floor;
  switch (mode) {
    case NearestMode::kRoundPreferFloor: index += ratio > 0.5 ? 1 : 0; break;
    case NearestMode::kRoundPreferCeil: index += ratio >= 0.5 ? 1 : 0; break;
    case NearestMode::kFloor: break;
    case NearestMode::kCeil: index = std::ceil(x); break;
    case NearestMode::kSimple: index = request.scale < 1 ? std::ceil(x) : std::trunc(x); break;
  }
  return static_cast<int64_t>(index);
}

double CubicKernel(double a, double x) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// The filter of one axis: its weights for a source position `ratio` right of the middle tap on the left.
class Filter {
 public:
  Filter(const ResampleOptions& options, double scale)
      : cubic_(options.mode == ResampleMode::kCubic),
        a_(options.cubic_a),
        stretch_(options.antialias ? std::min(scale, 1.0) : 1.0),
        normalize_(options.antialias) {
    const double radius = (cubic_ ? 2.0 : 1.0) / stretch_;
    Require(radius < 1e9, "scale {} is too small for antialiasing", scale);
    begin_ = static_cast<int64_t>(std::floor(-radius)) + 1;
  }

  int64_t taps() const { return 2 - 2 * begin_; }

  void Weights(double ratio, double* weights) const {
    double sum = 0;
    for (int64_t i = 0; i < taps(); ++i) {
      const double x = (static_cast<double>(begin_ + i) - ratio) * stretch_;
      weights[i] = cubic_ ? CubicKernel(a_, x) : std::max(0.0, 1 - std::abs(x));
      sum += weights[i];
    }
    if (!normalize_ || sum == 0) return;
    for (int64_t i = 0; i < taps(); ++i) weights[i] /= sum;
  }

 private:
  bool cubic_;
  double a_;
  double stretch_;
  bool normalize_;
  int64_t begin_;
};

/// A coordinate that integer arithmetic can hold; positions far outside all behave alike.
double Bounded(double x, int64_t in) {
  Require(!std::isnan(x), "scales or roi give a coordinate that is not a number");
  const double limit = static_cast<double>(in) + 1e9;
  return std::clamp(x, -limit, limit);
}

void FillNearest(const ResampleOptions& options, const CoordinateMap& map, const AxisRequest& request, AxisTable& table) {
  PacedCancellationPoint look(10);
  for (int64_t o = 0; o < table.out; ++o) {
    look.Pass();
    const double x = Bounded(map(o), table.in);
    table.first[static_cast<size_t>(o)] =
        static_cast<int32_t>(std::clamp<int64_t>(NearestIndex(options.nearest, x, request), 0, table.in - 1));
  }
}

/// Fills `partial`.
void ListPartial(AxisTable& table) {
  const auto each = [&](auto&& take) {
    PacedCancellationPoint look(10);
    for (int64_t o = 0; o < table.out; ++o) {
      look.Pass(table.taps);
      const auto row = table.weights_f32.begin() + o * table.taps;
      if (std::find(row, row + table.taps, 0.0f) != row + table.taps) take(static_cast<int32_t>(o));
    }
  };
  size_t count = 0;
  each([&](int32_t) { ++count; });
  table.charge.Add(count * sizeof(int32_t));
  table.partial.reserve(count);
  each([&](int32_t o) { table.partial.push_back(o); });
}

void FillWeighted(const ResampleOptions& options, const CoordinateMap& map, double scale, Allocator& memory,
                  AxisTable& table) {
  const Filter filter(options, scale);
  const int64_t reach = filter.taps();
  table.taps = std::min(reach, table.in);
  const auto count = static_cast<size_t>(CheckedMul(table.out, table.taps));
  table.charge.Add(CheckedMul(count, sizeof(table.weights[0]) + sizeof(table.weights_f32[0])));
  const MemoryCharge charge(memory, static_cast<size_t>(reach) * sizeof(double));
  table.weights.reserve(count);
  InCancellablePieces(0, static_cast<int64_t>(count), 1,
                      [&](int64_t, int64_t end) { table.weights.resize(static_cast<size_t>(end), 0.0); });
  std::vector<double> weights(static_cast<size_t>(reach));
  PacedCancellationPoint look(10);
  for (int64_t o = 0; o < table.out; ++o) {
    look.Pass(reach + 2);
    const double x = Bounded(map(o), table.in);
    const double floor = std::floor(x);
    const bool whole = x == floor;
    filter.Weights(whole ? 1.0 : x - floor, weights.data());
    const int64_t begin = static_cast<int64_t>(floor) - reach / 2 + (whole ? 0 : 1);
    if (options.exclude_outside) {
      double sum = 0;
      for (int64_t i = 0; i < reach; ++i) {
        double& weight = weights[static_cast<size_t>(i)];
        if (begin + i < 0 || begin + i >= table.in) weight = 0;
        sum += weight;
      }
      if (sum != 0) {
        for (double& weight : weights) weight /= sum;
      }
    }
    // Taps outside repeat the border pixel: their weights move there.
    const int64_t first = std::clamp<int64_t>(begin, 0, table.in - table.taps);
    table.first[static_cast<size_t>(o)] = static_cast<int32_t>(first);
    double* row = table.weights.data() + o * table.taps;
    for (int64_t i = 0; i < reach; ++i) {
      row[std::clamp<int64_t>(begin + i, 0, table.in - 1) - first] += weights[static_cast<size_t>(i)];
    }
  }
  table.weights_f32.reserve(count);
  InCancellablePieces(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
    table.weights_f32.insert(table.weights_f32.end(), table.weights.begin() + begin, table.weights.begin() + end);
  });
  ListPartial(table);
}

bool IsIdentity(const ResampleOptions& options, int64_t in, const AxisRequest& request) {
  return in == request.out && std::abs(request.scale - 1) < 1e-9 &&
         (options.coordinates != CoordinateMode::kTfCropAndResize || (request.roi_start == 0 && request.roi_end == 1));
}

}  // namespace

AxisTable MakeAxisTable(const ResampleOptions& options, int64_t in, const AxisRequest& request, Allocator& memory) {
  constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
  Require(in <= kLongest && request.out <= kLongest, "an axis of {} elements resized to {} is too long", in, request.out);
  AxisTable table;
  table.in = in;
  table.out = request.out;
  table.charge = MemoryCharge(memory, static_cast<size_t>(table.out) * (sizeof(table.first[0]) + sizeof(table.outside[0])));
  table.first.resize(static_cast<size_t>(table.out));
  const CoordinateMap map(options.coordinates, in, request);
  if (options.mode == ResampleMode::kNearest) {
    FillNearest(options, map, request, table);
  } else {
    FillWeighted(options, map, request.scale, memory, table);
  }
  if (options.coordinates == CoordinateMode::kTfCropAndResize) {
    table.outside.resize(static_cast<size_t>(table.out));
    bool any = false;
    PacedCancellationPoint look(10);
    for (int64_t o = 0; o < table.out; ++o) {
      look.Pass();
      const double x = map(o);
      const bool outside = x < 0 || x > static_cast<double>(in - 1);
      table.outside[static_cast<size_t>(o)] = outside;
      any |= outside;
    }
    if (!any) table.outside.clear();
  }
  return table;
}

std::unique_ptr<ResamplePlan> MakeResamplePlan(const ResampleOptions& options, const Shape& in_shape,
                                               std::span<const AxisRequest> requests,
                                               FunctionRef<void(const Shape&)> reserve, Allocator& memory) {
  auto plan = std::make_unique<ResamplePlan>();
  plan->options = options;
  plan->out_shape = in_shape;
  for (size_t i = 0; i < in_shape.rank(); ++i) {
    Require(requests[i].out >= 0, "axis {} would get {} elements", i, requests[i].out);
    Require(in_shape[i] > 0 || requests[i].out == 0, "axis {} is empty and can not be resized to {}", i, requests[i].out);
    plan->out_shape[i] = requests[i].out;
  }
  plan->empty = plan->out_shape.num_elements() == 0;
  reserve(plan->out_shape);
  if (plan->empty) return plan;
  for (size_t i = 0; i < in_shape.rank(); ++i) {
    if (IsIdentity(options, in_shape[i], requests[i])) {
      if (in_shape[i] == 1) continue;
      if (plan->dims.empty() || plan->dims.back().table != nullptr) plan->dims.emplace_back();
      plan->dims.back().in *= in_shape[i];
      plan->dims.back().out *= in_shape[i];
    } else {
      plan->tables.push_back(std::make_unique<AxisTable>(MakeAxisTable(options, in_shape[i], requests[i], memory)));
      plan->dims.push_back({in_shape[i], requests[i].out, plan->tables.back().get()});
    }
  }
  plan->identity = plan->tables.empty();
  return plan;
}

}  // namespace tessera
