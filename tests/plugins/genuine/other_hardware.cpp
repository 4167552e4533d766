// A library between ONNX Runtime and a plugin that offers devices only for some hardware: the plugin is shown what the
// environment variable HARDWARE_SHOWN says, such as cpu:0x8086. Tessera has an entry of the environment for that, ONNX
// Runtime has none. PLUGIN_BEHIND is the plugin's path.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "onnxruntime/onnxruntime_c_api.h"

namespace {

constexpr size_t kMost = 4;
constexpr uint32_t kVersion = 24;

OrtHardwareDevice* shown;
ReleaseEpApiFactoryFn release;
OrtEpFactory* factories[kMost];
decltype(OrtEpFactory::GetSupportedDevices) supported[kMost];

OrtStatus* GetSupportedDevices(OrtEpFactory* factory, const OrtHardwareDevice* const* /*devices*/, size_t /*count*/,
                               OrtEpDevice** offered, size_t most, size_t* number) noexcept {
  for (size_t i = 0; i < kMost; ++i) {
    if (factories[i] == factory) return supported[i](factory, &shown, 1, offered, most, number);
  }
  *number = 0;
  return nullptr;
}

}  // namespace

extern "C" ORT_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                                                   OrtEpFactory** made, size_t most, size_t* count) {
  const OrtApi* api = base->GetApi(kVersion);
  const char* path = std::getenv("PLUGIN_BEHIND");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) return api->CreateStatus(ORT_FAIL, path == nullptr ? "PLUGIN_BEHIND is not set" : dlerror());
  release = reinterpret_cast<ReleaseEpApiFactoryFn>(dlsym(library, "ReleaseEpFactory"));
  const auto create = reinterpret_cast<CreateEpApiFactoriesFn>(dlsym(library, "CreateEpFactories"));
  if (release == nullptr || create == nullptr) return api->CreateStatus(ORT_FAIL, "the library is no plugin");
  if (OrtStatus* status = create(name, base, logger, made, most, count)) return status;
  const char* hardware = std::getenv("HARDWARE_SHOWN");
  if (hardware == nullptr || std::strlen(hardware) < 4) return api->CreateStatus(ORT_FAIL, "HARDWARE_SHOWN is not set");
  const auto type = std::strncmp(hardware, "gpu", 3) == 0 ? OrtHardwareDeviceType_GPU : OrtHardwareDeviceType_CPU;
  const auto vendor = static_cast<uint32_t>(std::strtoul(hardware + 4, nullptr, 0));
  if (OrtStatus* status = api->GetEpApi()->CreateHardwareDevice(type, vendor, 0, "shown", nullptr, &shown)) return status;
  for (size_t i = 0; i < *count && i < kMost; ++i) {
    factories[i] = made[i];
    supported[i] = made[i]->GetSupportedDevices;
    made[i]->GetSupportedDevices = GetSupportedDevices;
  }
  return nullptr;
}

extern "C" ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) { return release(factory); }
