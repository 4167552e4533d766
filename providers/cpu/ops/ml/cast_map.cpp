// CastMap, ai.onnx.ml, version 1.

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>

#include "base/cancellable_memory.h"
#include "base/cancellable_sort.h"
#include "cpu/ops/ml/map_values.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
class CastMap final : public Kernel {
 public:
  explicit CastMap(const KernelInfo& info) : length_(info.attribute<int64_t>("max_map", 1)) {
    const auto form = info.attribute<std::string>("map_form", "DENSE");
    Require(form == "DENSE" || form == "SPARSE", "map_form is '{}', DENSE or SPARSE is expected", form);
    sparse_ = form == "SPARSE";
    Require(!sparse_ || length_ >= 0, "max_map is {}", length_);
  }

  void Compute(KernelContext& context) override {
    const Map& map = InputMap(context);
    Require(map.keys.is(ElementType::kInt64), "the map's keys are {}, int64 is expected", ElementTypeName(map.keys.type()));
    const int64_t* keys = map.keys.data<int64_t>();
    const size_t count = map.size();
    Tensor* y = context.output(0, ElementTypeOf<T>, Shape{1, sparse_ ? length_ : static_cast<int64_t>(count)});
    if (y == nullptr) return;
    if constexpr (std::is_same_v<T, std::string>) ChargeTexts(context, map, *y);
    T* out = y->mutable_data<T>();
    if (sparse_) {
      FillCancellably(out, length_, T{});
      PacedCancellationPoint look(100);
      for (size_t i = 0; i < count; ++i) {
        look.Pass();
        Require(keys[i] >= 0, "key {} is negative", keys[i]);
        if (keys[i] < length_) out[keys[i]] = Converted<T>(map.at(i));
      }
      return;
    }
    const std::span<size_t> order = context.scratch<size_t>(count);
    std::iota(order.begin(), order.end(), size_t{0});
    SortCancellably(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
    PacedCancellationPoint look(100);
    for (size_t i = 0; i < count; ++i) {
      look.Pass();
      out[i] = Converted<T>(map.at(order[i]));
    }
  }

 private:
  int64_t length_;
  bool sparse_;
};

std::unique_ptr<Kernel> MakeCastMap(const KernelInfo& info) {
  const auto to = info.attribute<std::string>("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return std::make_unique<CastMap<float>>(info);
  if (to == "TO_INT64") return std::make_unique<CastMap<int64_t>>(info);
  Require(to == "TO_STRING", "cast_to is '{}', TO_FLOAT, TO_INT64 or TO_STRING is expected", to);
  return std::make_unique<CastMap<std::string>>(info);
}

}  // namespace

void RegisterCastMap(KernelRegistry& registry) {
  registry.Add(Op("CastMap", "ai.onnx.ml").Versions(1).Factory(MakeCastMap));
}

}  // namespace tessera::cpu
