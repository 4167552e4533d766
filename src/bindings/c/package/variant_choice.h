#pragma once

// Which variant of a component a session takes.

#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/package/package.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

/// The provider that variants are chosen for: the first that the session options append.
struct OrtModelPackageOptions {
  tessera::c_abi::Mark<OrtModelPackageOptions> mark;
  tessera::Environment environment;
  std::string provider;
  std::vector<const OrtEpDevice*> devices;  // of a library's provider, while the environment has that
  tessera::ProviderRequest request;         // unless the provider is always there
};

namespace tessera::c_abi {

/// Throws Error for options that choose no device.
OrtModelPackageOptions* PackageOptionsOf(const OrtEnv& env, const OrtSessionOptions& session);

/// Throws Error(kFail) where none fits.
const PackageVariant& ChooseVariant(const PackageComponent& component, const OrtModelPackageOptions& options);

}  // namespace tessera::c_abi
