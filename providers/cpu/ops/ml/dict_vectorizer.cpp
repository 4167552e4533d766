// DictVectorizer, ai.onnx.ml, version 1.

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/cancellable_memory.h"
#include "cpu/ops/ml/lookup.h"
#include "cpu/ops/ml/map_values.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class Key>
class DictVectorizer final : public Kernel {
 public:
  explicit DictVectorizer(const KernelInfo& info) : type_(info.output_type(0)) {
    if constexpr (std::is_same_v<Key, std::string>) {
      lookup_.Build(info.allocator(), info.attribute<std::vector<std::string>>("string_vocabulary", {}), true, false);
    } else {
      lookup_.Build(info.allocator(), info.attribute<std::vector<int64_t>>("int64_vocabulary", {}), true, false);
    }
  }

  void Compute(KernelContext& context) override {
    const Map& map = InputMap(context);
    Require(map.keys.is(ElementTypeOf<Key>), "the map's keys are {}, the vocabulary {}", ElementTypeName(map.keys.type()),
            ElementTypeName(ElementTypeOf<Key>));
    ElementType type = type_ != ElementType::kUndefined ? type_ : map.value_type.element;
    if (type == ElementType::kUndefined && map.size() > 0) type = Scalar(map.at(0)).type();
    Tensor* y = context.output(0, type, Shape{1, static_cast<int64_t>(lookup_.size())});
    if (y == nullptr) return;
    VisitType(MapValueTypes{}, type, [&]<class T>() {
      if constexpr (std::is_same_v<T, std::string>) ChargeTexts(context, map, *y);
      T* out = y->mutable_data<T>();
      FillCancellably(out, static_cast<int64_t>(lookup_.size()), T{});
      PacedCancellationPoint look(100);
      for (size_t i = 0; i < map.size(); ++i) {
        look.Pass();
        const int64_t position = lookup_.Find(map.keys.data<Key>()[i]);
        if (position >= 0) out[position] = Converted<T>(map.at(i));
      }
    });
  }

 private:
  Lookup<Key> lookup_;
  ElementType type_;
};

std::unique_ptr<Kernel> MakeDictVectorizer(const KernelInfo& info) {
  const bool strings = info.has_attribute("string_vocabulary");
  Require(strings != info.has_attribute("int64_vocabulary"), "one of string_vocabulary and int64_vocabulary is expected");
  if (strings) return std::make_unique<DictVectorizer<std::string>>(info);
  return std::make_unique<DictVectorizer<int64_t>>(info);
}

}  // namespace

void RegisterDictVectorizer(KernelRegistry& registry) {
  registry.Add(Op("DictVectorizer", "ai.onnx.ml").Versions(1).Factory(MakeDictVectorizer));
}

}  // namespace tessera::cpu
