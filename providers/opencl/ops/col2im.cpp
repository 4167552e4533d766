// Col2Im (18): columns of sliding blocks added back into an image of one to three dimensions.

#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

Shape Sizes(const Tensor& tensor, std::string_view name) {
  const Shape sizes = HostIntegers(tensor);
  Require(sizes.rank() > 0, "{} is empty", name);
  for (const int64_t size : sizes) Require(size > 0 && size <= INT32_MAX, "{} holds {}", name, size);
  return sizes;
}

class Col2Im final : public Kernel {
 public:
  explicit Col2Im(const KernelInfo& info)
      : kernel_(DeviceOf(info), "col2im", Defines(info.input_type(0)), "col2im"), window_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape image = Sizes(context.required_input(1), "image_shape"),
                block = Sizes(context.required_input(2), "block_shape");
    const Window window = window_.Fit(image.dims(), block.dims());
    const int64_t taps = block.num_elements(), columns = window.output.num_elements();
    const Shape& xs = x.shape();
    Require(xs.rank() == 3 && xs[1] % taps == 0 && xs[2] == columns,
            "the input is {}, [batch, channels * {}, {}] is expected for blocks {} of an image {}", xs, taps, columns,
            block, image);
std::string ImageRankRefusal(const NodeInfo& info) {
  const auto& sizes = info.input_info(1).shape;
  const bool known = sizes && sizes->size() == 1 && (*sizes)[0].known() && (*sizes)[0].value >= 1 && (*sizes)[0].value <= 3;
  return known ? "" : "images of one to three dimensions are put together on the device";
}

    Shape result{xs[0], xs[1] / taps};
    for (const int64_t size : image) result.Append(size);
    const Tensor& y = *context.output(0, result);
    kernel_.Linear(context, y.num_elements(), x, y, GeometryOf(window));
  }

 private:
  static std::string Defines(ElementType type) {
    return Computed('X', type) + (kReals.contains(type) ? "#define SUM TX\n" : "#define SUM WX\n");
  }

  Launchable kernel_;
  WindowAttributes window_;
};

}  // namespace

void RegisterCol2Im(KernelRegistry& registry) {
  registry.Add(
      Op("Col2Im").Versions(18).Types(0, kNumbers).HostInput(1).HostInput(2).Unless(ImageRankRefusal).Make<Col2Im>());
}

}  // namespace tessera::opencl
