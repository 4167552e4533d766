// Where models that a provider compiled can run.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/python/device.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/runtime.h"
#include "bindings/python/strings.h"
#include "tessera/providers/names.h"

namespace tessera::python {
namespace {

OrtAllocator* DefaultAllocator() {
  OrtAllocator* allocator = nullptr;
  CheckCall(Api().GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

/// What the library allocated, or None.
nb::object Taken(char* text) {
  if (text == nullptr) return nb::none();
  nb::str taken(text);
  CheckCall(Api().AllocatorFree(DefaultAllocator(), text));
  return taken;
}

nb::object InfoOfFile(const std::string& path, const std::string& provider) {
  char* text = nullptr;
  CheckCall(Api().GetCompatibilityInfoFromModel(CharactersOf(path), CharactersOf(provider), DefaultAllocator(), &text));
  return Taken(text);
}

nb::object InfoOfBytes(nb::handle model, const std::string& provider) {
  const std::shared_ptr<Py_buffer> bytes = BufferOf(model);
  char* text = nullptr;
  CheckCall(Api().GetCompatibilityInfoFromModelBytes(bytes->buf, static_cast<size_t>(bytes->len), CharactersOf(provider),
                                                     DefaultAllocator(), &text));
  return Taken(text);
}

OrtCompiledModelCompatibility CompatibilityFor(const std::vector<EpDevice>& devices, const std::string& info) {
  std::vector<const OrtEpDevice*> given;
  given.reserve(devices.size());
  for (const EpDevice& device : devices) given.push_back(device.described);
  OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  CheckCall(Api().GetModelCompatibilityForEpDevices(given.data(), given.size(), CharactersOf(info), &answer));
  return answer;
}

nb::dict Answer(uint32_t reasons, const char* notes, int32_t code) {
  nb::dict answer;
  answer["reasons_bitmask"] = reasons;
  answer["notes"] = notes == nullptr ? nb::none() : nb::object(nb::str(notes));
  answer["error_code"] = code;
  return answer;
}

/// Libraries say it of their providers; of those that are built in nothing speaks against a device.
nb::dict Incompatibility(const std::string& provider, const HardwareDevice& device) {
  if (provider == kCpuProvider || provider == kOnednnProvider || provider == kOpenclProvider) return Answer(0, nullptr, 0);
  OrtDeviceEpIncompatibilityDetails* details = nullptr;
  Check(Api().GetHardwareDeviceEpIncompatibilityDetails(&Env(), CharactersOf(provider), device.described, &details));
  const std::unique_ptr<OrtDeviceEpIncompatibilityDetails, void (*)(OrtDeviceEpIncompatibilityDetails*)> owned(
      details, Api().ReleaseDeviceEpIncompatibilityDetails);
  uint32_t reasons = 0;
  const char* notes = nullptr;
  int32_t code = 0;
  Check(Api().DeviceEpIncompatibilityDetails_GetReasonsBitmask(details, &reasons));
  Check(Api().DeviceEpIncompatibilityDetails_GetNotes(details, &notes));
  Check(Api().DeviceEpIncompatibilityDetails_GetErrorCode(details, &code));
  return Answer(reasons, notes, code);
}

}  // namespace

void BindCompatibility(nb::module_& module) {
  module.def("get_compatibility_info_from_model", &InfoOfFile, nb::arg("model_path"), nb::arg("ep_type"),
             "What a provider that compiled parts of a model says in it about where they run; None where it says nothing.");
  module.def("get_compatibility_info_from_model_bytes", &InfoOfBytes, nb::arg("model_data"), nb::arg("ep_type"),
             "The same of a model's bytes.");
  module.def("get_model_compatibility_for_ep_devices", &CompatibilityFor, nb::arg("ep_devices"),
             nb::arg("compatibility_info"), "Whether what was compiled runs on devices of one provider.");
  module.def("get_hardware_device_ep_incompatibility_details", &Incompatibility, nb::arg("ep_name"), nb::arg("hw"),
             "Why a provider cannot use a device: a dict of reasons_bitmask, notes and error_code.");
}

}  // namespace tessera::python
