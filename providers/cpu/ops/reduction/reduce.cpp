// ReduceSum, ReduceMean, ReduceProd, ReduceMax, ReduceMin, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum,
// ReduceLogSumExp: versions 1, 11, 12, 13, 18, 20, 28. Axes are an attribute before version 18 (13 for ReduceSum), then an
// input.

#include "cpu/engine/reduce.h"

#include <cmath>

#include "cpu/engine/convert_row.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// What becomes of a folded value.
enum class Finish : int8_t { kNone, kMean, kSqrt, kLog };

/// A double as T; integers saturate, and NaN becomes the lowest.
template <class T>
T FromDouble(double value) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (!(value > static_cast<double>(Limits::lowest()))) return Limits::lowest();
    return value >= static_cast<double>(Limits::max()) ? Limits::max() : static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class T, class W>
void StoreMean(const W* values, int64_t count, int64_t reduced, T* out) {
  if constexpr (std::is_integral_v<T>) {
    using Long = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    for (int64_t i = 0; i < count; ++i) {
      out[i] =
          reduced == 0 ? T{0} : static_cast<T>(static_cast<Long>(static_cast<T>(values[i])) / static_cast<Long>(reduced));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(values[i] / static_cast<double>(reduced));
  }
}

/// Sums of integers wrap to T before they are finished; floats keep their wide sums up to the end.
template <class T, class W>
void StoreFolded(Finish finish, const W* values, int64_t count, int64_t reduced, T* out) {
  using Whole = std::conditional_t<std::is_integral_v<T>, T, W>;
  const auto whole = [](W value) { return static_cast<double>(static_cast<Whole>(value)); };
  switch (finish) {
    case Finish::kNone:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(values[i]);
      break;
    case Finish::kMean: StoreMean(values, count, reduced, out); break;
    case Finish::kSqrt:
      for (int64_t i = 0; i < count; ++i) out[i] = FromDouble<T>(std::sqrt(whole(values[i])));
      break;
    case Finish::kLog:
      for (int64_t i = 0; i < count; ++i) out[i] = FromDouble<T>(std::log(whole(values[i])));
      break;
  }
}

class Reduce : public Kernel {
 public:
  explicit Reduce(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) final {
    const Tensor& data = context.required_input(0);
    std::span<const int64_t> axes = attributes_.axes;
    if (const Tensor* input = context.input(1)) {
      Require(input->is(ElementType::kInt64), "axes are {}, int64 is expected", ElementTypeName(input->type()));
      axes = input->values<int64_t>();
    }
    const Shape reduced = attributes_.Reduced(data.shape(), axes);
    Tensor* out = context.output(0, ReducedShape(data.shape(), reduced, attributes_.keepdims));
    if (out == nullptr || out->num_elements() == 0) return;
    Run(context, Reduction(data.shape(), reduced), data, *out);
  }

 protected:
  virtual void Run(KernelContext& context, const Reduction& reduction, const Tensor& data, Tensor& out) const = 0;

 private:
  ReduceAttributes attributes_;
};

/// Unsigned sums and products are the signed ones' bits.
template <class T>
struct WrapAs {
  using Type = T;
};
template <>
struct WrapAs<uint32_t> {
  using Type = int32_t;
};
template <>
struct WrapAs<uint64_t> {
  using Type = int64_t;
};

/// One fold, then an elementwise end.
template <class T>
class ReduceFold final : public Reduce {
 public:
  ReduceFold(const KernelInfo& info, Fold fold, Finish finish) : Reduce(info), fold_(fold), finish_(finish) {
    if (std::is_unsigned_v<T> && fold_ == Fold::kSumAbs) fold_ = Fold::kSum;
  }

 protected:
  void Run(KernelContext& context, const Reduction& reduction, const Tensor& data, Tensor& out) const override {
    using S = typename WrapAs<T>::Type;
    T* y = out.mutable_data<T>();
    FoldTensor<S, ComputeType<S>>(context, reduction, fold_, static_cast<const S*>(data.raw()), nullptr,
                                  [&](int64_t first, const Wide<ComputeType<S>>* values, int64_t count) {
                                    StoreFolded(finish_, values, count, reduction.reduced, y + first);
                                  });
  }

 private:
  Fold fold_;
  Finish finish_;
};

/// Maximum and minimum. T is the storage type: uint8_t for bool.
template <class T, bool is_bool = false>
class ReduceExtreme final : public Reduce {
 public:
  ReduceExtreme(const KernelInfo& info, Fold fold) : Reduce(info), fold_(fold) {}

 protected:
  void Run(KernelContext& context, const Reduction& reduction, const Tensor& data, Tensor& out) const override {
    T* y = static_cast<T*>(out.mutable_raw());
    FoldTensor<T, ComputeType<T>>(context, reduction, fold_, static_cast<const T*>(data.raw()), nullptr,
                                  [&](int64_t first, const Wide<ComputeType<T>>* values, int64_t count) {
                                    for (int64_t i = 0; i < count; ++i) {
                                      if constexpr (is_bool) {
                                        y[first + i] = static_cast<T>(values[i] != 0);
                                      } else {
                                        y[first + i] = static_cast<T>(values[i]);
                                      }
                                    }
                                  });
  }

 private:
  Fold fold_;
};

/// log(sum(exp(x))), shifted by the maximum so that nothing overflows.
template <class T>
class ReduceLogSumExp final : public Reduce {
 public:
  using Reduce::Reduce;

 protected:
  void Run(KernelContext& context, const Reduction& reduction, const Tensor& data, Tensor& out) const override {
    using C = std::conditional_t<std::is_integral_v<T>, double, ComputeType<T>>;
    const T* x = data.data<T>();
    T* y = out.mutable_data<T>();
    const std::span<C> shift = context.scratch<C>(static_cast<size_t>(reduction.outputs));
    FoldTensor<T, C>(context, reduction, Fold::kMax, x, nullptr, [&](int64_t first, const Wide<C>* values, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        shift[static_cast<size_t>(first + i)] = std::isfinite(values[i]) ? static_cast<C>(values[i]) : C{0};
      }
    });
    FoldTensor<T, C>(context, reduction, Fold::kSumExp, x, shift.data(),
                     [&](int64_t first, const Wide<C>* values, int64_t count) {
                       for (int64_t i = 0; i < count; ++i) {
                         y[first + i] = FromDouble<T>(std::log(values[i]) + shift[static_cast<size_t>(first + i)]);
                       }
                     });
  }
};

