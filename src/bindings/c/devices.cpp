// Devices and the providers that can use them.

#include "bindings/c/devices.h"

#include <algorithm>
#include <vector>

#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "bindings/c/providers.h"
#include "bindings/c/session_options.h"
#include "plugin/libraries.h"
#include "tessera/providers/names.h"

namespace tessera::c_abi {
namespace {

constexpr size_t kMostSelected = 8;

plugin::Libraries& LibrariesOf(const OrtEnv& env) { return plugin::Libraries::Of(*env.environment.state()); }

/// NPUs, then GPUs, those on cards of their own first, then processors; among equals those of the provider's own vendor,
/// and the provider that is always there last.
int RankOf(const OrtEpDevice& device) {
  const OrtHardwareDevice& hardware = *device.device;
  if (&device == &CpuDevice()) return 1000;
  const bool own = !hardware.vendor.empty() && device.vendor.find(hardware.vendor) != std::string::npos;
  const char* discrete = hardware.metadata.Find("Discrete");
  const int vendor_rank = own ? 0 : 1;
  switch (hardware.type) {
    case OrtHardwareDeviceType_NPU: return vendor_rank;
    case OrtHardwareDeviceType_GPU:
      return (discrete != nullptr && std::string_view(discrete) == "1" ? 10 : 20) + vendor_rank;
    default: return 100 + vendor_rank;
  }
}

std::vector<const OrtEpDevice*> Ranked(const OrtEnv& env) {
  std::vector<const OrtEpDevice*> devices = env.devices;
  std::ranges::stable_sort(devices, {}, [](const OrtEpDevice* device) { return RankOf(*device); });
  return devices;
}

/// The first device of a type, or null.
const OrtEpDevice* First(const std::vector<const OrtEpDevice*>& devices, OrtHardwareDeviceType type) {
  const auto found = std::ranges::find_if(devices, [&](const OrtEpDevice* device) { return device->device->type == type; });
  return found == devices.end() ? nullptr : *found;
}

/// What a policy chooses: the device that it prefers, where there is one, then a processor's.
std::vector<const OrtEpDevice*> ChosenBy(OrtExecutionProviderDevicePolicy policy,
                                         const std::vector<const OrtEpDevice*>& devices) {
  std::vector<const OrtEpDevice*> chosen;
  switch (policy) {
    case OrtExecutionProviderDevicePolicy_PREFER_NPU:
    case OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY:
    case OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER:
      chosen.push_back(First(devices, OrtHardwareDeviceType_NPU));
      break;
    case OrtExecutionProviderDevicePolicy_PREFER_GPU:
    case OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE:
      chosen.push_back(First(devices, OrtHardwareDeviceType_GPU));
      break;
    default: break;
  }
  chosen.push_back(First(devices, OrtHardwareDeviceType_CPU));
  std::erase(chosen, nullptr);
  return chosen;
}

std::vector<const OrtEpDevice*> ChosenByDelegate(const OrtSessionOptions& options,
                                                 std::vector<const OrtEpDevice*> devices) {
  const OrtEpDevice* selected[kMostSelected] = {};
  size_t count = 0;
  const OrtKeyValuePairs none;
  ThrowIfFailed(options.delegate(devices.data(), devices.size(), &none, &none, selected, kMostSelected, &count,
                                 options.delegate_state));
  if (count > kMostSelected) Fail(ErrorCode::kFail, "the delegate chose {} devices, {} are the most", count, kMostSelected);
  std::vector<const OrtEpDevice*> chosen(selected, selected + count);
  for (const OrtEpDevice* device : chosen) {
    if (std::ranges::find(devices, device) == devices.end())
      Fail(ErrorCode::kFail, "the delegate chose a device that it was not given");
  }
  return chosen;
}

/// Devices of one provider, as a session has them.
void AppendDevices(OrtSessionOptions& options, const OrtEnv& env, std::span<const OrtEpDevice* const> devices,
                   const ProviderOptions& given) {
  const OrtEpDevice& first = *devices.front();
  const bool of_library = first.factory != nullptr;
  if (of_library) {
    options.core.providers.push_back({first.provider, given, LibrariesOf(env).SourceFor(devices)});
  } else {
    AppendProvider(options, first.provider, given);
  }
  if (!options.first_provider.empty()) return;
  options.first_provider = first.provider;
  if (of_library) options.first_devices.assign(devices.begin(), devices.end());
}

}  // namespace

const OrtEpDevice& CpuDevice() {
  static const OrtEpDevice& device = []() -> const OrtEpDevice& {
    static const HardwareDevices hardware = FindHardware();
    auto* made = new OrtEpDevice;  // clients keep the pointer
    made->provider = kCpuProvider;
    made->vendor = "Tessera";
    made->metadata.Set("version", version());
    made->device = hardware.front().get();
    return *made;
  }();
  return device;
}

const OrtEpDevice* DeviceOf(const MemoryInfo& memory, const Environment::State& environment) {
  if (memory.device == DeviceType::kCpu) return &CpuDevice();
  const auto libraries = std::static_pointer_cast<plugin::Libraries>(environment.libraries());
  if (libraries == nullptr) return nullptr;
  const auto devices = libraries->devices();
  const auto found = std::ranges::find_if(
      devices, [&](const OrtEpDevice* device) { return device->memory != nullptr && MemoryOf(*device->memory) == memory; });
  return found == devices.end() ? nullptr : *found;
}

OrtStatusPtr GetEpDevices(const OrtEnv* env, const OrtEpDevice* const** ep_devices, size_t* num_ep_devices) noexcept {
  return Guarded([&] {
    const OrtEnv& own = Given(env, "the environment");
    Given(ep_devices, "out") = own.devices.data();
    Given(num_ep_devices, "the number") = own.devices.size();
  });
}

OrtStatusPtr GetNumHardwareDevices(const OrtEnv* env, size_t* num_devices) noexcept {
  return Guarded([&] { Given(num_devices, "the number") = LibrariesOf(Given(env, "the environment")).hardware().size(); });
}

OrtStatusPtr GetHardwareDevices(const OrtEnv* env, const OrtHardwareDevice** devices, size_t num_devices) noexcept {
  return Guarded([&] {
    const auto all = LibrariesOf(Given(env, "the environment")).hardware();
    Require(num_devices >= all.size(), "there is room for {} devices, there are {}", num_devices, all.size());
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
    AppendDevices(options, *env, {ep_devices, num_ep_devices}, OptionsFrom(ep_option_keys, ep_option_vals, num_ep_options));
  });
}

OrtStatusPtr SessionOptionsSetEpSelectionPolicy(OrtSessionOptions* session_options,
                                                OrtExecutionProviderDevicePolicy policy) noexcept {
  return Guarded([&] {
    Require(
        policy >= OrtExecutionProviderDevicePolicy_DEFAULT && policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER,
        "there is no policy {}", static_cast<int>(policy));
    OrtSessionOptions& options = Given(session_options, "the session options");
    options.policy = policy;
    options.chooses_devices = true;
    options.delegate = nullptr;
  });
}

OrtStatusPtr SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions* session_options, EpSelectionDelegate delegate,
                                                        void* delegate_state) noexcept {
  return Guarded([&] {
    OrtSessionOptions& options = Given(session_options, "the session options");
    options.chooses_devices = delegate != nullptr;
    options.delegate = delegate;
    options.delegate_state = delegate_state;
  });
}

