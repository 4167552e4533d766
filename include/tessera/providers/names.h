#pragma once

// The names of the providers in this library, by which sessions ask for them.

namespace tessera {

inline constexpr char kCpuProvider[] = "CPUExecutionProvider";
inline constexpr char kOnednnProvider[] = "DnnlExecutionProvider";
inline constexpr char kOpenclProvider[] = "OpenCLExecutionProvider";

}  // namespace tessera