using ReduceTypes = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>;

template <Fold fold, Finish finish>
std::unique_ptr<Kernel> MakeFold(const KernelInfo& info) {
  return VisitType(ReduceTypes{}, info.input_type(0), [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<ReduceFold<T>>(info, fold, finish);
  });
}

template <Fold fold>
std::unique_ptr<Kernel> MakeExtreme(const KernelInfo& info) {
  if (info.input_type(0) == ElementType::kBool) return std::make_unique<ReduceExtreme<uint8_t, true>>(info, fold);
  using Types = TypeList<float, double, Float16, BFloat16, int8_t, uint8_t, int32_t, int64_t, uint32_t, uint64_t>;
  return VisitType(Types{}, info.input_type(0),
                   [&]<class T>() -> std::unique_ptr<Kernel> { return std::make_unique<ReduceExtreme<T>>(info, fold); });
}

void Add(KernelRegistry& registry, const char* op, KernelFactory factory, TypeSet types = ToTypeSet(ReduceTypes{})) {
  registry.Add(Op(op).Types(0, types).HostInput(1).Factory(factory));
}

}  // namespace

void RegisterReduceSum(KernelRegistry& registry) { Add(registry, "ReduceSum", MakeFold<Fold::kSum, Finish::kNone>); }
void RegisterReduceMean(KernelRegistry& registry) { Add(registry, "ReduceMean", MakeFold<Fold::kSum, Finish::kMean>); }
void RegisterReduceProd(KernelRegistry& registry) { Add(registry, "ReduceProd", MakeFold<Fold::kProd, Finish::kNone>); }
void RegisterReduceL1(KernelRegistry& registry) { Add(registry, "ReduceL1", MakeFold<Fold::kSumAbs, Finish::kNone>); }
void RegisterReduceL2(KernelRegistry& registry) { Add(registry, "ReduceL2", MakeFold<Fold::kSumSquare, Finish::kSqrt>); }
void RegisterReduceSumSquare(KernelRegistry& registry) {
  Add(registry, "ReduceSumSquare", MakeFold<Fold::kSumSquare, Finish::kNone>);
}
void RegisterReduceLogSum(KernelRegistry& registry) { Add(registry, "ReduceLogSum", MakeFold<Fold::kSum, Finish::kLog>); }
void RegisterReduceLogSumExp(KernelRegistry& registry) {
  Add(registry, "ReduceLogSumExp", MakeTyped<ReduceLogSumExp, ReduceTypes>);
}
void RegisterReduceMax(KernelRegistry& registry) {
  const TypeSet types = ToTypeSet(ReduceTypes{}) | TypeSet{ElementType::kInt8, ElementType::kUInt8, ElementType::kBool};
  Add(registry, "ReduceMax", MakeExtreme<Fold::kMax>, types);
}
void RegisterReduceMin(KernelRegistry& registry) {
  const TypeSet types = ToTypeSet(ReduceTypes{}) | TypeSet{ElementType::kInt8, ElementType::kUInt8, ElementType::kBool};
  Add(registry, "ReduceMin", MakeExtreme<Fold::kMin>, types);
}

}  // namespace tessera::cpu
