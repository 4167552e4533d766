#include "runtime/threads/cpu_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

class CpuQuota : public ::testing::Test {
 protected:
  void Group(const std::string& path, const std::string& name, const std::string& text) {
    fs::create_directories(folder_.path() / path);
    folder_.Write(path + "/" + name, text);
  }
  std::optional<int> Cores(const std::string& groups) {
    return CoresByQuota(folder_.Write("cgroup", groups), folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(CpuQuota, OfVersion2IsTheLeastOfAllGroupsAbove) {
  Group("a", "cpu.max", "250000 100000\n");
  Group("a/b", "cpu.max", "max 100000\n");
  EXPECT_EQ(Cores("0::/a/b\n"), 3);
  Group("a/b", "cpu.max", "50000 100000\n");
  EXPECT_EQ(Cores("0::/a/b\n"), 1);
  EXPECT_EQ(Cores("0::/a\n"), 3);
}

TEST_F(CpuQuota, OfVersion1) {
  Group("cpu,cpuacct/docker/x", "cpu.cfs_quota_us", "400000\n");
  Group("cpu,cpuacct/docker/x", "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores("4:memory:/y\n2:cpu,cpuacct:/docker/x\n"), 4);
  Group("cpu,cpuacct/docker/x", "cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Cores("2:cpu,cpuacct:/docker/x\n"), std::nullopt);
}

TEST_F(CpuQuota, OfAContainerThatSeesOnlyItsOwnGroup) {
  Group(".", "cpu.max", "150000 100000\n");
  EXPECT_EQ(Cores("0::/of/the/host\n"), 2);
}

TEST_F(CpuQuota, IsNoneWhereNothingIsUnderstood) {
  EXPECT_EQ(Cores(""), std::nullopt);
  EXPECT_EQ(Cores("nonsense\n0:\n::\n0::/../../etc\n"), std::nullopt);
  Group("a", "cpu.max", "0 0\n");
  EXPECT_EQ(Cores("0::/a\n"), std::nullopt);
  Group("a", "cpu.max", "99999999999999999999 1\n");
  EXPECT_EQ(Cores("0::/a\n"), 65536);
  EXPECT_EQ(CoresByQuota("/nowhere", "/nowhere"), std::nullopt);
}

}  // namespace
}  // namespace tessera
