// Memory and semaphores of graphics programs: a provider's importer brings them in, and no provider that is built in has
// one. So there are no importers, and no handles of theirs.

#include "bindings/c/devices.h"
#include "bindings/c/entry.h"

namespace tessera::c_abi {
namespace {

[[noreturn]] void FailForDevice(const OrtEpDevice* device) {
  Fail(ErrorCode::kNotImplemented,
       "{} works with no graphics program; copy its memory to the processor's and use CreateTensorWithDataAsOrtValue",
       Given(device, "the device").provider);
}

/// Of a pointer that no entry here gave out.
template <class Importer>
OrtStatusPtr RefuseImporter(const Importer* importer) noexcept {
  return Guarded([&] {
    Require(importer != nullptr, "the importer is null; CreateExternalResourceImporterForDevice makes them");
    Fail(ErrorCode::kInvalidArgument, "this is no importer: no provider that is built in makes them");
  });
}

}  // namespace

OrtStatusPtr CreateExternalResourceImporterForDevice(const OrtEpDevice* ep_device,
                                                     OrtExternalResourceImporter** out_importer) noexcept {
  return Guarded([&] {
    Given(ep_device, "the device");
    Given(out_importer, "out") = nullptr;  // which says that the provider imports nothing
  });
}

void ReleaseExternalResourceImporter(OrtExternalResourceImporter* /*input*/) {}

OrtStatusPtr CanImportMemory(const OrtExternalResourceImporter* importer, OrtExternalMemoryHandleType /*handle_type*/,
                             bool* /*out_supported*/) noexcept {
  return RefuseImporter(importer);
}

OrtStatusPtr ImportMemory(OrtExternalResourceImporter* importer, const OrtExternalMemoryDescriptor* /*desc*/,
                          OrtExternalMemoryHandle** /*out_handle*/) noexcept {
  return RefuseImporter(importer);
}

void ReleaseExternalMemoryHandle(OrtExternalMemoryHandle* /*input*/) {}

OrtStatusPtr CreateTensorFromMemory(OrtExternalResourceImporter* importer, const OrtExternalMemoryHandle* /*mem_handle*/,
                                    const OrtExternalTensorDescriptor* /*tensor_desc*/,
                                    OrtValue** /*out_tensor*/) noexcept {
  return RefuseImporter(importer);
}

OrtStatusPtr CanImportSemaphore(const OrtExternalResourceImporter* importer, OrtExternalSemaphoreType /*type*/,
                                bool* /*out_supported*/) noexcept {
  return RefuseImporter(importer);
}

OrtStatusPtr ImportSemaphore(OrtExternalResourceImporter* importer, const OrtExternalSemaphoreDescriptor* /*desc*/,
                             OrtExternalSemaphoreHandle** /*out_handle*/) noexcept {
  return RefuseImporter(importer);
}

void ReleaseExternalSemaphoreHandle(OrtExternalSemaphoreHandle* /*input*/) {}

OrtStatusPtr WaitSemaphore(OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* /*semaphore_handle*/,
                           OrtSyncStream* /*stream*/, uint64_t /*value*/) noexcept {
  return RefuseImporter(importer);
}

OrtStatusPtr SignalSemaphore(OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* /*semaphore_handle*/,
                             OrtSyncStream* /*stream*/, uint64_t /*value*/) noexcept {
  return RefuseImporter(importer);
}

OrtStatusPtr InitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device,
                                            const OrtGraphicsInteropConfig* /*config*/) noexcept {
  return Guarded([&] { FailForDevice(ep_device); });
}

OrtStatusPtr DeinitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device) noexcept {
  return Guarded([&] { FailForDevice(ep_device); });
}

}  // namespace tessera::c_abi
