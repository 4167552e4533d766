// LabelEncoder, versions 1, 2, 4; CategoryMapper and OneHotEncoder, version 1; ai.onnx.ml.

#include <numeric>

#include "cpu/engine/on_texts.h"
#include "cpu/ops/ml/features.h"
#include "cpu/ops/ml/lookup.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

using LabelTypes = TypeList<std::string, int64_t, float, int32_t, int16_t, double>;

template <class T>
std::vector<T> FromTensor(const Tensor& tensor, const char* name) {
  Require(tensor.is(ElementTypeOf<T>), "{} is a tensor of {}, {} is expected", name, ElementTypeName(tensor.type()),
          ElementTypeName(ElementTypeOf<T>));
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

/// The attribute `prefix`_strings, _int64s, _floats or _tensor that holds T.
template <class T>
std::vector<T> ListOf(const KernelInfo& info, const std::string& prefix) {
  if (info.has_attribute(prefix + "_tensor")) {
    return FromTensor<T>(info.attribute<Tensor>(prefix + "_tensor"), prefix.c_str());
  }
  if constexpr (std::is_same_v<T, std::string>) return info.attribute<std::vector<std::string>>(prefix + "_strings", {});
  if constexpr (std::is_same_v<T, int64_t>) return info.attribute<std::vector<int64_t>>(prefix + "_int64s", {});
  if constexpr (std::is_same_v<T, float>) return info.attribute<std::vector<float>>(prefix + "_floats", {});
  return {};
}

template <class T>
T DefaultOf(const KernelInfo& info) {
  if (info.has_attribute("default_tensor")) {
    const auto values = FromTensor<T>(info.attribute<Tensor>("default_tensor"), "default_tensor");
    if (!values.empty()) return values[0];
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return info.attribute<std::string>("default_string", "_Unused");
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(info.attribute<int64_t>("default_int64", -1));
  } else {
    return static_cast<T>(info.attribute<float>("default_float", -0.0f));
  }
}

/// Replaces every element of X that is a key by the value beside it, others by the default.
template <class Key, class Mapped>
class Mapping final : public Kernel {
 public:
  Mapping(const KernelInfo& info, std::vector<Key> keys, std::vector<Mapped> values, Mapped fallback, bool last_wins,
          bool nan_matches)
      : charge_(info.allocator(), BytesOf(keys) + BytesOf(values) + keys.size() * kPlaces), values_(std::move(values)) {
    Require(keys.size() == values_.size(), "there are {} keys and {} values", keys.size(), values_.size());
    values_.push_back(std::move(fallback));
    lookup_.Build(std::move(keys), last_wins, nan_matches);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.is(ElementTypeOf<Key>), "X is a tensor of {}, keys are {}", ElementTypeName(x.type()),
            ElementTypeName(ElementTypeOf<Key>));
    if constexpr (std::is_same_v<Mapped, std::string>) {
      const auto texts = context.scratch<std::string_view>(static_cast<size_t>(x.num_elements()));
      Map(context, x, texts.data());
      WriteTexts(context, 0, x.shape(), texts);
    } else {
      Tensor* y = context.output(0, ElementTypeOf<Mapped>, x.shape());
      if (y != nullptr) Map(context, x, y->mutable_data<Mapped>());
    }
  }

 private:
  template <class Out>
  void Map(KernelContext& context, const Tensor& x, Out* out) const {
    const Key* in = x.data<Key>();
    context.threads().ParallelFor(x.num_elements(), std::is_same_v<Key, std::string> ? 30 : 5,
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t i = begin; i < end; ++i) {
                                      const int64_t position = lookup_.Find(in[i]);
                                      out[i] = values_[position < 0 ? values_.size() - 1 : static_cast<size_t>(position)];
                                    }
                                  });
  }

  static constexpr size_t kPlaces = 4 * sizeof(int64_t);  // of a key in its table

  template <class T>
  static size_t BytesOf(const std::vector<T>& list) {
    size_t bytes = list.size() * sizeof(T);
    if constexpr (std::is_same_v<T, std::string>) bytes += TextBytes(list);
    return bytes;
  }

  MemoryCharge charge_;
  Lookup<Key> lookup_;
  std::vector<Mapped> values_;  // the default is the last one
};

