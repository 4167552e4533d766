// Values of a type that clients' libraries define: no operator here has one, so that there are no such types.

#include "bindings/c/entry.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

[[noreturn]] void FailUnknown(const char* domain, const char* type) {
  Fail(ErrorCode::kFail, "there is no opaque type '{}.{}'; pass its bytes as a tensor of uint8",
       &Given(domain, "the domain's name"), &Given(type, "the type's name"));
}

}  // namespace

OrtStatusPtr CreateOpaqueValue(const char* domain_name, const char* type_name, const void* /*data_container*/,
                               size_t /*data_container_size*/, OrtValue** out) noexcept {
  return Guarded([&] {
    Given(out, "out") = nullptr;
    FailUnknown(domain_name, type_name);
  });
}

OrtStatusPtr GetOpaqueValue(const char* domain_name, const char* type_name, const OrtValue* in, void* /*data_container*/,
                            size_t /*data_container_size*/) noexcept {
  return Guarded([&] {
    Given(in, "the value");
    FailUnknown(domain_name, type_name);
  });
}

}  // namespace tessera::c_abi
