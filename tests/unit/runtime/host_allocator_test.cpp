#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "tessera/memory.h"

namespace tessera {
namespace {

TEST(HostAllocator, AlignsBlocksOfAllSizes) {
  for (const size_t bytes :
       {size_t{1}, size_t{4096}, size_t{256} << 10, size_t{3} << 20, size_t{4} << 20, (size_t{9} << 20) + 1}) {
    void* buffer = HostAllocator().Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % kHostAlignment, 0u);
    std::memset(buffer, 7, bytes);
    HostAllocator().Free(buffer);
  }
}

TEST(HostAllocator, StaggersLargeBlocksWithinAPage) {
  std::vector<void*> buffers;
  std::set<uintptr_t> places;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(HostAllocator().Allocate(size_t{1} << 20));
    places.insert(reinterpret_cast<uintptr_t>(buffers.back()) % 4096);
  }
  EXPECT_EQ(places.size(), buffers.size());
  for (void* buffer : buffers) HostAllocator().Free(buffer);
}

}  // namespace
}  // namespace tessera
