// ZipMap, ai.onnx.ml, version 1.

#include <memory>
#include <optional>
#include <string>

#include "base/cancellation.h"
#include "cpu/engine/sequences.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// All maps share one tensor of keys and one buffer of values.
class ZipMap final : public Kernel {
 public:
  explicit ZipMap(const KernelInfo& info) {
    const ClassLabels labels(info, "classlabels_int64s");
    Require(labels.size() > 0, "one of classlabels_strings and classlabels_int64s is expected");
    const Shape shape{static_cast<int64_t>(labels.size())};
    keys_ = labels.type() == ElementType::kString ? Tensor::Of<std::string>(shape, labels.strings())
                                                  : Tensor::Of<int64_t>(shape, labels.ints());
    map_type_ = {ValueKind::kMap, labels.type(), std::nullopt, std::make_shared<TypeInfo>(kValueType)};
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    Require(rows.features == keys_.num_elements(), "X has {} columns, there are {} keys", rows.features,
            keys_.num_elements());
    Tensor values = x.Clone(context.allocator());
    Sequence maps = MakeSequence(context, map_type_, static_cast<size_t>(rows.count), kMapBytes);
    PacedCancellationPoint look(100);
    for (int64_t row = 0; row < rows.count; ++row) {
      look.Pass();
      float* first = values.mutable_data<float>() + row * rows.features;
      maps.elements.emplace_back(
          Map{keys_, kValueType, {}, Tensor::Share(ElementType::kFloat, Shape{rows.features}, first, values.owner())});
    }
    context.set_output(0, std::move(maps));
  }

 private:
  static constexpr size_t kMapBytes = sizeof(Map) + 2 * sizeof(void*);  // with its share count
  static inline const TypeInfo kValueType = TypeInfo::OfTensor(ElementType::kFloat, SymbolicShape{});

  Tensor keys_;
  TypeInfo map_type_;
};

}  // namespace

void RegisterZipMap(KernelRegistry& registry) {
  registry.Add(Op("ZipMap", "ai.onnx.ml").Versions(1).Types(0, {ElementType::kFloat}).Make<ZipMap>());
}

}  // namespace tessera::cpu
