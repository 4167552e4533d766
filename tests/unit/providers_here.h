#pragma once

// The providers that can be used where the tests run.

#include <string>
#include <vector>

#include "tessera/provider/execution_provider.h"
#include "tessera/session.h"

namespace tessera::testing {

/// For a session on one provider and so many threads; what it cannot take goes to CPU.
inline SessionOptions OnProvider(const std::string& provider, int threads = 3) {
  SessionOptions options;
  options.log_level = LogLevel::kError;
  options.intra_op_threads = threads;
  options.error_on_failure = true;
  if (provider != "cpu") options.providers = {{provider, {}}};
  if (provider == "dnnl") options.providers[0].options["claims"] = "all";
  return options;
}

inline bool IsCompiledIn(std::string_view provider) {
  for (const ProviderFactory* factory : RegisteredProviders()) {
    if (factory->cli_name == provider) return true;
  }
  return false;
}

}  // namespace tessera::testing
