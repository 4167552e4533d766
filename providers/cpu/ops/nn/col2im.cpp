// Col2Im (18): columns of sliding blocks added back into an image. Strings are not added by anyone; bool adds as "or".

#include <complex>

#include "ops/nn/columns.h"
#include "ops/nn/float_view.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

Shape ReadShape(const Tensor& tensor, std::string_view name) {
  Require(tensor.is(ElementType::kInt64) && tensor.shape().rank() == 1 && tensor.num_elements() > 0,
          "{} must be a list of int64, it is {}", name, tensor.shape());
  const Shape shape(tensor.values<int64_t>());
  for (int64_t dim : shape) Require(dim > 0 && dim <= INT32_MAX, "{} holds {}", name, dim);
  return shape;
}

template <class T>
class Col2Im final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit Col2Im(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape image = ReadShape(context.required_input(1), "image_shape");
    const Shape block = ReadShape(context.required_input(2), "block_shape");
    const Window window = attributes_.Fit(image.dims(), block.dims());
    const int64_t positions = block.num_elements();
    Require(input.shape().rank() == 3, "the input must have 3 dimensions, it is {}", input.shape());
    Require(input.shape()[1] % positions == 0, "axis 1 of the input {} is not a multiple of the block's {} elements",
            input.shape(), positions);
    const int64_t columns = window.output.num_elements();
    Require(input.shape()[2] == columns, "the input {} has {} columns, the image has {} blocks", input.shape(),
            input.shape()[2], columns);
    const int64_t channels = input.shape()[1] / positions;
    Shape shape{input.shape()[0], channels};
    for (int64_t dim : image) shape.Append(dim);
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    const C* in = ComputeView<T>(context, &input);
    ComputeResult<T> result(context, *output);
    C* out = result.data();
    const int64_t pixels = image.num_elements();
    const double cost = static_cast<double>(pixels) * 0.2 + static_cast<double>(positions * columns) * 0.5;
    context.threads().ParallelFor(shape[0] * channels, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::fill_n(out + i * pixels, pixels, C{});
        AddColumns(window, in + i * positions * columns, out + i * pixels, [](C& pixel, const C& value) {
          if constexpr (std::is_same_v<C, bool>) {
            pixel = pixel || value;
          } else if constexpr (std::is_same_v<C, std::string>) {
            pixel += value;
          } else {
            pixel = static_cast<C>(pixel + value);
          }
        });
      }
    });
    result.Finish();
  }

 private:
  WindowAttributes attributes_;
};

}  // namespace

void RegisterCol2Im(KernelRegistry& registry) {
  // Signed sums wrap like unsigned ones.
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
