// Where (9, 16).

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/logical/where.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/element.h"
#include "cpu/engine/elementwise-inl.h"
#include "cpu/engine/on_texts.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class T>
void Select(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void*) {
  const uint8_t* condition = static_cast<const uint8_t*>(inputs[0]);
  const T* x = static_cast<const T*>(inputs[1]);
  const T* y = static_cast<const T*>(inputs[2]);
  T* out = static_cast<T*>(output);
  if ((advancing & 1) == 0) {
    const bool take_x = *condition != 0;
    const T* from = take_x ? x : y;
    if ((advancing >> (take_x ? 1 : 2) & 1) != 0) {
      if (from != out) std::memmove(static_cast<void*>(out), from, static_cast<size_t>(count) * sizeof(T));
    } else {
      const T value = *from;
      for (int64_t i = 0; i < count; ++i) out[i] = value;
    }
    return;
  }
  switch (count == 1 ? 3 : advancing >> 1 & 3) {
    case 0: {
      const T x_value = *x;
      const T y_value = *y;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? x_value : y_value;
      break;
    }
    case 1: {
      const T y_value = *y;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        const T x_value = x[i];
        out[i] = condition[i] != 0 ? x_value : y_value;
      }
      break;
    }
    case 2: {
      const T x_value = *x;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        const T y_value = y[i];
        out[i] = condition[i] != 0 ? x_value : y_value;
      }
      break;
    }
    default:
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        const T x_value = x[i];
        const T y_value = y[i];
        out[i] = condition[i] != 0 ? x_value : y_value;
      }
  }
}

}  // namespace

SpanLoop FindSelectLoop(size_t element_size) {
  switch (element_size) {
    case 1: return Select<uint8_t>;
    case 2: return Select<uint16_t>;
    case 4: return Select<uint32_t>;
    case 8: return Select<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(FindSelectLoop);

namespace {

template <class T>
void SelectEach(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void*) {
  const auto* condition = static_cast<const uint8_t*>(inputs[0]);
  const auto* x = static_cast<const T*>(inputs[1]);
  const auto* y = static_cast<const T*>(inputs[2]);
  auto* out = static_cast<T*>(output);
  const int64_t condition_step = advancing & 1;
  const int64_t x_step = advancing >> 1 & 1;
  const int64_t y_step = advancing >> 2 & 1;
  for (int64_t i = 0; i < count; ++i) out[i] = condition[i * condition_step] != 0 ? x[i * x_step] : y[i * y_step];
}

class Where final : public Kernel {
 public:
  explicit Where(const KernelInfo& info) : type_(MovedType(info.input_type(1))), size_(BitWidth(type_) / 8) {
    Require(MovedType(info.input_type(2)) == type_, "inputs 1 and 2 are tensor({}) and tensor({}), expected one type",
            ElementTypeName(type_), ElementTypeName(info.input_type(2)));
    loop_ = HWY_DYNAMIC_DISPATCH(FindSelectLoop)(size_);
    if (loop_ == nullptr) loop_ = SelectEach<Bits128>;
  }

  void Compute(KernelContext& context) override {
    const Tensor& condition = context.required_input(0);
    const Tensor& x = context.required_input(1);
    const Tensor& y = context.required_input(2);
    Require(condition.type() == ElementType::kBool, "input 0 is tensor({}), expected tensor(bool)",
            ElementTypeName(condition.type()));
    Require(x.type() == type_ && y.type() == type_, "inputs 1 and 2 are tensor({}) and tensor({}), expected tensor({})",
            ElementTypeName(x.type()), ElementTypeName(y.type()), ElementTypeName(type_));
    const Operand operands[] = {
        {condition.raw(), &condition.shape(), 1}, {x.raw(), &x.shape(), size_}, {y.raw(), &y.shape(), size_}};
    if (condition.shape() == x.shape() && x.shape() == y.shape()) {
      Tensor* output = context.output(0, type_, x.shape());
      if (output == nullptr) return;
      return BroadcastFlat(operands, 7, x.num_elements(), output->mutable_raw(), size_, loop_, nullptr, 0.4,
                           context.threads());
    }
    const Shape shape = BroadcastShape(BroadcastShape(condition.shape(), x.shape()), y.shape());
    Tensor* output = context.output(0, type_, shape);
    if (output == nullptr) return;
    Broadcast(operands, shape, output->mutable_raw(), size_, loop_, nullptr, 0.4, context.threads());
  }

 private:
  ElementType type_;
  size_t size_;
  SpanLoop loop_;
};

}  // namespace

void RegisterWhere(KernelRegistry& registry) {
  const TypeSet types =
      kNumbers | TypeSet{ElementType::kBool, ElementType::kString, ElementType::kComplex64, ElementType::kComplex128};
  registry.Add(Op("Where").Versions(9).Types(1, types).Types(2, types).InPlace(1, 0).InPlace(2, 0).Factory(
      [](const KernelInfo& info) { return OnTexts(info, std::make_unique<Where>(info)); }));
}

}  // namespace tessera::cpu
#endif
