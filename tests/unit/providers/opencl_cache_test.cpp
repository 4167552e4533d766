#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "opencl/device/program_cache.h"
#include "temporary_folder.h"

namespace tessera::opencl {
namespace {

namespace fs = std::filesystem;

class ProgramCacheTest : public ::testing::Test {
 protected:
  static std::vector<std::byte> Bytes(size_t size, int seed) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed)) & 0xff);
    return bytes;
  }

  const testing::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(ProgramCacheTest, KeepsOneProgramForEachKey) {
  const ProgramCache cache(folder_);
  EXPECT_FALSE(cache.Load("a").has_value());
  cache.Store("a", Bytes(1000, 1));
  cache.Store("b", Bytes(2000, 2));
  EXPECT_EQ(cache.Load("a"), Bytes(1000, 1));
  EXPECT_EQ(cache.Load("b"), Bytes(2000, 2));
  EXPECT_FALSE(cache.Load("c").has_value());
  EXPECT_EQ(ProgramCache(folder_).Load("a"), Bytes(1000, 1));  // as another process sees it
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(ProgramCacheTest, DamagedFilesCountAsAbsent) {
  const ProgramCache cache(folder_);
  cache.Store("key", Bytes(100, 3));
  std::string whole;
  {
    std::ifstream file(cache.Path("key"), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto write = [&](const std::string& text) {
    std::ofstream(cache.Path("key"), std::ios::binary | std::ios::trunc) << text;
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    write(damaged);
    EXPECT_FALSE(cache.Load("key").has_value()) << "byte " << at;
  }
  for (size_t size = 0; size < whole.size(); size += 7) {
    write(whole.substr(0, size));
    EXPECT_FALSE(cache.Load("key").has_value()) << size << " bytes";
  }
  write(whole + "more");
  EXPECT_FALSE(cache.Load("key").has_value());
  write(whole);
  fs::resize_file(cache.Path("key"), uintmax_t{1} << 40);  // of holes
  EXPECT_FALSE(cache.Load("key").has_value());
  cache.Store("key", Bytes(100, 3));
  EXPECT_EQ(cache.Load("key"), Bytes(100, 3));
}

TEST_F(ProgramCacheTest, ReadersNeverSeeHalfAFile) {
  const ProgramCache cache(folder_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        cache.Store("shared", Bytes(20000, 5));
        EXPECT_EQ(cache.Load("shared"), Bytes(20000, 5));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(ProgramCacheTest, WhatCannotBeWrittenIsNotKept) {
  const ProgramCache cache("/proc/no_such_folder");
  cache.Store("key", Bytes(10, 1));
  EXPECT_FALSE(cache.Load("key").has_value());
  const ProgramCache none("");
  none.Store("key", Bytes(10, 1));
  EXPECT_FALSE(none.Load("key").has_value());
}

TEST_F(ProgramCacheTest, NeitherFifosNorFilesOfAllAreRead) {
  const ProgramCache cache(folder_ / "made" / "here");
  cache.Store("key", Bytes(100, 7));
  EXPECT_EQ(cache.Load("key"), Bytes(100, 7));
  fs::remove(cache.Path("key"));
  ASSERT_EQ(mkfifo(cache.Path("key").c_str(), 0600), 0);
  EXPECT_FALSE(cache.Load("key").has_value());
  cache.Store("key", Bytes(100, 7));
  EXPECT_EQ(cache.Load("key"), Bytes(100, 7));
  chmod(cache.Path("key").c_str(), 0666);
  EXPECT_FALSE(cache.Load("key").has_value());
}

}  // namespace
}  // namespace tessera::opencl
