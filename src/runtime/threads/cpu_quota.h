#pragma once

#include <filesystem>
#include <optional>

namespace tessera {

/// How many cores' time the control groups of this process allow it, rounded up; nothing where there is no limit.
/// Containers are limited that way: more threads than that would use up the quota by spinning, and then all stand still.
/// Source: cgroups(7), cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1, of the group and all
/// above it.
std::optional<int> CoresByQuota(const std::filesystem::path& groups = "/proc/self/cgroup",
                                const std::filesystem::path& mounts = "/sys/fs/cgroup");

}  // namespace tessera
