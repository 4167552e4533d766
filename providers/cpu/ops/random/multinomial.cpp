// Multinomial (7, 22): draws classes by their unnormalized log-probabilities, by inversion of the cumulative sum.

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "cpu/ops/random/generator.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

class Multinomial final : public Kernel {
 public:
  explicit Multinomial(const KernelInfo& info) : samples_(info.attribute<int64_t>("sample_size", 1)), seed_(SeedOf(info)) {
    Require(samples_ > 0, "sample_size is {}, expected at least 1", samples_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.shape().rank() == 2 && x.shape()[1] > 0, "the input is {}; [batch, classes] is expected", x.shape());
    const int64_t batch = x.shape()[0], classes = x.shape()[1];
    Tensor& y = *context.output(0, Shape{batch, samples_});
    auto cumulative = context.scratch<double>(static_cast<size_t>(classes));
    RandomStream stream(seed_);
    PacedCancellationPoint look(10);
    for (int64_t row = 0; row < batch; ++row) {
      VisitType(FloatTypes{}, x.type(), [&]<class T>() {
        const T* logits = x.data<T>() + row * classes;
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t i = 0; i < classes; ++i, look.Pass()) top = std::max(top, static_cast<double>(logits[i]));
        for (int64_t i = 0; i < classes; ++i, look.Pass()) {
          sum += std::isfinite(top) ? std::exp(static_cast<double>(logits[i]) - top) : 1.0;
          cumulative[static_cast<size_t>(i)] = sum;
        }
      });
      for (int64_t i = 0; i < samples_; ++i) {
        const double drawn = stream.Uniform() * cumulative.back();
        const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), drawn);
        const auto index = std::min<int64_t>(found - cumulative.begin(), classes - 1);
        if (y.is(ElementType::kInt64)) {
          y.mutable_data<int64_t>()[row * samples_ + i] = index;
        } else {
          y.mutable_data<int32_t>()[row * samples_ + i] = static_cast<int32_t>(index);
        }
      }
    }
  }

 private:
  int64_t samples_;
  std::optional<uint32_t> seed_;
};

}  // namespace

void RegisterMultinomial(KernelRegistry& registry) {
  registry.Add(Op("Multinomial")
                   .Versions(7)
                   .Types(0, kFloats)
                   .OutputTypes(0, {ElementType::kInt32, ElementType::kInt64})
                   .Make<Multinomial>());
}

}  // namespace tessera::cpu
