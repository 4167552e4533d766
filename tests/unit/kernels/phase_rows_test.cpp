// Rows of images by phases, of every width around those of vectors: each element is the image's or 0, nothing is written
// behind the slack, and nothing is read around the image.

#include "kernels/conv/nchw/phase_rows.h"

#include <gtest/gtest.h>

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::cpu {
namespace {

constexpr size_t kMostElements = 1024;

#ifndef _WIN32
/// Memory between pages that cannot be read.
class GuardedMemory {
 public:
  GuardedMemory() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    size_ = (kMostElements * sizeof(float) + page_ - 1) / page_ * page_;
    pages_ = static_cast<char*>(mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages_ + page_, size_, PROT_READ | PROT_WRITE);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(pages_, size_ + 2 * page_); }

  float* begin() { return reinterpret_cast<float*>(pages_ + page_); }
  float* end() { return reinterpret_cast<float*>(pages_ + page_ + size_); }

 private:
  size_t page_, size_;
  char* pages_;
};
#else
class GuardedMemory {
 public:
  float* begin() { return memory_.data(); }
  float* end() { return memory_.data() + memory_.size(); }

 private:
  std::vector<float> memory_ = std::vector<float>(kMostElements);
};
#endif

struct Case {
  int64_t in_width, from, stride, phases, width, rows;
  bool apart;  // phases are planes, or parts of each row
};

/// Two channels of two images, with a row of padding before and two behind.
void Check(const Case& c, GuardedMemory& memory) {
  constexpr float kUntouched = -1;
  constexpr int64_t kChannels = 2, kImages = 2, kBefore = 1, kBehind = 2;
  const int64_t plane = (kBefore + c.rows + kBehind) * c.width * (c.apart ? 1 : c.phases);
  const int64_t phase = c.apart ? kImages * plane + kPhaseRowsSlack : c.width;
  const PhaseRows rows{c.in_width, c.in_width, c.from, c.stride, c.phases, c.width, c.apart ? c.width : c.phases * c.width,
                       phase};
  const int64_t channel = c.apart ? c.phases * phase : kImages * plane + kPhaseRowsSlack;
  const int64_t in_channel = c.rows * c.in_width, size = kChannels * kImages * in_channel;
  std::vector<float> out(static_cast<size_t>(kChannels * channel) + 1, kUntouched);
  const std::vector<PhaseRun> runs = {{PhaseRun::kPadding, kBefore, 0},
                                      {0, c.rows, kBefore * rows.out_step},
                                      {PhaseRun::kPadding, kBehind, (kBefore + c.rows) * rows.out_step}};
  for (float* in : {memory.begin(), memory.end() - size}) {
    for (int64_t i = 0; i < size; ++i) in[i] = static_cast<float>(i + 1);
    CopyPhaseRows(rows, runs, {in, out.data(), kChannels, in_channel, channel, kImages, kChannels * in_channel, plane});
    for (int64_t at = 0; at < kChannels * kImages * c.phases; ++at) {
      const int64_t ch = at % kChannels, image = at / kChannels % kImages, p = at / kChannels / kImages;
      for (int64_t r = 0; r < kBefore + c.rows + kBehind; ++r) {
        for (int64_t i = 0; i < c.width; ++i) {
          const int64_t x = c.from + p + i * c.stride, y = r - kBefore;
          const bool inside = x >= 0 && x < c.in_width && y >= 0 && y < c.rows;
          const float expected = inside ? in[image * kChannels * in_channel + ch * in_channel + y * c.in_width + x] : 0.0f;
          ASSERT_EQ(out[static_cast<size_t>(ch * channel + image * plane + p * phase + r * rows.out_step + i)], expected)
              << c.in_width << " from " << c.from << " stride " << c.stride << " phase " << p << " of " << c.phases
              << " width " << c.width << " rows " << c.rows << " row " << r << " element " << i;
        }
      }
    }
    ASSERT_EQ(out.back(), kUntouched);
  }
}

TEST(PhaseRows, AreTheImagesOfEveryWidth) {
  GuardedMemory memory;
  for (int64_t stride = 1; stride <= 5; ++stride) {
    for (int64_t phases = 1; phases <= stride; ++phases) {
      for (int64_t width = 1; width <= 40; ++width) {
        for (const int64_t from : {-1, 0, 2, -9, -50}) {
          for (const int64_t cut : {-60, -1, 0, 1, 9}) {  // elements that are missing, or that are not read
            const int64_t in_width = std::clamp<int64_t>(from + width * stride - cut, 0, 80);
            Check({in_width, from, stride, phases, width, 1 + (width + cut + 60) % 3, (width + cut) % 2 == 0}, memory);
          }
        }
      }
    }
  }
}

TEST(PhaseRows, OfManyRowsAndColumns) {
  GuardedMemory memory;
  for (const int64_t stride : {1, 2, 3, 4}) {
    Check({7, -1, stride, stride, 130, 35, true}, memory);
    Check({7, -300, stride, stride, 200, 35, false}, memory);
    Check({250, -3, stride, stride, 250 / stride + 3, 1, true}, memory);
    Check({250, 5, stride, 1, 250 / stride, 1, false}, memory);
  }
}

/// Elements of a gather that lie further apart than an index of 32 bits reaches, all but a few of them padding.
TEST(PhaseRows, OfStridesBeyondIndicesOfGathers) {
  GuardedMemory memory;
  for (const int64_t stride : {INT32_MAX / 16, INT32_MAX / 16 + 1, 1 << 28, 1 << 30, INT32_MAX}) {
    for (const int64_t before : {0, 1, 8, 15, 18}) Check({7, 3 - before * stride, stride, 2, 20, 3, true}, memory);
  }
}

}  // namespace
}  // namespace tessera::cpu
