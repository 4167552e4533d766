#include "cpu/ops/nn/packed_weights.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

TEST(PackedWeights, StripsMakeTheSamePanels) {
  const auto threads = MakeWorkerPool(2, true);
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{3000, 2001}, {1, 5000001}, {5000001, 1}, {2001, 3003}, {7, 5}}) {
    for (const bool transposed : {false, true}) {
      // One byte off, as in a file.
      std::vector<char> bytes(static_cast<size_t>(k * n) * sizeof(float) + 1);
      for (int64_t i = 0; i < k * n; ++i) {
        const auto value = static_cast<float>(i % 100003);
        std::memcpy(bytes.data() + 1 + i * static_cast<int64_t>(sizeof(float)), &value, sizeof(float));
      }
      const auto* b = static_cast<const float*>(static_cast<const void*>(bytes.data() + 1));
      const size_t size = PackedGemmBSize<float>(k, n);
      std::vector<float> whole(size, -1), strips(size, -2);
      PackGemmB<float>(*threads, k, n, b, transposed ? 1 : n, transposed ? k : 1, whole.data());
      PackGemmBInStrips<float>(*threads, k, n, b, transposed, strips.data());
      EXPECT_EQ(whole, strips) << k << " " << n << " " << transposed;
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
