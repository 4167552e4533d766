#include "load_model.h"

#include <span>

#include "command_line/command_line.h"
#include "tessera/error.h"

namespace tessera {
namespace {

// y = Identity(x), of one float: IR 8, opset 13, as a protobuf message.
constexpr char kIdentity[] =
    "\x08\x08\x3a\x37"                                                   // ir_version, graph
    "\x0a\x10\x0a\x01x\x12\x01y\x22\x08Identity\x12\x01g"                // node, name
    "\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  // input
    "\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  // output
    "\x42\x02\x10\x0d";                                                  // opset_import

/// Whether a model that nothing is wrong with loads with these options. Writes nothing.
bool LoadsSoundModel(SessionOptions options) {
  options.optimized_model_path.clear();
  options.profile_prefix.clear();
  std::erase_if(options.config, [](const auto& entry) {
    return entry.first.starts_with("session.context") || entry.first.starts_with("ep.context");
  });
  try {
    const Session session(std::as_bytes(std::span(kIdentity, sizeof(kIdentity) - 1)), options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Session LoadModel(const std::filesystem::path& model, const SessionOptions& options) {
  try {
    return Session(model, options);
  } catch (const Error& error) {
    // kFail: the machine has no more memory or threads now, whatever was asked for.
    if (error.code() == ErrorCode::kNoSuchFile || error.code() == ErrorCode::kFail || LoadsSoundModel(options)) throw;
    throw UsageError("options", error.what());
  }
}

}  // namespace tessera
