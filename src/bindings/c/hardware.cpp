#include "bindings/c/hardware.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/ascii.h"
#include "base/check.h"

namespace tessera::c_abi {
namespace {

struct Vendor {
  std::string_view cpuid;
  std::string_view name;
  uint32_t id;
};
constexpr Vendor kVendors[] = {
    {"GenuineIntel", "Intel", 0x8086}, {"AuthenticAMD", "AMD", 0x1022}, {"", "AMD", 0x1002}, {"", "NVIDIA", 0x10DE},
    {"", "Qualcomm", 0x5143},          {"", "Microsoft", 0x1414},
};
constexpr uint32_t kNvidia = 0x10DE;

constexpr std::pair<std::string_view, OrtHardwareDeviceType> kTypes[] = {
    {"cpu", OrtHardwareDeviceType_CPU}, {"gpu", OrtHardwareDeviceType_GPU}, {"npu", OrtHardwareDeviceType_NPU}};

std::string NameOfVendor(uint32_t id) {
  const auto* known = std::ranges::find(kVendors, id, &Vendor::id);
  return known == std::end(kVendors) ? std::string() : std::string(known->name);
}

/// Twelve letters that an x86 processor says of who made it.
std::string CpuVendor() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned int highest = 0, parts[3] = {};
  if (__get_cpuid(0, &highest, &parts[0], &parts[2], &parts[1]) != 0)
    return std::string(reinterpret_cast<const char*>(parts), sizeof(parts));
#endif
  return {};
}

std::unique_ptr<OrtHardwareDevice> Processor() {
  auto cpu = std::make_unique<OrtHardwareDevice>();
  const std::string said = CpuVendor();
  const auto* known = said.empty() ? std::end(kVendors) : std::ranges::find(kVendors, said, &Vendor::cpuid);
  cpu->vendor = known == std::end(kVendors) ? said : std::string(known->name);
  cpu->vendor_id = known == std::end(kVendors) ? 0 : known->id;
  return cpu;
}

/// "0x8086" or "32902"; nothing where it is no number.
std::optional<uint32_t> ParseId(std::string_view text) {
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::optional<uint32_t> ReadId(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text;
  stream >> text;
  return ParseId(text);
}

/// Devices of one class of the kernel's, in the order of their numbers: "card0" is one, "card0-HDMI-A-1" is an output of
/// it.
void AddClass(HardwareDevices& all, const std::filesystem::path& folder, std::string_view prefix,
              OrtHardwareDeviceType type) {
  std::error_code error;
  std::vector<std::pair<uint32_t, std::filesystem::path>> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    if (const auto number = ParseId(std::string_view(name).substr(prefix.size())))
      found.emplace_back(*number, entry.path());
  }
  std::ranges::sort(found);
  for (const auto& [number, path] : found) {
    const auto vendor = ReadId(path / "device/vendor"), device = ReadId(path / "device/device");
    if (!vendor || !device) continue;  // of no bus that names its devices
    auto added = std::make_unique<OrtHardwareDevice>();
    added->type = type;
    added->vendor_id = *vendor;
    added->device_id = *device;
    added->vendor = NameOfVendor(*vendor);
    added->metadata.Set(type == OrtHardwareDeviceType_GPU ? "card_idx" : "accel_idx", std::to_string(number));
    const std::filesystem::path bus = std::filesystem::canonical(path / "device", error);
    if (!error) added->metadata.Set("pci_bus_id", bus.filename().string());
    if (type == OrtHardwareDeviceType_GPU && *vendor == kNvidia) added->metadata.Set("Discrete", "1");
    all.push_back(std::move(added));
  }
}

/// What is before the first `separator`, which is taken off `text` with it.
std::string_view TakeField(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view field = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return field;
}

std::unique_ptr<OrtHardwareDevice> ParseDevice(std::string_view text) {
  std::string_view rest = text;
  const std::string type = AsciiLower(TakeField(rest, ':'));
  const auto* known = std::ranges::find(kTypes, type, &std::pair<std::string_view, OrtHardwareDeviceType>::first);
  const auto vendor = ParseId(TakeField(rest, ':'));
  const std::string_view id = TakeField(rest, ':');
  const auto device = id.empty() ? std::optional<uint32_t>(0) : ParseId(id);
  Require(known != std::end(kTypes) && vendor && device,
          "{}: '{}' is no device; write TYPE:VENDOR_ID[:DEVICE_ID[:VENDOR]] with type cpu, gpu or npu, as in cpu:0x8086",
          kHardwareEntry, text);
  auto parsed = std::make_unique<OrtHardwareDevice>();
  parsed->type = known->second;
  parsed->vendor_id = *vendor;
  parsed->device_id = *device;
  parsed->vendor = rest.empty() ? NameOfVendor(*vendor) : std::string(rest);
  return parsed;
}

}  // namespace

DeviceType TypeOf(OrtHardwareDeviceType type) noexcept {
  switch (type) {
    case OrtHardwareDeviceType_GPU: return DeviceType::kGpu;
    case OrtHardwareDeviceType_NPU: return DeviceType::kNpu;
    default: return DeviceType::kCpu;
  }
}

HardwareDevices FindHardware() {
  HardwareDevices all;
  all.push_back(Processor());
  AddClass(all, "/sys/class/drm", "card", OrtHardwareDeviceType_GPU);
  AddClass(all, "/sys/class/accel", "accel", OrtHardwareDeviceType_NPU);
  return all;
}

HardwareDevices ParseHardware(std::string_view text) {
  const bool on_top = text.starts_with('+');
  if (on_top) text.remove_prefix(1);
  HardwareDevices all;
  if (on_top) all = FindHardware();
  while (!text.empty()) {
    const std::string_view device = TakeField(text, ';');
    if (!device.empty()) all.push_back(ParseDevice(device));
  }
  Require(!all.empty(), "{}: no device is named; leave the entry out to have the machine's", kHardwareEntry);
  return all;
}

}  // namespace tessera::c_abi
