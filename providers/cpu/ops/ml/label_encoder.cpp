// LabelEncoder, ai.onnx.ml, versions 1, 2, 4.

#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu/ops/ml/mapping.h"
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

std::unique_ptr<Kernel> MakeLabelEncoder(const KernelInfo& info) {
  const bool last_wins = info.since_version() >= 4;
  return VisitType(LabelTypes{}, info.input_type(0), [&]<class Key>() -> std::unique_ptr<Kernel> {
    return VisitType(LabelTypes{}, info.output_type(0), [&]<class Mapped>() -> std::unique_ptr<Kernel> {
      return std::make_unique<Mapping<Key, Mapped>>(info, ListOf<Key>(info, "keys"), ListOf<Mapped>(info, "values"),
                                                    DefaultOf<Mapped>(info), last_wins, true);
    });
  });
}

std::unique_ptr<Kernel> MakeLabelEncoder1(const KernelInfo& info) {
  auto strings = info.attribute<std::vector<std::string>>("classes_strings", {});
  std::vector<int64_t> positions(strings.size());
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return MakeTwoWay(info, std::move(strings), std::move(positions));
}

}  // namespace

void RegisterLabelEncoder(KernelRegistry& registry) {
  registry.Add(Op("LabelEncoder", "ai.onnx.ml").Versions(1, 1).Types(0, kStringOrInt).Factory(MakeLabelEncoder1));
  registry.Add(Op("LabelEncoder", "ai.onnx.ml").Versions(2).Types(0, ToTypeSet(LabelTypes{})).Factory(MakeLabelEncoder));
}

}  // namespace tessera::cpu
