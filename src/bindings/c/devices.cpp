// Devices and the providers that can use them.

#include "bindings/c/devices.h"

#include <algorithm>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "bindings/c/entry.h"
#include "bindings/c/providers.h"
#include "bindings/c/session_options.h"

namespace tessera::c_abi {
namespace {

constexpr size_t kMostSelected = 8;

struct Vendor {
  std::string_view cpuid;
  std::string_view name;
  uint32_t id;
};
constexpr Vendor kVendors[] = {{"GenuineIntel", "Intel", 0x8086}, {"AuthenticAMD", "AMD", 0x1022}};

/// Twelve letters that an x86 processor says of who made it.
std::string CpuVendor() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned int highest = 0, parts[3] = {};
  if (__get_cpuid(0, &highest, &parts[0], &parts[2], &parts[1]) != 0)
    return std::string(reinterpret_cast<const char*>(parts), sizeof(parts));
#endif
  return {};
}

struct Devices {
  OrtHardwareDevice cpu;
  OrtEpDevice on_cpu;
  const OrtEpDevice* list[1];
  const OrtHardwareDevice* hardware[1];
};

/// oneDNN is taken by its name only: as a device it would get the sessions of every client that asks for the most efficient
/// one.
const Devices& TheDevices() {
  static const Devices& devices = [&]() -> const Devices& {
    auto* made = new Devices{};
    const std::string said = CpuVendor();
    const auto* known = std::ranges::find(kVendors, said, &Vendor::cpuid);
    made->cpu.type = OrtHardwareDeviceType_CPU;
    made->cpu.vendor = known == std::end(kVendors) ? said : std::string(known->name);
    made->cpu.vendor_id = known == std::end(kVendors) ? 0 : known->id;
    made->on_cpu.provider = "CPUExecutionProvider";
    made->on_cpu.vendor = "Tessera";
    made->on_cpu.metadata.Set("version", version());
    made->on_cpu.device = &made->cpu;
    made->list[0] = &made->on_cpu;
    made->hardware[0] = &made->cpu;
    return *made;
  }();
  return devices;
}

}  // namespace

const OrtEpDevice* DeviceOf(const MemoryInfo& memory) {
  return memory.device == DeviceType::kCpu ? &TheDevices().on_cpu : nullptr;
}

OrtStatusPtr GetEpDevices(const OrtEnv* env, const OrtEpDevice* const** ep_devices, size_t* num_ep_devices) noexcept {
  return Guarded([&] {
    Given(env, "the environment");
    Given(ep_devices, "out") = TheDevices().list;
    Given(num_ep_devices, "the number") = std::size(TheDevices().list);
  });
}

OrtStatusPtr GetNumHardwareDevices(const OrtEnv* env, size_t* num_devices) noexcept {
  return Guarded([&] {
    Given(env, "the environment");
    Given(num_devices, "the number") = std::size(TheDevices().hardware);
  });
}

OrtStatusPtr GetHardwareDevices(const OrtEnv* env, const OrtHardwareDevice** devices, size_t num_devices) noexcept {
  return Guarded([&] {
    Given(env, "the environment");
    const auto& all = TheDevices().hardware;
    Require(num_devices >= std::size(all), "there is room for {} devices, there are {}", num_devices, std::size(all));
    std::ranges::copy(all, &Given(devices, "out"));
  });
}

OrtStatusPtr SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions* session_options, OrtEnv* env,
                                                      const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
                                                      const char* const* ep_option_keys, const char* const* ep_option_vals,
                                                      size_t num_ep_options) noexcept {
  return Guarded([&] {
    OrtSessionOptions& options = Given(session_options, "the session options");
    Given(env, "the environment");
    Require(num_ep_devices > 0 && ep_devices != nullptr, "no device is given; GetEpDevices lists them");
    for (size_t i = 0; i < num_ep_devices; ++i) {
      Require(Given(ep_devices[i], "a device").provider == ep_devices[0]->provider,
              "the devices are of {} and {}; give those of one provider", ep_devices[0]->provider, ep_devices[i]->provider);
    }
    AppendProvider(options, ep_devices[0]->provider, OptionsFrom(ep_option_keys, ep_option_vals, num_ep_options));
  });
}