std::unique_ptr<Kernel> MakeLabelEncoder(const KernelInfo& info) {
  const bool last_wins = info.since_version() >= 4;
  return VisitType(LabelTypes{}, info.input_type(0), [&]<class Key>() -> std::unique_ptr<Kernel> {
    return VisitType(LabelTypes{}, info.output_type(0), [&]<class Mapped>() -> std::unique_ptr<Kernel> {
      return std::make_unique<Mapping<Key, Mapped>>(info, ListOf<Key>(info, "keys"), ListOf<Mapped>(info, "values"),
                                                    DefaultOf<Mapped>(info), last_wins, true);
    });
  });
}

/// Strings to integers or back, as the input's type says.
std::unique_ptr<Kernel> MakeTwoWay(const KernelInfo& info, std::vector<std::string> strings, std::vector<int64_t> ints) {
  if (info.input_type(0) == ElementType::kString) {
    return std::make_unique<Mapping<std::string, int64_t>>(info, std::move(strings), std::move(ints),
                                                           info.attribute<int64_t>("default_int64", -1), false, false);
  }
  return std::make_unique<Mapping<int64_t, std::string>>(
      info, std::move(ints), std::move(strings), info.attribute<std::string>("default_string", "_Unused"), false, false);
}

std::unique_ptr<Kernel> MakeLabelEncoder1(const KernelInfo& info) {
  auto strings = info.attribute<std::vector<std::string>>("classes_strings", {});
  std::vector<int64_t> positions(strings.size());
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return MakeTwoWay(info, std::move(strings), std::move(positions));
}

std::unique_ptr<Kernel> MakeCategoryMapper(const KernelInfo& info) {
  return MakeTwoWay(info, info.attribute<std::vector<std::string>>("cats_strings", {}),
                    info.attribute<std::vector<int64_t>>("cats_int64s", {}));
}

template <class T>
class OneHotEncoder final : public Kernel {
 public:
  explicit OneHotEncoder(const KernelInfo& info) : zeros_(info.attribute<int64_t>("zeros", 1) != 0) {
    if constexpr (std::is_same_v<T, std::string>) {
      lookup_.Build(info.attribute<std::vector<std::string>>("cats_strings", {}), true, false);
    } else {
      lookup_.Build(info.attribute<std::vector<int64_t>>("cats_int64s", {}), true, false);
    }
    Require(lookup_.size() > 0, "no categories are given for the input's element type");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto width = static_cast<int64_t>(lookup_.size());
    Shape shape = x.shape();
    shape.Append(width);
    Tensor* y = context.output(0, ElementType::kFloat, shape);
    if (y == nullptr) return;
    const T* in = x.data<T>();
    float* out = y->mutable_data<float>();
    context.threads().ParallelFor(x.num_elements(), 5 + 0.1 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      std::fill(out + begin * width, out + end * width, 0.0f);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t position = Find(in[i]);
        if (position >= 0) {
          out[i * width + position] = 1;
        } else {
          Require(zeros_, "element {} of X is none of the {} categories", i, width);
        }
      }
    });
  }

 private:
  int64_t Find(const T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(value > T(-9.2e18) && value < T(9.2e18))) return -1;
      return lookup_.Find(static_cast<int64_t>(value));
    } else if constexpr (std::is_same_v<T, int32_t>) {
      return lookup_.Find(static_cast<int64_t>(value));
    } else {
      return lookup_.Find(value);
    }
  }

  Lookup<std::conditional_t<std::is_same_v<T, std::string>, std::string, int64_t>> lookup_;
  bool zeros_;
};

constexpr TypeSet kStringOrInt = {ElementType::kString, ElementType::kInt64};
using OneHotTypes = TypeList<std::string, int64_t, int32_t, float, double>;

}  // namespace

void RegisterLabelEncoder(KernelRegistry& registry) {
  registry.Add(Op("LabelEncoder", "ai.onnx.ml").Versions(1, 1).Types(0, kStringOrInt).Factory(MakeLabelEncoder1));
  registry.Add(Op("LabelEncoder", "ai.onnx.ml").Versions(2).Types(0, ToTypeSet(LabelTypes{})).Factory(MakeLabelEncoder));
}
void RegisterCategoryMapper(KernelRegistry& registry) {
  registry.Add(Op("CategoryMapper", "ai.onnx.ml").Versions(1).Types(0, kStringOrInt).Factory(MakeCategoryMapper));
}
void RegisterOneHotEncoder(KernelRegistry& registry) {
  registry.Add(Op("OneHotEncoder", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, ToTypeSet(OneHotTypes{}))
                   .Factory(MakeTyped<OneHotEncoder, OneHotTypes>));
}

}  // namespace tessera::cpu
