// Pad (2-25): constant, edge, reflect, wrap; negative pads cut off. CenterCropPad (18) pads with zeros.

#include <algorithm>
#include <cstring>

#include "opencl/device/kernel.h"
#include "ops/movement/pad.h"

namespace tessera::opencl {
namespace {

class PadKernel {
 public:
  explicit PadKernel(const KernelInfo& info)
      : by_rows_(!SettingsOf(info).tiles),
        kernel_(DeviceOf(info), "pad", Moved('X', info.input_type(0)) + (by_rows_ ? Launchable::RowPieceDefines() : ""),
                by_rows_ ? "pad_rows" : "pad") {}

  void operator()(KernelContext& context, const BufferRange& x, const Tensor& y, const Strided& s, cl_int mode,
                  cl_ulong bits) {
    if (!by_rows_) return kernel_.Linear(context, y.num_elements(), x, y, s, mode, bits);
    Strided rows = s;
    if (rows.rank == 0) rows.dims[0] = rows.b[0] = rows.rank = 1;  // a scalar
    const int64_t size = rows.dims[static_cast<size_t>(rows.rank - 1)];
    if (y.num_elements() > 0) kernel_.Rows(context, size, y.num_elements() / size, x, y, rows, mode, bits);
  }

 private:
  const bool by_rows_;  // on processors
  Launchable kernel_;
};

class Pad final : public Kernel {
 public:
  explicit Pad(const KernelInfo& info) : kernel_(info), attributes_(info.node()) {
    // Of other types the value is 0: see ClaimNodes.
    if (attributes_.from_attributes && info.input_type(0) == ElementType::kFloat)
      std::memcpy(&bits_, &attributes_.value, sizeof attributes_.value);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const Tensor *given = context.input(1), *value = context.input(2), *axes = context.input(3);
    const Shape pads = given != nullptr ? HostIntegers(*given) : Shape(attributes_.pads);
    const Shape named = axes != nullptr ? HostIntegers(*axes) : Shape();
    const size_t count = axes != nullptr ? named.rank() : shape.rank();
    Require(pads.rank() == 2 * count, "there are {} pads for {} dimensions", pads.rank(), count);
    cl_ulong bits = bits_;
    if (value != nullptr) {
      Require(value->num_elements() == 1 && value->type() == x.type(),
              "the padding value is not one element of the input's type");
      bits = 0;
      std::memcpy(&bits, value->raw(), value->byte_size());
    }
    Strided s = Block(shape);
    Shape result = shape;
    bool inside = true;  // every dimension that is read has elements
    for (size_t i = 0; i < count; ++i) {
      const size_t axis = axes != nullptr ? NormalizeAxis(named[i], shape.rank()) : i;
      constexpr int64_t kMost = int64_t{1} << 40;
      Require(pads[i] > -kMost && pads[i] < kMost && pads[count + i] > -kMost && pads[count + i] < kMost,
              "a pad is too large");
      s.c[axis] = pads[i];
      result[axis] = shape[axis] + pads[i] + pads[count + i];
      Require(result[axis] >= 0, "pads cut dimension {} of {} below 0", axis, shape);
    }
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

class CenterCropPad final : public Kernel {
 public:
  explicit CenterCropPad(const KernelInfo& info)
      : kernel_(info), names_axes_(info.has_attribute("axes")), axes_(info.attribute<std::vector<int64_t>>("axes", {})) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const Shape target = HostIntegers(context.required_input(1));
    const size_t count = names_axes_ ? axes_.size() : shape.rank();
    Require(target.rank() == count, "shape has {} numbers for {} axes", target.rank(), count);
/// The attribute of early versions is a float.
std::string PaddingValueRefusal(const NodeInfo& info) {
  const PadAttributes attributes(info.node());
  const bool rounds = attributes.from_attributes && attributes.value != 0 && info.input_type(0) != ElementType::kFloat;
  return rounds ? "this padding value is left to the CPU provider" : "";
}

    Strided s = Block(shape);
    Shape result = shape;
    for (size_t i = 0; i < count; ++i) {
      const size_t axis = names_axes_ ? NormalizeAxis(axes_[i], shape.rank()) : i;
      Require(target[i] >= 0, "a target is {}", target[i]);
      result[axis] = target[i];
      s.c[axis] = target[i] >= shape[axis] ? (target[i] - shape[axis]) / 2 : -((shape[axis] - target[i]) / 2);
    }
    Tensor& y = *context.output(0, result);
                   .Unless(PaddingValueRefusal)
    std::copy(shape.begin(), shape.end(), s.b.begin());
    std::copy(result.begin(), result.end(), s.dims.begin());
    s.a = RowMajor(shape);
    kernel_(context, RangeOf(x), y, s, cl_int{0}, cl_ulong{0});
  }

 private:
  PadKernel kernel_;
  bool names_axes_;
  std::vector<int64_t> axes_;
};

}  // namespace

void RegisterPad(KernelRegistry& registry) {
  registry.Add(Op("Pad")
                   .Versions(2)
                   .Types(0, kNumbers | TypeSet{ElementType::kBool})
                   .HostInput(1)
                   .HostInput(2)
                   .HostInput(3)
                   .Make<Pad>());
  registry.Add(
      Op("CenterCropPad").Versions(18).Types(0, kNumbers | TypeSet{ElementType::kBool}).HostInput(1).Make<CenterCropPad>());
}

}  // namespace tessera::opencl