// With the processor as the only device, every policy chooses it.
OrtStatusPtr SessionOptionsSetEpSelectionPolicy(OrtSessionOptions* session_options,
                                                OrtExecutionProviderDevicePolicy policy) noexcept {
  return Guarded([&] {
    Require(
        policy >= OrtExecutionProviderDevicePolicy_DEFAULT && policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER,
        "there is no policy {}", static_cast<int>(policy));
    Given(session_options, "the session options").policy = policy;
  });
}

OrtStatusPtr SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions* session_options, EpSelectionDelegate delegate,
                                                        void* delegate_state) noexcept {
  return Guarded([&] {
    OrtSessionOptions& options = Given(session_options, "the session options");
    options.delegate = delegate;
    options.delegate_state = delegate_state;
  });
}

void ChooseDevices(OrtSessionOptions& options) {
  if (options.delegate == nullptr || !options.core.providers.empty()) return;
  const OrtEpDevice* selected[kMostSelected] = {};
  size_t count = 0;
  std::vector<const OrtEpDevice*> devices(std::begin(TheDevices().list), std::end(TheDevices().list));
  const OrtKeyValuePairs none;
  ThrowIfFailed(options.delegate(devices.data(), devices.size(), &none, &none, selected, kMostSelected, &count,
                                 options.delegate_state));
  if (count == 0) throw Error(ErrorCode::kFail, "the delegate chose no device");
  if (count > kMostSelected)
    throw Error(ErrorCode::kFail, fmt::format("the delegate chose {} devices, {} are the most", count, kMostSelected));
  for (size_t i = 0; i < count; ++i) AppendProvider(options, Given(selected[i], "a chosen device").provider, {});
}

OrtHardwareDeviceType HardwareDevice_Type(const OrtHardwareDevice* device) {
  return device == nullptr ? OrtHardwareDeviceType_CPU : device->type;
}
uint32_t HardwareDevice_VendorId(const OrtHardwareDevice* device) { return device == nullptr ? 0 : device->vendor_id; }
const char* HardwareDevice_Vendor(const OrtHardwareDevice* device) {
  return device == nullptr ? "" : device->vendor.c_str();
}
uint32_t HardwareDevice_DeviceId(const OrtHardwareDevice* device) { return device == nullptr ? 0 : device->device_id; }
const OrtKeyValuePairs* HardwareDevice_Metadata(const OrtHardwareDevice* device) {
  return device == nullptr ? nullptr : &device->metadata;
}

const char* EpDevice_EpName(const OrtEpDevice* ep_device) {
  return ep_device == nullptr ? "" : ep_device->provider.c_str();
}
const char* EpDevice_EpVendor(const OrtEpDevice* ep_device) {
  return ep_device == nullptr ? "" : ep_device->vendor.c_str();
}
const OrtKeyValuePairs* EpDevice_EpMetadata(const OrtEpDevice* ep_device) {
  return ep_device == nullptr ? nullptr : &ep_device->metadata;
}
const OrtKeyValuePairs* EpDevice_EpOptions(const OrtEpDevice* ep_device) {
  return ep_device == nullptr ? nullptr : &ep_device->options;
}
const OrtHardwareDevice* EpDevice_Device(const OrtEpDevice* ep_device) {
  return ep_device == nullptr ? nullptr : ep_device->device;
}
const OrtMemoryInfo* EpDevice_MemoryInfo(const OrtEpDevice* ep_device, OrtDeviceMemoryType /*memory_type*/) noexcept {
  return ep_device == nullptr ? nullptr : ep_device->memory;
}

}  // namespace tessera::c_abi
