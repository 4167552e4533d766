#include "tessera/error.h"

#include "base/check.h"
#include "tessera/printable.h"

namespace tessera {

Error::Error(ErrorCode code, const std::string& message) : std::runtime_error(PrintableLines(message)), code_(code) {}

Error Error::At(std::string_view where) const { return Error(code_, std::string(where) + ": " + what()); }

void FailWith(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

}  // namespace tessera
