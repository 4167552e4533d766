// Range (11, 27): start, start + delta, ... up to limit. Each element is computed from its index, so that no error adds up.

#include "ops/movement/range.h"

#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
void Fill(T start, T delta, int64_t begin, int64_t end, T* output) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;  // wraps
    U value = static_cast<U>(static_cast<U>(start) + static_cast<uint64_t>(begin) * static_cast<U>(delta));
    for (int64_t i = begin; i < end; ++i, value = static_cast<U>(value + static_cast<U>(delta))) {
      output[i] = static_cast<T>(value);
    }
  } else {
    constexpr int64_t kBlock = 1 << 20;  // positions inside of a block are int32, which vectors convert
    const auto first = static_cast<double>(start), step = static_cast<double>(delta);
    for (int64_t block = begin; block < end; block += kBlock) {
      const auto base = static_cast<double>(block);
      const auto count = static_cast<int32_t>(std::min(kBlock, end - block));
      T* to = output + block;
      for (int32_t i = 0; i < count; ++i) to[i] = static_cast<T>(first + (base + static_cast<double>(i)) * step);
    }
  }
}

template <class T>
class Range final : public Kernel {
 public:
  explicit Range(const KernelInfo& info) {
    const auto stash = info.attribute<int64_t>("stash_type", 1);
    Require(!kHalf || stash == 1 || stash == 11, "stash_type is {}, expected float or double", stash);
    stash_double_ = stash == 11;
  }

  void Compute(KernelContext& context) override {
    const RangeBounds<T> bounds(context.required_input(0), context.required_input(1), context.required_input(2));
    const T start = bounds.start, delta = bounds.delta;
    const int64_t count = bounds.Count();
    T* output = context.output(0, {count})->template mutable_data<T>();
    context.threads().ParallelFor(count, kHalf ? 2 : 0.5, [&](int64_t begin, int64_t end) {
      if constexpr (kHalf) {
        const auto first = static_cast<float>(start), step = static_cast<float>(delta);
        for (int64_t i = begin; i < end; ++i) {
          output[i] = stash_double_ ? T(static_cast<double>(first) + static_cast<double>(i) * step)
                                    : T(first + static_cast<float>(i) * step);
        }
      } else {
        Fill(start, delta, begin, end, output);
      }
    });
  }

 private:
  static constexpr bool kHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
  bool stash_double_;
};

using Types = TypeList<float, double, int16_t, int32_t, int64_t, Float16, BFloat16>;

}  // namespace

void RegisterRange(KernelRegistry& registry) {
  registry.Add(Op("Range").Versions(11).Types(0, ToTypeSet(Types{})).Factory(MakeTyped<Range, Types>));
}

}  // namespace tessera::cpu
