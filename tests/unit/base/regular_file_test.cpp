#include "base/regular_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/mapped_file.h"
#include "base/new_file.h"
#include "error_of.h"
#include "temporary_folder.h"
#include "tessera/error.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

namespace fs = std::filesystem;

std::string TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(RegularFileTest, ReadsWholeFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(TextOf(RegularFile(folder.Write("empty", "")).Read()), "");
  const std::string text(10'007, 'x');
  EXPECT_EQ(TextOf(RegularFile(folder.Write("text", text)).Read()), text);
  EXPECT_FALSE(RegularFile("/proc/self/status").Read().empty());  // its size says 0
}

/// Of each kind of file that is no regular one: a name. None of them may be waited for.
std::vector<fs::path> OtherKinds(const TemporaryFolder& folder) {
  std::vector<fs::path> names = {"/dev/null", "/dev/zero", folder.path()};
  names.push_back(folder.path() / "fifo");
  EXPECT_EQ(mkfifo(names.back().c_str(), 0600), 0);
  fs::create_symlink("fifo", folder.path() / "link");
  names.push_back(folder.path() / "link");
  names.push_back(folder.path() / "socket");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, names.back().c_str(), sizeof address.sun_path - 1);
  const int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(bind(socket_file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(socket_file);
  return names;
}

TEST(RegularFileTest, OtherKindsAreRefused) {
  const TemporaryFolder folder;
  for (const fs::path& name : OtherKinds(folder)) {
    EXPECT_THAT(ErrorOf([&] { RegularFile{name}; }), HasSubstr("not a regular file")) << name;
    EXPECT_THAT(ErrorOf([&] { RegularFile::OfCache(name); }), HasSubstr("not a regular file")) << name;
    EXPECT_THAT(ErrorOf([&] { MapFile(name); }), HasSubstr("not a regular file")) << name;
  }
  EXPECT_THAT(ErrorOf([&] { RegularFile{folder.path() / "none"}; }), HasSubstr("No such file"));
}

TEST(RegularFileTest, CachesAreTheUsersAlone) {
  const TemporaryFolder folder;
  const fs::path file = folder.Write("cache", "content");
  const auto error = [&] { return ErrorOf([&] { RegularFile::OfCache(file); }); };
  chmod(file.c_str(), 0600);
  EXPECT_EQ(error(), "no error");
  chmod(file.c_str(), 0644);  // others may read it
  EXPECT_EQ(error(), "no error");
  for (const mode_t mode : {0620, 0602, 0666}) {
    chmod(file.c_str(), mode);
    EXPECT_THAT(error(), HasSubstr("other users may write to it")) << mode;
  }
  chmod(file.c_str(), 0600);
  chmod(folder.path().c_str(), 0777);
  EXPECT_THAT(error(), HasSubstr("all may write to its folder"));
  chmod(folder.path().c_str(), 01777);  // as /tmp
  EXPECT_EQ(error(), "no error");
  chmod(folder.path().c_str(), 0700);
  fs::create_symlink(file, folder.path() / "link");
  EXPECT_THAT(ErrorOf([&] { RegularFile::OfCache(folder.path() / "link"); }), HasSubstr("it is a link"));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  EXPECT_THAT(error(), HasSubstr("belongs to another user"));
}

TEST(NewFileTest, IsItsOwnersAloneAndReplacesLinks) {
  const TemporaryFolder folder;
  const fs::path other = folder.Write("other", "stays"), target = folder.path() / "target";
  fs::create_symlink(other, target);
  {
    NewFile file(target);
    file.WriteAt(0, "text", 4);
    file.Publish();
  }
  struct stat status{};
  ASSERT_EQ(lstat(target.c_str(), &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(TextOf(RegularFile(other).Read()), "stays");
  EXPECT_EQ(TextOf(RegularFile::OfCache(target).Read()), "text");
  {
    NewFile unpublished(target);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

TEST(NewFileTest, FoldersAreMadeForTheirOwner) {
  const TemporaryFolder folder;
  const mode_t before = umask(0);
  MakePrivateFolders(folder.path() / "a" / "b" / "");
  umask(before);
  struct stat status{};
  for (const char* name : {"a", "a/b"}) {
    ASSERT_EQ(stat((folder.path() / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u) << name;
  }
}

}  // namespace
}  // namespace tessera
