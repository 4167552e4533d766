#pragma once

// What LabelEncoder and CategoryMapper share: a kernel that replaces elements by those beside them in a table.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/string_memory.h"
#include "cpu/engine/on_texts.h"
#include "cpu/ops/ml/lookup.h"
#include "cpu/types.h"

namespace tessera::cpu {

inline constexpr TypeSet kStringOrInt = {ElementType::kString, ElementType::kInt64};

/// Replaces every element of X that is a key by the value beside it, others by the default.
template <class Key, class Mapped>
class Mapping final : public Kernel {
 public:
  Mapping(const KernelInfo& info, std::vector<Key> keys, std::vector<Mapped> values, Mapped fallback, bool last_wins,
          bool nan_matches)
      : charge_(info.allocator(), BytesOf(values)), values_(std::move(values)) {
    Require(keys.size() == values_.size(), "there are {} keys and {} values", keys.size(), values_.size());
    values_.push_back(std::move(fallback));
    lookup_.Build(info.allocator(), std::move(keys), last_wins, nan_matches);
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

  static size_t BytesOf(const std::vector<Mapped>& list) {
    size_t bytes = list.size() * sizeof(Mapped);
    if constexpr (std::is_same_v<Mapped, std::string>) bytes += TextBytes(list);
    return bytes;
  }

  MemoryCharge charge_;
  Lookup<Key> lookup_;
  std::vector<Mapped> values_;  // the default is the last one
};

/// Strings to integers or back, as the input's type says.
inline std::unique_ptr<Kernel> MakeTwoWay(const KernelInfo& info, std::vector<std::string> strings,
                                          std::vector<int64_t> ints) {
  if (info.input_type(0) == ElementType::kString) {
    return std::make_unique<Mapping<std::string, int64_t>>(info, std::move(strings), std::move(ints),
                                                           info.attribute<int64_t>("default_int64", -1), false, false);
  }
  return std::make_unique<Mapping<int64_t, std::string>>(
      info, std::move(ints), std::move(strings), info.attribute<std::string>("default_string", "_Unused"), false, false);
}

}  // namespace tessera::cpu
