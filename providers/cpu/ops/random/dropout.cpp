// Dropout (1, 6, 7, 10, 12, 13, 22). Up to version 10 it is the identity of inference (versions 1 and 6 where is_test or
// always: their training form needs a generator that the specification does not name); from 12 on training_mode is an
// input.

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "cpu/engine/cast.h"
#include "cpu/ops/random/generator.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

class Dropout final : public Kernel {
 public:
  explicit Dropout(const KernelInfo& info) : has_inputs_(info.since_version() >= 12), seed_(SeedOf(info)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const bool training = has_inputs_ && context.input(2) != nullptr && Scalar<bool>(*context.input(2));
    const double ratio = has_inputs_ ? Ratio(context.input(1)) : 0.0;
    Tensor& y = *context.output(0, x.shape());
    Tensor* mask = context.has_output(1) ? context.output(1, x.shape()) : nullptr;
    if (!training || ratio == 0.0) {
      if (y.raw() != x.raw()) CopyBytesCancellably(y.mutable_raw(), x.raw(), x.byte_size());
      if (mask != nullptr) FillMask(*mask);
      return;
    }
    const auto values = context.scratch<double>(static_cast<size_t>(x.num_elements()));
    ElementCast(x.type(), ElementType::kDouble).Run(x.raw(), 0, values.data(), 0, x.num_elements());
    RandomStream stream(seed_);
    bool* kept = mask != nullptr ? mask->mutable_data<bool>() : nullptr;
    const double scale = 1.0 / (1.0 - ratio);
    for (size_t i = 0; i < values.size(); ++i) {
      const bool keep = stream.Uniform() >= ratio;
      values[i] = keep ? values[i] * scale : 0.0;
      if (kept != nullptr) kept[i] = keep;
    }
    ElementCast(ElementType::kDouble, x.type()).Run(values.data(), 0, y.mutable_raw(), 0, x.num_elements());
  }

 private:
  template <class T>
  static T Scalar(const Tensor& tensor) {
    Require(tensor.num_elements() == 1 && tensor.is(ElementTypeOf<T>), "training_mode is {} {}, expected one bool",
            ElementTypeName(tensor.type()), tensor.shape());
    return tensor.data<T>()[0];
  }

  static double Ratio(const Tensor* tensor) {
    if (tensor == nullptr) return 0.5;
    Require(tensor->num_elements() == 1, "ratio is {}, expected one number", tensor->shape());
    double ratio = 0;
    ElementCast(tensor->type(), ElementType::kDouble).Run(tensor->raw(), 0, &ratio, 0, 1);
    Require(ratio >= 0 && ratio < 1, "ratio is {}, expected at least 0 and below 1", ratio);
    return ratio;
  }

  /// Versions before 10 give the mask in the input's type.
  static void FillMask(Tensor& mask) {
    if (mask.is(ElementType::kBool)) {
      FillCancellably(mask.mutable_data<bool>(), mask.num_elements(), true);
      return;
    }
    VisitType(FloatTypes{}, mask.type(),
              [&]<class T>() { FillCancellably(mask.mutable_data<T>(), mask.num_elements(), static_cast<T>(1.0f)); });
  }

  bool has_inputs_;
  std::optional<uint32_t> seed_;
};

}  // namespace

void RegisterDropout(KernelRegistry& registry) { registry.Add(Op("Dropout").Versions(1).InPlace(0, 0).Make<Dropout>()); }

}  // namespace tessera::cpu
