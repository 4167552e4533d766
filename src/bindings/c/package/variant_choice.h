#pragma once

// Which variant of a component a session takes.

#include <string>
#include <string_view>
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
  bool trusts_installed = false;            // packages that call themselves installed may lead out of their folders
};

namespace tessera::c_abi {

/// An entry of the program's configuration, by which it says so. Packages cannot.
inline constexpr std::string_view kTrustInstalled = "session.trust_installed_packages";

/// Throws Error for options that choose no device.
OrtModelPackageOptions* PackageOptionsOf(const OrtEnv& env, const OrtSessionOptions& session);

/// Throws Error(kFail) where none fits, and where files of the one that does lie outside of a package that may not say so.
const PackageVariant& ChooseVariant(const PackagePlaces& places, const PackageComponent& component,
                                    const OrtModelPackageOptions& options);

}  // namespace tessera::c_abi
