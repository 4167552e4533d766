// MurmurHash3, com.microsoft, version 1: Austin Appleby's MurmurHash3_x86_32 of each element's bytes, a text's or a
// number's.

#include <bit>
#include <cstring>

#include "base/check.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are read as they lie");

uint32_t Scramble(uint32_t block) { return std::rotl(block * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t Hash(const void* data, size_t size, uint32_t seed) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t hash = seed;
  size_t at = 0;
  for (; size - at >= sizeof(uint32_t); at += sizeof(uint32_t)) {
    uint32_t block;
    std::memcpy(&block, bytes + at, sizeof block);
    hash = std::rotl(hash ^ Scramble(block), 13) * 5 + 0xe6546b64u;
  }
  if (at < size) {
    uint32_t rest = 0;
    std::memcpy(&rest, bytes + at, size - at);
    hash ^= Scramble(rest);
  }
  hash ^= static_cast<uint32_t>(size);
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

class MurmurHash3 final : public Kernel {
 public:
  explicit MurmurHash3(const KernelInfo& info) : seed_(static_cast<uint32_t>(info.attribute<int64_t>("seed", 0))) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor* output = context.output(0, x.shape());
    if (output == nullptr) return;
    auto* y = static_cast<uint32_t*>(output->mutable_raw());
    if (x.is(ElementType::kString)) {
      const std::string* texts = x.data<std::string>();
      ForEach(context, 30, x, [&](int64_t i) { y[i] = Hash(texts[i].data(), texts[i].size(), seed_); });
    } else {
      const auto* numbers = static_cast<const uint8_t*>(x.raw());
      const size_t size = ByteSize(x.type(), 1);
      ForEach(context, 5, x, [&](int64_t i) { y[i] = Hash(numbers + static_cast<size_t>(i) * size, size, seed_); });
    }
  }

 private:
  template <class F>
  static void ForEach(KernelContext& context, double cost_ns, const Tensor& x, F f) {
    context.threads().ParallelFor(x.num_elements(), cost_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  }

  uint32_t seed_;
};

}  // namespace

void RegisterMurmurHash3(KernelRegistry& registry) { registry.Add(Op("MurmurHash3", "com.microsoft").Make<MurmurHash3>()); }

}  // namespace tessera::cpu
