// com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization (1).

#include <algorithm>

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

constexpr size_t kSkipLanes = 64;

class SkipNormalization final : public Kernel {
 public:
  explicit SkipNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "skip_layer_normalization",
                Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kSkipLanes), "skip_normalize"),
        epsilon_(info.attribute<float>("epsilon", 1e-12f)),
        center_(info.node().op_type == "SkipLayerNormalization") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& skip = context.required_input(1);
    const Shape& shape = x.shape();
    Require(shape.rank() == 2 || shape.rank() == 3, "the input is {}; 2 or 3 dimensions are expected", shape);
    const int64_t width = shape.back(), rows = shape.SizeOfRange(0, shape.rank() - 1),
                  skip_rows = SkipRows(shape, skip.shape());
    const Tensor &gamma = context.required_input(2), *beta = center_ ? context.input(3) : nullptr,
                 *bias = context.input(center_ ? 4 : 3);
    for (const Tensor* parameter : {&gamma, beta, bias}) {
      Require(parameter == nullptr || (parameter->num_elements() == width && parameter->type() == x.type()),
              "a parameter of a row is {}; [{}] is expected", OptionalShape{parameter}, width);
    }
    Shape reduced = shape;
    reduced[shape.rank() - 1] = 1;
    const Tensor& y = *context.output(0, shape);
    const Tensor *mean = context.output(1, reduced), *inverse = context.output(2, reduced), *sum = context.output(3, shape);
    if (x.num_elements() == 0) return;
    kernel_.Groups(context, rows, kSkipLanes, x, skip, gamma, beta, bias, y, mean, inverse, sum, cl_long{width},
                   cl_long{skip_rows}, epsilon_, center_);
  }

 private:
  /// How many rows the residual has; they repeat.
  static int64_t SkipRows(const Shape& x, const Shape& skip) {
    const size_t rank = x.rank(), skipped = rank - std::min(rank, skip.rank());
    const bool fits = skip.rank() >= 2 && skip.rank() <= rank &&
                      std::equal(skip.begin() + 1, skip.end(), x.begin() + skipped + 1) &&
                      (skip[0] == x[skipped] || (rank == 3 && skip.rank() == 3 && skip[0] == 1));
    Require(fits, "skip is {} for an input {}", skip, x);
    return std::max<int64_t>(skip.SizeOfRange(0, skip.rank() - 1), 1);
  }

  Launchable kernel_;
  float epsilon_;
  cl_int center_;
};

}  // namespace

void RegisterSkipNormalization(KernelRegistry& registry) {
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    registry.Add(Op(op, "com.microsoft").Types(0, kReals).Make<SkipNormalization>());
  }
}

}  // namespace tessera::opencl
