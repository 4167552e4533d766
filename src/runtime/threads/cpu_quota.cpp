#include "runtime/threads/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// Cores that the files of one group allow; infinity where they are absent, unlimited or not understood.
double CoresOfGroup(const fs::path& group) {
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  double quota = 0;
  double period = 0;
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period) {  // "max" is not a number
    return quota > 0 && period > 0 ? quota / period : kUnlimited;
  }
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  if (!(quota_file >> quota) || !(period_file >> period)) return kUnlimited;
  return quota > 0 && period > 0 ? quota / period : kUnlimited;  // -1: no limit
}

/// The least of a group and those above it. In a container the path may be the host's: then only the mount itself exists.
double CoresUpFrom(const fs::path& mount, const fs::path& group) {
  double cores = CoresOfGroup(mount);
  fs::path below = mount;
  for (const fs::path& name : group.relative_path()) {
    if (name == "..") break;  // outside the namespace
    below /= name;
    cores = std::min(cores, CoresOfGroup(below));
  }
  return cores;
}

}  // namespace

std::optional<int> CoresByQuota(const fs::path& groups, const fs::path& mounts) {
  double cores = std::numeric_limits<double>::infinity();
  std::ifstream file(groups);
  for (std::string line; std::getline(file, line);) {  // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      cores = std::min({cores, CoresUpFrom(mounts, group), CoresUpFrom(mounts / "unified", group)});
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      cores = std::min({cores, CoresUpFrom(mounts / controllers, group), CoresUpFrom(mounts / "cpu", group)});
    }
  }
  if (!std::isfinite(cores)) return std::nullopt;
  return static_cast<int>(std::clamp(std::ceil(cores), 1.0, 65536.0));
}

}  // namespace tessera
