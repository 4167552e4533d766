// StringConcat (20): elementwise with broadcasting.

#include <algorithm>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/string_memory.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

class StringConcat final : public Kernel {
 public:
  explicit StringConcat(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    Shape result(std::max(a.shape().rank(), b.shape().rank()), 1);
    for (const Shape* shape : {&a.shape(), &b.shape()}) {
      for (size_t i = 0; i < shape->rank(); ++i) {
        int64_t& dim = result[result.rank() - shape->rank() + i];
        const int64_t own = (*shape)[i];
        Require(own == 1 || dim == 1 || own == dim, "shapes {} and {} do not broadcast", a.shape(), b.shape());
        if (own != 1) dim = own;
      }
    }
    Tensor& y = *context.output(0, result);
    StringCharge(y, context.allocator()).Add(SumOfBytes(a, b, result));
    auto out = y.mutable_values<std::string>();
    PacedCancellationPoint look(50);
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      out[static_cast<size_t>(i)] =
          a.data<std::string>()[Source(i, a.shape(), result)] + b.data<std::string>()[Source(i, b.shape(), result)];
      look.Pass(1 + static_cast<int64_t>(out[static_cast<size_t>(i)].size() / 256));
    }
  }

 private:
  /// What the results take. Sizes that no memory holds stay that large.
  static size_t SumOfBytes(const Tensor& a, const Tensor& b, const Shape& result) {
    constexpr size_t kMost = size_t{1} << 62;
    size_t sum = 0;
    PacedCancellationPoint look(20);
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      look.Pass();
      sum += TextBytes(a.data<std::string>()[Source(i, a.shape(), result)].size() +
                       b.data<std::string>()[Source(i, b.shape(), result)].size());
      sum = std::min(sum, kMost);
    }
    return sum;
  }

  /// The element of an operand of `shape` behind element `i` of the result.
  static int64_t Source(int64_t i, const Shape& shape, const Shape& result) {
    int64_t at = 0, stride = 1;
    for (size_t back = 0; back < result.rank(); ++back) {
      const int64_t dim = result[result.rank() - 1 - back], index = i % dim;
      i /= dim;
      if (back >= shape.rank()) continue;
      const int64_t own = shape[shape.rank() - 1 - back];
      if (own != 1) at += index * stride;
      stride *= own;
    }
    return at;
  }
};

}  // namespace

void RegisterStringConcat(KernelRegistry& registry) {
  registry.Add(Op("StringConcat").Versions(20).Types(0, {ElementType::kString}).Make<StringConcat>());
}

}  // namespace tessera::cpu
