// Transpose (1, 13, 21, 23, 24, 25): dimensions in the order of `perm`, reversed by default.

#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Transpose final : public Kernel {
 public:
  explicit Transpose(const KernelInfo& info) : reversed_(!info.has_attribute("perm")) {
    perm_ = info.attribute<std::vector<int64_t>>("perm", {});
    std::vector<bool> seen(perm_.size(), false);
    for (int64_t& axis : perm_) {
      axis = static_cast<int64_t>(NormalizeAxis(axis, perm_.size()));
      Require(!seen[static_cast<size_t>(axis)], "perm names dimension {} twice", axis);
      seen[static_cast<size_t>(axis)] = true;
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Shape& dims = data.shape();
    const size_t rank = dims.rank();
    Require(reversed_ || perm_.size() == rank, "perm has {} dimensions, the data {}", perm_.size(), rank);
    Shape shape(rank);
    Shape strides(rank);
    bool in_order = true;
    size_t last = 0;
    for (size_t i = 0; i < rank; ++i) {
      const size_t from = reversed_ ? rank - 1 - i : static_cast<size_t>(perm_[i]);
      shape[i] = dims[from];
      if (dims[from] != 1) {
        in_order &= from >= last;
        last = from;
      }
    }
    if (in_order) return context.set_output(0, data.Reshaped(shape));
    StridedCopy copy(KindOf(data.type()));
    Tensor* output = context.output(0, data.type(), shape);
    if (output->num_elements() == 0) return;
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
    for (size_t i = 0; i < rank; ++i) {
      stride /= shape[i];
      copy.Add(shape[i], strides[reversed_ ? rank - 1 - i : static_cast<size_t>(perm_[i])], stride);
    }
    copy.Run(context.threads(), data.raw(), output->mutable_raw());
  }

 private:
  const bool reversed_;
  std::vector<int64_t> perm_;
};

}  // namespace

void RegisterTranspose(KernelRegistry& registry) {
  registry.Add(Op("Transpose").Versions(1).Factory(MakeMovement<Transpose>));
}

}  // namespace tessera::cpu
