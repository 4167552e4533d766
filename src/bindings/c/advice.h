#pragma once

namespace tessera::c_abi {

// What to use instead of entries that are not implemented.
inline constexpr char kControlFlow[] =
    "control flow is run by Tessera's own kernels, and a library is asked about its nested graphs as about any: leave If, "
    "Loop and Scan, or claim them as part of a group";

}  // namespace tessera::c_abi
