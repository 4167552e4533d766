#include "base/content_stamp.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/mapped_file.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr Sampling kSampling{.whole = 10'000, .edge = 5'000, .samples = 4};

class ContentStamps : public ::testing::Test {
 protected:
  /// Of a file of these bytes, always of the same time.
  std::string Of(const std::string& bytes, const Sampling& sampling = kSampling) const {
    const fs::path file = folder_.Write("file", bytes);
    fs::last_write_time(file, fs::file_time_type());
    return ContentStamp(file, sampling);
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(ContentStamps, TellEveryByteOfSmallFiles) {
  for (const size_t size : {size_t{1}, size_t{77}, size_t{10'000}}) {
    std::string bytes(size, 'a');
    const std::string stamp = Of(bytes);
    EXPECT_EQ(Of(bytes), stamp);
    EXPECT_TRUE(stamp.starts_with(FileStamp(folder_.path() / "file") + " with checksum")) << stamp;
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      bytes[at] = 'b';
      EXPECT_NE(Of(bytes), stamp) << at << " of " << size;
      bytes[at] = 'a';
    }
  }
  EXPECT_EQ(Of(""), Of(""));
}

TEST_F(ContentStamps, OfLargeFilesSeeBothEndsAndPagesBetween) {
  constexpr size_t kSize = 5'000'000;
  std::string bytes(kSize, 'a');
  const std::string stamp = Of(bytes);
  EXPECT_EQ(Of(bytes), stamp);
  for (const size_t at : {size_t{0}, size_t{4'999}, kSize - 5'000, kSize - 1}) {
    bytes[at] = 'b';
    EXPECT_NE(Of(bytes), stamp) << at;
    bytes[at] = 'a';
  }
  EXPECT_NE(Of(bytes, {.whole = 10'000, .edge = 5'000, .samples = 5}), stamp);
  // Other weights everywhere, as another training leaves them.
  for (size_t at = 5'000; at < kSize - 5'000; at += 1'000) bytes[at] = 'b';
  EXPECT_NE(Of(bytes), stamp);
}

TEST_F(ContentStamps, OfNoFileAndOfWhatIsNone) {
  EXPECT_EQ(ContentStamp(folder_.path() / "none", kSampling), "");
  const fs::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ContentStamp(pipe, kSampling), FileStamp(pipe));
}

}  // namespace
}  // namespace tessera
