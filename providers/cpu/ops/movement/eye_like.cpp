// EyeLike (9, 22): ones on one diagonal of a matrix shaped like the input, whose data is never touched.

#include "ops/movement/eye_like.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

class EyeLike final : public Kernel {
 public:
  explicit EyeLike(const KernelInfo& info) : element_(KindOf(info.output_type(0))), attributes_(info.node()) {
    using Types = TypeList<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                           uint64_t, bool>;
    VisitType(Types{}, info.output_type(0), [&]<class T>() {
      const T one = static_cast<T>(1.0f);
      std::memcpy(one_, &one, sizeof(T));
    });
  }

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const DiagonalOfMatrix diagonal = attributes_.Diagonal(dims);
    const int64_t rows = diagonal.rows, columns = diagonal.columns, k = diagonal.k;
    Tensor* output = context.output(0, dims);
    const std::byte zeros[8] = {};
    FillParallel(context.threads(), output->mutable_raw(), zeros, output->num_elements(), element_);
    const int64_t count = std::min(rows - std::max<int64_t>(-k, 0), columns - std::max<int64_t>(k, 0));
    VisitElement(element_, [&]<class T>() {
      if constexpr (sizeof(T) <= sizeof(one_)) {
        T one;
        std::memcpy(static_cast<void*>(&one), one_, sizeof(T));
        T* first = static_cast<T*>(output->mutable_raw()) + (k > 0 ? k : -k * columns);
        PacedCancellationPoint look(5);
        for (int64_t i = 0; i < count; ++i, look.Pass()) first[i * (columns + 1)] = one;
      }
    });
  }

 private:
  const ElementKind element_;
  const EyeLikeAttributes attributes_;
  std::byte one_[8] = {};
};

}  // namespace

void RegisterEyeLike(KernelRegistry& registry) { registry.Add(Op("EyeLike").Versions(9).Make<EyeLike>()); }

}  // namespace tessera::cpu
