#pragma once

// Options that packages set: strangers write packages, so these touch nothing but the session.

#include <filesystem>
#include <string_view>

#include "bindings/c/package/package.h"

namespace tessera::c_abi {

/// Makes the paths among them whole. Throws Error(kFail) for what is the program's to say: limits, files that are written,
/// files and libraries that providers open. `base`: the folder that paths are read from; `where`: who says it.
void TakePackageOptions(PackageVariant& variant, const PackagePlaces& places, const std::filesystem::path& base,
                        std::string_view where);

/// Whether sessions take the option of a package's. All others are left out, however they came to be there.
bool IsTaken(std::string_view key, std::string_view value);

/// Whether the option of a session names a file or folder of the package.
bool IsPathOption(std::string_view key);

}  // namespace tessera::c_abi
