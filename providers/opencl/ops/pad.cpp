// Pad (2-25): constant, edge, reflect, wrap; negative pads cut off.

#include <algorithm>
#include <cstring>
#include <string>

#include "opencl/ops/pad_kernel.h"
#include "ops/movement/pad.h"

namespace tessera::opencl {
namespace {

class Pad final : public Kernel {
 public:
  explicit Pad(const KernelInfo& info) : kernel_(info), attributes_(info.node()) {
    // Of other types the value is 0: see PaddingValueRefusal.
    if (attributes_.from_attributes && info.input_type(0) == ElementType::kFloat)
      std::memcpy(&bits_, &attributes_.value, sizeof attributes_.value);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const PaddedShape padded = attributes_.Pads(shape, context.input(1), context.input(3));
    const Shape& result = padded.result;
    cl_ulong bits = bits_;
    if (const Tensor* value = context.input(2); value != nullptr) {
      Require(value->num_elements() == 1 && value->type() == x.type(),
              "the padding value is not one element of the input's type");
      bits = 0;
      std::memcpy(&bits, value->raw(), value->byte_size());
    }
    Strided s = Block(shape);
    bool inside = true;  // every dimension that is read has elements
    std::copy(padded.before.begin(), padded.before.end(), s.c.begin());
    std::copy(shape.begin(), shape.end(), s.b.begin());
    s.a = RowMajor(shape);
    BufferRange from = RangeOf(x);
    if (attributes_.mode != PadMode::kConstant)
      from.offset += static_cast<size_t>(Crop(s, result)) * static_cast<size_t>(BitWidth(x.type())) / 8;
    for (size_t i = 0; i < shape.rank(); ++i) inside &= s.b[i] > 0;
    Tensor& y = *context.output(0, result);
    Require(inside || attributes_.mode == PadMode::kConstant || y.num_elements() == 0,
            "an empty tensor has no edge to pad from");
    std::copy(result.begin(), result.end(), s.dims.begin());
    // Modes have the same numbers in pad.cl.
    kernel_(context, from, y, s, static_cast<cl_int>(attributes_.mode), bits);
  }

 private:
  /// What negative pads cut off is no edge to pad from. The first element that is left.
  static int64_t Crop(Strided& s, const Shape& result) {
    int64_t first = 0;
    for (size_t i = 0; i < static_cast<size_t>(s.rank); ++i) {
      const cl_long after = result[i] - s.b[i] - s.c[i], cut = std::max<cl_long>(-s.c[i], 0);
      s.b[i] -= cut + std::max<cl_long>(-after, 0);
      s.c[i] += cut;
      if (s.b[i] > 0) first += cut * s.a[i];
    }
    return first;
  }

  PadKernel kernel_;
  PadAttributes attributes_;
  cl_ulong bits_ = 0;
};

/// The attribute of early versions is a float.
std::string PaddingValueRefusal(const NodeInfo& info) {
  const PadAttributes attributes(info.node());
  const bool rounds = attributes.from_attributes && attributes.value != 0 && info.input_type(0) != ElementType::kFloat;
  return rounds ? "this padding value is left to the CPU provider" : "";
}

}  // namespace

void RegisterPad(KernelRegistry& registry) {
  registry.Add(Op("Pad")
                   .Versions(2)
                   .Types(0, kNumbers | TypeSet{ElementType::kBool})
                   .HostInput(1)
                   .HostInput(2)
                   .HostInput(3)
                   .Unless(PaddingValueRefusal)
                   .Make<Pad>());
}

}  // namespace tessera::opencl
