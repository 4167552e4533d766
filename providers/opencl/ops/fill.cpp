// ConstantOfShape (9-25), Range (11), Trilu (14), OneHot (9-28), EyeLike (9, 22).

#include <algorithm>
#include <cstring>

#include "opencl/device/kernel.h"
#include "ops/movement/constant_of_shape.h"
#include "ops/movement/eye_like.h"
#include "ops/movement/one_hot.h"
#include "ops/movement/range.h"
#include "ops/movement/trilu.h"

namespace tessera::opencl {
namespace {

class ConstantOfShape final : public Kernel {
 public:
  explicit ConstantOfShape(const KernelInfo& info)
      : kernel_(DeviceOf(info), "fill", Moved('X', info.output_type(0)), "fill") {
    const Tensor value = ConstantOfShapeAttributes(info.node()).value;
    Require(value.byte_size() <= sizeof bits_, "the value has {} bytes, at most {} are expected", value.byte_size(),
            sizeof bits_);
    std::memcpy(&bits_, value.raw(), value.byte_size());
  }

  void Compute(KernelContext& context) override {
    Tensor& y = *context.output(0, ConstantOfShapeAttributes::ResultShape(context.required_input(0)));
    kernel_.Linear(context, y.num_elements(), y, bits_);
  }

 private:
  Launchable kernel_;
  cl_ulong bits_ = 0;
};

/// Integers step in longs, each other type in itself.
template <class T, class Step>
class Range final : public Kernel {
 public:
  explicit Range(const KernelInfo& info)
      : kernel_(
            DeviceOf(info), "fill",
            Computed('X', info.output_type(0)) + fmt::format("#define STEP {}\n", std::is_same_v<Step, cl_long> ? "long"
                                                                                  : std::is_same_v<Step, float> ? "float"
                                                                                                                : "double"),
            "range") {}

  void Compute(KernelContext& context) override {
    const RangeBounds<T> bounds(context.required_input(0), context.required_input(1), context.required_input(2));
    Tensor& y = *context.output(0, Shape{bounds.Count()});
    kernel_.Linear(context, y.num_elements(), y, static_cast<Step>(bounds.start), static_cast<Step>(bounds.delta));
  }

 private:
  Launchable kernel_;
};

class Trilu final : public Kernel {
 public:
  explicit Trilu(const KernelInfo& info)
      : kernel_(DeviceOf(info), "fill", Moved('X', info.input_type(0)), "triangle"),
        upper_(TriluAttributes(info.node()).upper) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto [rows, columns, k] = TriluAttributes::Diagonal(x.shape(), context.input(1));
    Tensor& y = *context.output(0, x.shape());
    kernel_.Linear(context, y.num_elements(), x, y, cl_long{rows}, cl_long{columns}, cl_long{k},
                   static_cast<cl_int>(upper_));
  }

 private:
  Launchable kernel_;
  bool upper_;
};

class OneHot final : public Kernel {
 public:
  explicit OneHot(const KernelInfo& info)
      : kernel_(DeviceOf(info), "fill", Moved('X', info.input_type(2)) + Computed('I', info.input_type(0)), "one_hot"),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& indices = context.required_input(0);
    const Tensor& values = context.required_input(2);
    const Shape& dims = indices.shape();
    const int64_t depth = Depth(context.required_input(1));
    const size_t axis = attributes_.Axis(dims, depth, values.shape());
    Tensor& y = *context.output(0, OneHotAttributes::ResultShape(dims, depth, axis));
    kernel_.Linear(context, y.num_elements(), indices, values, y, cl_long{depth},
                   cl_long{dims.SizeOfRange(axis, dims.rank())}, cl_int{attributes_.wraps});
  }

 private:
  static int64_t Depth(const Tensor& tensor) {
    Require(tensor.num_elements() == 1, "depth has {} elements, expected one", tensor.num_elements());
    if (!kReals.contains(tensor.type())) return HostIntegers(tensor.Reshaped(Shape{1}))[0];
    const double depth = tensor.is(ElementType::kFloat) ? tensor.data<float>()[0] : tensor.data<double>()[0];
    Require(depth > -1 && depth < 0x1p62, "depth is {}", depth);
    return static_cast<int64_t>(depth);
  }

  Launchable kernel_;
  OneHotAttributes attributes_;
};

class EyeLike final : public Kernel {
 public:
  explicit EyeLike(const KernelInfo& info)
      : kernel_(DeviceOf(info), "fill", Computed('X', info.output_type(0)), "diagonal"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const DiagonalOfMatrix diagonal = attributes_.Diagonal(dims);
    Tensor& y = *context.output(0, dims);
    kernel_.Linear(context, y.num_elements(), y, cl_long{diagonal.columns}, cl_long{diagonal.k});
  }

 private:
  Launchable kernel_;
  EyeLikeAttributes attributes_;
};

template <class T, class Step>
void AddRange(KernelRegistry& registry) {
  const TypeSet type = {ElementTypeOf<T>};
  registry.Add(Op("Range").Versions(11).Types(0, type).HostInput(0).HostInput(1).HostInput(2).Make<Range<T, Step>>());
}

}  // namespace

void RegisterFill(KernelRegistry& registry) {
  registry.Add(Op("ConstantOfShape").Versions(9).OutputTypes(0, kMovable).HostInput(0).Make<ConstantOfShape>());
  AddRange<float, float>(registry);
  AddRange<double, double>(registry);
  AddRange<int16_t, cl_long>(registry);
  AddRange<int32_t, cl_long>(registry);
  AddRange<int64_t, cl_long>(registry);
  registry.Add(Op("Trilu").Versions(14).Types(0, kMovable).HostInput(1).Make<Trilu>());
  constexpr TypeSet kDepths = {ElementType::kInt32, ElementType::kInt64, ElementType::kFloat, ElementType::kDouble};
  registry.Add(
      Op("OneHot").Versions(9).Types(0, kNumbers).Types(1, kDepths).Types(2, kMovable).HostInput(1).Make<OneHot>());
  constexpr TypeSet kMade = kNumbers | TypeSet{ElementType::kBool};
  registry.Add(Op("EyeLike").Versions(9).OutputTypes(0, kMade).Make<EyeLike>());
}

}  // namespace tessera::opencl
