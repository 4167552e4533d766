// CastMap, DictVectorizer and ZipMap, ai.onnx.ml, version 1.

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/cancellable_sort.h"
#include "base/checked.h"
#include "base/string_memory.h"
#include "cpu/engine/number_text.h"
#include "cpu/engine/sequences.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ml/lookup.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

using MapValueTypes = TypeList<float, double, int64_t, int32_t, std::string>;

const Map& InputMap(const KernelContext& context) {
  const Value* input = context.input_value(0);
  Require(input != nullptr && !input->is_none(), "input 0 is required");
  const Map& map = input->map();
  Require(static_cast<size_t>(map.keys.num_elements()) == map.size(), "the map has {} keys and {} values",
          map.keys.num_elements(), map.size());
  return map;
}

const Tensor& Scalar(const Value& value) {
  const Tensor& tensor = value.tensor();
  Require(tensor.num_elements() == 1, "a map's value has shape {}, one element is expected", tensor.shape());
  return tensor;
}

/// The number that the text begins with.
template <class T>
T ParseNumber(const std::string& text) {
  char* end = nullptr;
  T number;
  if constexpr (std::is_integral_v<T>) {
    number = static_cast<T>(std::strtoll(text.c_str(), &end, 10));
  } else {
    number = static_cast<T>(strtod_l(text.c_str(), &end, NumberLocale()));
  }
  Require(end != text.c_str(), "'{}' is not a number", text);
  return number;
}

template <class T>
T Converted(const Value& value) {
  const Tensor& tensor = Scalar(value);
  T result{};
  VisitType(MapValueTypes{}, tensor.type(), [&]<class From>() {
    const From& from = *tensor.data<From>();
    if constexpr (std::is_same_v<From, T>) {
      result = from;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if constexpr (std::is_floating_point_v<From>) {
        result = fmt::format("{:f}", from);  // std::to_string follows the locale
      } else {
        result = std::to_string(from);
      }
    } else if constexpr (std::is_same_v<From, std::string>) {
      result = ParseNumber<T>(from);
    } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>) {
      Require(from > From(-9.2e18) && from < From(9.2e18), "{} does not fit int64", from);
      result = static_cast<T>(from);
    } else {
      result = static_cast<T>(from);
    }
  });
  return result;
}

/// Counts the texts of a map's values before they are written to `y`.
void ChargeTexts(KernelContext& context, const Map& map, Tensor& y) {
  constexpr size_t kLongestNumber = 330;  // of a double, with all its digits
  size_t bytes = 0;
  PacedCancellationPoint look(50);
  for (size_t i = 0; i < map.size(); ++i) {
    look.Pass();
    const Value value = map.at(i);
    const Tensor& element = Scalar(value);
    bytes = CheckedAdd(bytes,
                       TextBytes(element.is(ElementType::kString) ? element.data<std::string>()->size() : kLongestNumber));
  }
  StringCharge(y, context.allocator()).Add(bytes);
}

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

template <class Key>
class DictVectorizer final : public Kernel {
 public:
  explicit DictVectorizer(const KernelInfo& info) : type_(info.output_type(0)) {
    if constexpr (std::is_same_v<Key, std::string>) {
      lookup_.Build(info.attribute<std::vector<std::string>>("string_vocabulary", {}), true, false);
    } else {
      lookup_.Build(info.attribute<std::vector<int64_t>>("int64_vocabulary", {}), true, false);
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

void RegisterCastMap(KernelRegistry& registry) {
  registry.Add(Op("CastMap", "ai.onnx.ml").Versions(1).Factory(MakeCastMap));
}
void RegisterDictVectorizer(KernelRegistry& registry) {
  registry.Add(Op("DictVectorizer", "ai.onnx.ml").Versions(1).Factory(MakeDictVectorizer));
}
void RegisterZipMap(KernelRegistry& registry) {
  registry.Add(Op("ZipMap", "ai.onnx.ml").Versions(1).Types(0, {ElementType::kFloat}).Make<ZipMap>());
}

}  // namespace tessera::cpu