void ChooseDevices(OrtSessionOptions& options, const OrtEnv& env) {
  if (!options.chooses_devices || !options.core.providers.empty()) return;
  const std::vector<const OrtEpDevice*> devices = Ranked(env);
  std::vector<const OrtEpDevice*> chosen =
      options.delegate != nullptr ? ChosenByDelegate(options, devices) : ChosenBy(options.policy, devices);
  if (chosen.empty()) Fail(ErrorCode::kFail, "no device is chosen; see the delegate, or the policy and GetEpDevices");
  while (!chosen.empty()) {  // a provider gets all of its devices at once
    const auto others = std::ranges::stable_partition(
        chosen, [provider = chosen.front()->provider](const OrtEpDevice* device) { return device->provider == provider; });
    AppendDevices(options, env, {chosen.begin(), others.begin()}, {});
    chosen.erase(chosen.begin(), others.begin());
  }
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
const OrtMemoryInfo* EpDevice_MemoryInfo(const OrtEpDevice* ep_device, OrtDeviceMemoryType memory_type) noexcept {
  if (ep_device == nullptr) return nullptr;
  return memory_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? ep_device->host_memory : ep_device->memory;
}

}  // namespace tessera::c_abi

void OrtEnv::TellDevices(std::vector<const OrtEpDevice*> of_libraries) {
  devices = {&tessera::c_abi::CpuDevice()};
  devices.insert(devices.end(), of_libraries.begin(), of_libraries.end());
}
