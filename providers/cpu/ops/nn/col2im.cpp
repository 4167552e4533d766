// Col2Im (18): columns of sliding blocks added back into an image. Strings are not added by anyone; bool adds as "or".

#include <complex>

#include "base/cancellable_memory.h"
#include "base/rounding.h"
#include "base/string_memory.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/multi_index.h"
#include "cpu/ops/nn/pool.h"
#include "cpu/ops/nn/transposed_gather.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/nn/col2im.h"

namespace tessera::cpu {
namespace {

template <class T>
void Add(T& pixel, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    pixel = pixel || value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    pixel += value;
  } else {
    pixel = static_cast<T>(pixel + value);
  }
}

/// Adds one channel's columns [kernel positions, columns] to `image`. `window` describes the image as the input of a
/// sliding window and its columns as the output.
template <class T>
void AddColumns(const Window& window, const T* columns, T* image) {
  const size_t last = window.rank() - 1;
  const int64_t width = window.output[last];
  const int64_t stride = window.strides[last];
  const auto outer_columns = window.output.dims().first(last);
  PacedCancellationPoint look(1);
  ForEachIndex(window.kernel.dims(), [&](const Shape& kernel) {
    // Columns whose pixel along the last axis is inside the image.
    const int64_t shift = kernel[last] * window.dilations[last] - window.begin[last];
    const int64_t first = shift >= 0 ? 0 : CeilDiv(-shift, stride);
    const int64_t remaining = window.input[last] - shift;
    const int64_t end = remaining <= 0 ? 0 : std::min(width, CeilDiv(remaining, stride));
    CancellationPoint();
    ForEachIndex(outer_columns, [&](const Shape& column) {
      look.Pass(width + 8);
      int64_t row = 0;
      bool inside = true;
      for (size_t i = 0; i < last; ++i) {
        const int64_t pixel = column[i] * window.strides[i] + kernel[i] * window.dilations[i] - window.begin[i];
        inside = inside && pixel >= 0 && pixel < window.input[i];
        row = row * window.input[i] + pixel;
      }
      if (inside) {
        T* to = image + row * window.input[last] + shift;
        InCancellablePieces(first, end, 1, [&](int64_t x, int64_t last_x) {
          if (stride == 1) {
            for (; x < last_x; ++x) Add(to[x], columns[x]);
          } else {
            for (; x < last_x; ++x) Add(to[x * stride], columns[x]);
          }
        });
      }
      columns += width;
    });
  });
}

template <class T>
class Col2Im final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit Col2Im(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Window window = attributes_.Fit(input.shape(), context.required_input(1), context.required_input(2));
    const Shape shape = Col2ImAttributes::ResultShape(input.shape(), window);
    const int64_t planes = shape[0] * shape[1];
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    if constexpr (std::is_same_v<T, std::string>)
      StringCharge(*output, context.allocator()).Add(TextBytes(input.values<std::string>()));
    const C* in = ComputeView<T>(context, &input);
    ComputeResult<T> result(context, *output);
    if constexpr (std::is_floating_point_v<C>) {
      const TransposedProblem<C> problem{.batch = 1,
                                         .groups = 1,
                                         .channels = 0,
                                         .outputs = planes,
                                         .kernel = window.kernel.num_elements(),
                                         .columns = window.output.num_elements(),
                                         .pixels = window.input.num_elements(),
                                         .out = result.data()};
      const TransposedTables tables(context, window);
      RowGathering<C>(context, problem, tables).Run(in, 0);
    } else {
      Scatter(context, window, planes, in, result.data());
    }
    result.Finish();
  }

 private:
  /// Images of `planes` channels, whatever the type of their accumulators.
  static void Scatter(KernelContext& context, const Window& window, int64_t planes, const C* in, C* out) {
    const int64_t pixels = window.input.num_elements(),
                  columns = window.kernel.num_elements() * window.output.num_elements();
    const double cost = static_cast<double>(pixels) * 0.2 + static_cast<double>(columns) * 0.5;
    context.threads().ParallelFor(planes, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        FillCancellably(out + i * pixels, pixels, C{});
        AddColumns(window, in + i * columns, out + i * pixels);
      }
    });
  }

  Col2ImAttributes attributes_;
};

}  // namespace

void RegisterCol2Im(KernelRegistry& registry) {
  // Signed accumulators wrap like unsigned ones.
  using E = ElementType;
  registry.Add(Op("Col2Im").Types(0, kFloats).Factory(MakeTyped<Col2Im, FloatTypes>));
  registry.Add(Op("Col2Im").Types(0, {E::kInt8, E::kUInt8}).Make<Col2Im<uint8_t>>());
  registry.Add(Op("Col2Im").Types(0, {E::kInt16, E::kUInt16}).Make<Col2Im<uint16_t>>());
  registry.Add(Op("Col2Im").Types(0, {E::kInt32, E::kUInt32}).Make<Col2Im<uint32_t>>());
  registry.Add(Op("Col2Im").Types(0, {E::kInt64, E::kUInt64}).Make<Col2Im<uint64_t>>());
  registry.Add(Op("Col2Im").Types(0, {E::kBool}).Make<Col2Im<bool>>());
  registry.Add(Op("Col2Im").Types(0, {E::kString}).Make<Col2Im<std::string>>());
  registry.Add(Op("Col2Im").Types(0, {E::kComplex64}).Make<Col2Im<std::complex<float>>>());
  registry.Add(Op("Col2Im").Types(0, {E::kComplex128}).Make<Col2Im<std::complex<double>>>());
}

}  // namespace tessera::cpu
