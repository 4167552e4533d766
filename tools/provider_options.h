#pragma once

// The -e and -i flags that the tools share, in the form of ONNX Runtime's.

#include <string>
#include <vector>

#include "command_line/command_line.h"
#include "tessera/session.h"

namespace tessera {

inline constexpr char kProviderOptionsHelp[] = "Options of the first provider: \"KEY|VALUE KEY|VALUE\"; may be repeated";

/// "cpu, dnnl or opencl": what this build has, for --help.
std::string ProviderNames();

/// Throws UsageError where this build has no such provider.
void CheckProvider(const std::string& name);

/// "key|value key|value", in one word or several, for this provider. Throws UsageError.
ProviderOptions ParseProviderOptions(const std::string& provider, const std::vector<std::string>& words);

/// `-e`, and `-i` after it. Throws UsageError.
void SetProviders(SessionOptions& options, const std::vector<std::string>& names, const std::vector<std::string>& words);

}  // namespace tessera
