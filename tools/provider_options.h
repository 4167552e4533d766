#pragma once

// The -e, -i, --plugin and --operator-library flags that the tools share; the first two in the form of ONNX Runtime's.

#include <string>
#include <vector>

#include "command_line/command_line.h"
#include "tessera/session.h"

namespace tessera {

inline constexpr char kProviderOptionsHelp[] = "Options of the first provider: \"KEY|VALUE KEY|VALUE\"; may be repeated";

inline constexpr char kPluginHelp[] =
    "A library of providers, whose names -e takes then, too: PATH, or NAME=PATH; may be repeated. "
    "TESSERA_HARDWARE_DEVICES says which devices it is offered, if not the machine's";

inline constexpr char kOperatorLibraryHelp[] =
    "A library of operators that the model uses (RegisterCustomOps): PATH; may be repeated";

/// `--operator-library`'s, after `-e`. Throws UsageError.
void AddOperatorLibraries(SessionOptions& options, const std::vector<std::string>& libraries);

/// Registers `--plugin`'s libraries with the default environment. Throws UsageError.
void RegisterPlugins(const std::vector<std::string>& plugins);

/// "cpu, dnnl or opencl": what this build has, for --help.
std::string ProviderNames();

/// Throws UsageError where this build has no such provider.
void CheckProvider(const std::string& name);

/// "key|value key|value", in one word or several, for this provider. Throws UsageError.
ProviderOptions ParseProviderOptions(const std::string& provider, const std::vector<std::string>& words);

/// `-e`, and `-i` after it. Throws UsageError.
void SetProviders(SessionOptions& options, const std::vector<std::string>& names, const std::vector<std::string>& words);

}  // namespace tessera
