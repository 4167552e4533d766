#include "opencl/device/regions.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace tessera::opencl {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<const std::byte*, Region, std::greater<>> regions;  // highest address first: lower_bound finds the holder
};

Table& TheTable() {
  static Table& table = *new Table;  // tensors may outlive statics
  return table;
}

}  // namespace

void AddRegion(const void* address, const Region& region) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  table.regions[static_cast<const std::byte*>(address)] = region;
}

std::optional<Region> RemoveRegion(const void* address) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.regions.find(static_cast<const std::byte*>(address));
  if (found == table.regions.end()) return std::nullopt;
  const Region region = found->second;
  table.regions.erase(found);
  return region;
}

std::optional<std::pair<const std::byte*, Region>> FindRegion(const void* address) {
  Table& table = TheTable();
  const auto* byte = static_cast<const std::byte*>(address);
  const std::shared_lock lock(table.mutex);
  const auto found = table.regions.lower_bound(byte);
  if (found == table.regions.end() || byte >= found->first + found->second.bytes) return std::nullopt;
  return *found;
}

std::shared_ptr<HostView> HostView::Make(const void* address, size_t bytes, const Device& device, bool written,
                                         std::shared_ptr<void> owner, const std::function<cl_mem()>& make) {
  Table& table = TheTable();
  const auto* begin = static_cast<const std::byte*>(address);
  std::shared_ptr<HostView> view(new HostView(nullptr, std::move(owner)));
  const std::lock_guard lock(table.mutex);
  const auto holder = table.regions.lower_bound(begin);
  if (holder != table.regions.end() && begin < holder->first + holder->second.bytes) {
    Region& region = holder->second;
    const bool same = holder->first == begin && region.bytes == bytes && region.views > 0 && region.device == &device;
    if (!same || written || region.written) return nullptr;
    ++region.views;
  } else {
    if (holder != table.regions.begin() && std::prev(holder)->first < begin + bytes) return nullptr;
    Region& region = table.regions[begin];
    region = {nullptr, bytes, &device, 1, written};
    region.buffer = make();
    if (region.buffer == nullptr) {
      table.regions.erase(begin);
      return nullptr;
    }
  }
  view->address_ = begin;
  return view;
}

HostView::~HostView() {
  if (address_ == nullptr) return;
  Table& table = TheTable();
  cl_mem unused = nullptr;
  {
    const std::lock_guard lock(table.mutex);
    const auto found = table.regions.find(address_);
    if (found == table.regions.end() || --found->second.views > 0) return;
    unused = found->second.buffer;
    table.regions.erase(found);
  }
  clReleaseMemObject(unused);
}

}  // namespace tessera::opencl
