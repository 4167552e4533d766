// Tile (1: count and axis as tensors of the data's type; 6, 13: repeats per dimension).

#include "ops/movement/tile.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// The first form gives integers as floating point numbers; whatever the type, one element.
int64_t ScalarOf(const Tensor& tensor, const char* what) {
  Require(tensor.num_elements() == 1, "{} has {} elements, expected one", what, tensor.num_elements());
  if (tensor.is(ElementType::kInt64) || tensor.is(ElementType::kInt32)) return ScalarInteger(tensor, what);
  const double value =
      VisitType(FloatTypes{}, tensor.type(), [&]<class T>() { return static_cast<double>(*tensor.data<T>()); });
  Require(value >= -1e9 && value <= 1e9, "{} is {}", what, value);
  return static_cast<int64_t>(value);
}

class Tile final : public Kernel {
 public:
  explicit Tile(const KernelInfo& info) : single_axis_(info.since_version() < 6) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const size_t rank = dims.rank();
    Shape repeats(rank, 1);
    if (single_axis_ && context.num_inputs() > 2) {
      repeats[NormalizeAxis(ScalarOf(context.required_input(2), "axis"), rank)] =
          ScalarOf(context.required_input(1), "tiles");
    } else {
      repeats = RepeatsOf(dims, context.required_input(1));
    }
    const Shape shape = TiledShape(dims, repeats);
    if (std::ranges::all_of(repeats, [](int64_t repeat) { return repeat == 1; })) return context.set_output(0, input);
    Tensor* output = context.output(0, input.type(), shape);
    int64_t dst_stride = output->num_elements(), src_stride = input.num_elements();
    if (dst_stride == 0) return;
    StridedCopy copy(KindOf(input.type()));
    for (size_t i = 0; i < rank; ++i) {
      src_stride /= dims[i];
      dst_stride /= repeats[i];
      copy.Add(repeats[i], 0, dst_stride);
      dst_stride /= dims[i];
      copy.Add(dims[i], src_stride, dst_stride);
    }
    copy.Run(context.threads(), input.raw(), output->mutable_raw());
  }

 private:
  const bool single_axis_;
};

}  // namespace

void RegisterTile(KernelRegistry& registry) { registry.Add(Op("Tile").Versions(1).Factory(MakeMovement<Tile>)); }

}  // namespace tessera::cpu
