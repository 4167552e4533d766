// Bernoulli (15, 22): each element of the result is 1 with the probability that the input gives.

#include "base/check.h"
#include "cpu/ops/random/generator.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

using ResultTypes = TypeList<float, double, Float16, BFloat16, bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                             uint32_t, uint64_t>;

class Bernoulli final : public Kernel {
 public:
  explicit Bernoulli(const KernelInfo& info) : seed_(SeedOf(info)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, x.shape());
    RandomStream stream(seed_);
    VisitType(FloatTypes{}, x.type(), [&]<class P>() {
      const P* p = x.data<P>();
      VisitType(ResultTypes{}, y.type(), [&]<class T>() {
        PacedCancellationPoint look(2);  // where nothing is drawn
        for (T& element : y.mutable_values<T>()) {
          look.Pass();
          element = static_cast<T>(stream.Bernoulli(static_cast<double>(*p++)) ? 1.0f : 0.0f);
        }
      });
    });
  }

 private:
  std::optional<uint32_t> seed_;
};

}  // namespace

void RegisterBernoulli(KernelRegistry& registry) {
  registry.Add(Op("Bernoulli").Versions(15).Types(0, kFloats).OutputTypes(0, ToTypeSet(ResultTypes{})).Make<Bernoulli>());
}

}  // namespace tessera::cpu
