// MaxPool (1, 8, 10, 11, 12, 22).

#include <limits>

#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/pool.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/pool/max_indices.h"

namespace tessera::cpu {
namespace {

template <class T>
constexpr T Lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

/// Row-major index in the plane to column-major index.
int64_t ColumnMajor(const Window& window, int64_t offset) {
  int64_t result = 0;
  for (size_t i = window.rank(); i-- > 0;) {
    int64_t stride = 1;
    for (size_t j = 0; j < i; ++j) stride *= window.input[j];
    result += offset % window.input[i] * stride;
    offset /= window.input[i];
  }
  return result;
}

/// One output of a row: its maximum and the index of that in the plane, -1 where the window is all padding.
template <class T>
void PoolOutput(const Window& window, std::span<const int64_t> rows, const T* plane, int64_t o, T& best, int64_t& at) {
  const size_t last = window.rank() - 1;
  const KernelRange range = InsideInput(window, last, o);
  const int64_t start = o * window.strides[last] - window.begin[last];
  best = Lowest<T>();
  at = -1;
  for (const int64_t row : rows) {
    for (int64_t k = range.first; k < range.last; ++k) {
      const int64_t offset = row * window.input[last] + start + k * window.dilations[last];
      const T value = plane[offset];
      if (at < 0 || value > best || (value != value && best == best)) {
        best = value;
        at = offset;
      }
    }
  }
}

/// With the flat index of each maximum; the first of equals wins, NaN is larger than any number.
template <class T>
void PoolWithIndices(KernelContext& context, const Window& window, int64_t planes, bool column_major, const T* in, T* out,
                     int64_t* indices) {
  PoolRows rows(context, window, planes);
  const size_t last = window.rank() - 1;
  const int64_t plane_size = window.input.num_elements(), outputs = window.output[last];
  const bool vectors = std::is_same_v<T, float> && plane_size <= std::numeric_limits<int32_t>::max();
  const auto [inner, inner_end] = window.inner(last);
  rows.ForEach([&, inner = inner, inner_end = inner_end](const PoolRowPosition& position, int64_t) {
    const T* plane = in + position.plane * plane_size;
    const int64_t out_row = (position.plane * rows.output_rows() + position.output_row) * outputs;
    T* best = out + out_row;
    int64_t* at = indices + out_row;
    int64_t done = inner;  // [inner, done) was computed as vectors
    if constexpr (std::is_same_v<T, float>) {
      const MaxTaps taps{position.rows, window.input[last], window.kernel[last], window.dilations[last],
                         window.strides[last]};
      const int64_t start = inner * taps.stride - window.begin[last];
      if (vectors && !position.rows.empty())
        done += MaximaWithIndices(plane, taps, start, inner_end - inner, best + inner, at + inner);
    }
    const auto one_by_one = [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) PoolOutput(window, position.rows, plane, o, best[o], at[o]);
    };
    one_by_one(0, inner);
    one_by_one(done, outputs);
    for (int64_t o = 0; o < outputs; ++o) {
      if (at[o] >= 0) at[o] = position.plane * plane_size + (column_major ? ColumnMajor(window, at[o]) : at[o]);
    }
  });
}

template <class T>
class MaxPool final : public Kernel {
 public:
  explicit MaxPool(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Window window = attributes_.Fit(input.shape());
    const Shape shape = PoolAttributes::ResultShape(input.shape(), window);
    const int64_t planes = input.shape().SizeOfRange(0, 2);
    Tensor* output = context.output(0, shape);
    Tensor* indices = context.has_output(1) ? context.output(1, shape) : nullptr;
    if (output == nullptr || shape.num_elements() == 0) return;
    if constexpr (kIsHalf<T>) {
      ComputeResult<T> result(context, *output);
      Pool<float>(context, window, planes, ComputeView<T>(context, &input), result.data(), indices);
      result.Finish();
    } else {
      Pool<T>(context, window, planes, input.data<T>(), output->mutable_data<T>(), indices);
    }
  }

 private:
  template <class C>
  void Pool(KernelContext& context, Window window, int64_t planes, const C* in, C* out, Tensor* indices) const {
    if (indices != nullptr) {
      PoolWithIndices<C>(context, window, planes, attributes_.column_major, in, out, indices->mutable_data<int64_t>());
    } else {
      FoldIntoPlanes(window, planes);
      PoolPlanes<C>(context, window, planes, PoolKind::kMax, PoolFinish::kNone, kNothingCounted).Run(in, out);
    }
  }

  PoolAttributes attributes_;
};

}  // namespace

void RegisterMaxPool(KernelRegistry& registry) {
  using Types = TypeList<float, double, Float16, BFloat16, int8_t, uint8_t>;
  registry.Add(Op("MaxPool").Types(0, ToTypeSet(Types{})).Factory(MakeTyped<MaxPool, Types>));
}

}  // namespace tessera::cpu
