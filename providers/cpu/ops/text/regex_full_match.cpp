// RegexFullMatch (20): RE2 syntax, matching in linear time.

#include "cpu/ops/text/regular_expression.h"

namespace tessera::cpu {
namespace {

class RegexFullMatch final : public Kernel {
 public:
  explicit RegexFullMatch(const KernelInfo& info) : pattern_(info, info.attribute<std::string>("pattern")) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    bool* y = context.output(0, x.shape())->mutable_data<bool>();
    const std::string* texts = x.data<std::string>();
    constexpr double kCostNs = 200;
    context.threads().ParallelFor(x.num_elements(), kCostNs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        pattern_.CheckLength(texts[i]);
        y[i] = RE2::FullMatch(texts[i], *pattern_);
      }
    });
  }

 private:
  RegularExpression pattern_;
};

}  // namespace

void RegisterRegexFullMatch(KernelRegistry& registry) {
  registry.Add(Op("RegexFullMatch").Versions(20).Types(0, {ElementType::kString}).Make<RegexFullMatch>());
}

}  // namespace tessera::cpu
