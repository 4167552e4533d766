// RandomNormal, RandomNormalLike, RandomUniform, RandomUniformLike (1, 22).

#include "base/check.h"
#include "cpu/ops/random/generator.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
class RandomFill final : public Kernel {
 public:
  explicit RandomFill(const KernelInfo& info)
      : like_(info.node().op_type.ends_with("Like")),
        normal_(info.node().op_type.starts_with("RandomNormal")),
        seed_(SeedOf(info)),
        // mean and scale, or low and width
        offset_(info.attribute<float>(normal_ ? "mean" : "low", 0.0f)),
        scale_(normal_ ? info.attribute<float>("scale", 1.0f) : info.attribute<float>("high", 1.0f) - offset_) {
    if (!like_) shape_ = Shape(std::span<const int64_t>(info.attribute<std::vector<int64_t>>("shape")));
  }

  void Compute(KernelContext& context) override {
    Tensor& y = *context.output(0, like_ ? context.required_input(0).shape() : shape_);
    RandomStream stream(seed_);
    for (T& element : y.mutable_values<T>()) {
      const double value = normal_ ? stream.Normal() : stream.Uniform();
      element = static_cast<T>(value * scale_ + offset_);
    }
  }

 private:
  bool like_, normal_;
  std::optional<uint32_t> seed_;
  double offset_, scale_;
  Shape shape_;
};

/// The result's type: attribute dtype, the input's type for the Like forms, float otherwise.
std::unique_ptr<Kernel> MakeRandomFill(const KernelInfo& info) {
  const bool like = info.node().op_type.ends_with("Like");
  const auto fallback = like ? info.input_type(0) : ElementType::kFloat;
  const auto type = info.has_attribute("dtype") ? static_cast<ElementType>(info.attribute<int64_t>("dtype")) : fallback;
  return VisitType(FloatTypes{}, type,
                   [&]<class T>() -> std::unique_ptr<Kernel> { return std::make_unique<RandomFill<T>>(info); });
}

}  // namespace

void RegisterRandomFill(KernelRegistry& registry) {
  for (const char* op : {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}) {
    registry.Add(Op(op).Versions(1).OutputTypes(0, kFloats).Factory(MakeRandomFill));
  }
}

}  // namespace tessera::cpu
