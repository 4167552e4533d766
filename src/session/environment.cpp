#include "session/environment.h"

namespace tessera {

Environment::Environment(EnvironmentOptions options) : state_(std::make_shared<State>()) { state_->options = std::move(options); }

Environment& Environment::Default() {
  static Environment environment;
  return environment;
}

const EnvironmentOptions& Environment::options() const noexcept { return state_->options; }

std::string_view version() noexcept { return TESSERA_VERSION; }

}  // namespace tessera
