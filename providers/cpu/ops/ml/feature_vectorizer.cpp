// FeatureVectorizer (ai.onnx.ml 1).

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class FeatureVectorizer final : public Kernel {
 public:
  explicit FeatureVectorizer(const KernelInfo& info)
      : widths_(info.attribute<std::vector<int64_t>>("inputdimensions", {})) {
    Require(widths_.empty() || widths_.size() == info.num_inputs(), "inputdimensions has {} elements for {} inputs",
            widths_.size(), info.num_inputs());
    for (const int64_t width : widths_) Require(width >= 0, "inputdimensions holds {}", width);
  }

  void Compute(KernelContext& context) override {
    int64_t count = -1, total = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Rows rows(context.required_input(i));
      Require(count < 0 || rows.count == count, "input {} has {} rows, the first has {}", i, rows.count, count);
      count = rows.count;
      total = CheckedAdd(total, widths_.empty() ? rows.features : widths_[i]);
    }
    Tensor* y = context.output(0, ElementType::kFloat, Shape{std::max<int64_t>(count, 0), total});
    if (y == nullptr || y->num_elements() == 0) return;
    int64_t at = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.required_input(i);
      const int64_t features = Rows(x).features;
      const int64_t width = widths_.empty() ? features : widths_[i];
      VisitType(MlNumberTypes{}, x.type(), [&]<class T>() {
        PacedCancellationPoint look(0.5);
        for (int64_t row = 0; row < count; ++row) {
          look.Pass(width + 8);
          float* out = y->mutable_data<float>() + row * total + at;
          ConvertElements(x.data<T>() + row * features, out, std::min(width, features));
          FillCancellably(out + std::min(width, features), width - std::min(width, features), 0.0f);
        }
      });
      at += width;
    }
  }

 private:
  std::vector<int64_t> widths_;
};

}  // namespace

void RegisterFeatureVectorizer(KernelRegistry& registry) {
  registry.Add(Op("FeatureVectorizer", "ai.onnx.ml").Versions(1).Types(0, kMlNumbers).Make<FeatureVectorizer>());
}

}  // namespace tessera::cpu
