// TopK (1-24). A few elements are found one after the other; for more, positions are sorted.

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/device/scratch.h"
#include "ops/reduction/top_k.h"

namespace tessera::opencl {
namespace {

constexpr size_t kTopKLanes = 64;
constexpr int64_t kFew = 16;

class TopK final : public Kernel {
 public:
  explicit TopK(const KernelInfo& info)
      : defines_(Computed('X', info.input_type(0))),
        choose_(DeviceOf(info), "top_k", defines_ + fmt::format("#define LANES {}\n", kTopKLanes), "choose"),
        number_(DeviceOf(info), "top_k", defines_, "number"),
        exchange_(DeviceOf(info), "top_k", defines_, "exchange"),
        gather_top_(DeviceOf(info), "top_k", defines_, "gather_top"),
        attributes_(info.node()),
        largest_(attributes_.largest) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = NormalizeAxis(attributes_.axis, x.shape().rank());
    const int64_t n = x.shape()[axis], stride = x.shape().SizeOfRange(axis + 1, x.shape().rank());
    const int64_t k = attributes_.Count(context.input(1), n);
    Shape shape = x.shape();
    shape[axis] = k;
    const Tensor *values = context.output(0, shape), *indices = context.output(1, shape);
    if (shape.num_elements() == 0) return;
    const int64_t num_rows = x.num_elements() / n;
    if (k <= kFew) return Choose(context, x, values, indices, n, stride, k);
    Require(n < (int64_t{1} << 30), "an axis of {} elements is too long to sort", n);
    const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
    const int64_t positions = CheckedMul(num_rows, padded);
    const DeviceScratch order(context, static_cast<size_t>(CheckedMul<int64_t>(positions, sizeof(cl_int))));
    number_.Linear(context, positions, order.range(), cl_long{padded});
    for (int64_t run = 2; run <= padded; run *= 2) {
      for (int64_t apart = run / 2; apart > 0; apart /= 2) {
        exchange_.Linear(context, positions / 2, x, order.range(), cl_long{n}, cl_long{stride}, cl_long{padded},
                         cl_long{run}, cl_long{apart}, largest_);
      }
    }
    gather_top_.Linear(context, shape.num_elements(), x, order.range(), values, indices, cl_long{n}, cl_long{stride},
                       cl_long{padded}, cl_long{k});
  }

 private:
  /// Long lines by several groups each, whose results another looks through.
  void Choose(KernelContext& context, const Tensor& x, const Tensor* values, const Tensor* indices, int64_t n,
              int64_t stride, int64_t k) {
    const int64_t rows = x.num_elements() / n, length = std::max(kSlice, CeilDiv(n, kMostSlices)),
                  slices = n < 2 * kSlice ? 1 : CeilDiv(n, length);
    const BufferRange none;
    const auto launch = [&](int64_t of_row, BufferRange candidates, BufferRange chosen, const Tensor* y, const Tensor* at,
                            int64_t count) {
      choose_.Groups(context, CheckedMul(rows, of_row), kTopKLanes, x, candidates, chosen, y, at, cl_long{n},
                     cl_long{stride}, cl_long{k}, largest_, cl_long{of_row}, cl_long{of_row == 1 ? n : length},
                     cl_long{count});
    };
    if (slices == 1) return launch(1, none, none, values, indices, n);
    const int64_t count = slices * k;
    const DeviceScratch chosen(context, static_cast<size_t>(CheckedMul<int64_t>(CheckedMul(rows, count), sizeof(cl_long))));
    launch(slices, none, chosen.range(), nullptr, nullptr, n);
    launch(1, chosen.range(), none, values, indices, count);
  }

  /// Elements of a line that one group looks through, and how many groups a line has at most.
  static constexpr int64_t kSlice = 4096, kMostSlices = 1024;

  std::string defines_;
  Launchable choose_, number_, exchange_, gather_top_;
  TopKAttributes attributes_;
  cl_int largest_;
};

}  // namespace

void RegisterTopK(KernelRegistry& registry) {
  registry.Add(Op("TopK").Versions(1).Types(0, kNumbers).HostInput(1).Make<TopK>());
}

}  // namespace tessera::opencl
