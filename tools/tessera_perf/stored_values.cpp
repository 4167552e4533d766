#include "stored_values.h"

#include <fmt/format.h>

#include <fstream>

#include "command_line/command_line.h"
#include "tessera/serialization.h"

namespace tessera::perf {

void WriteOutputs(const Session& session, std::span<const Value> results, const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw UsageError("--outputs", fmt::format("cannot make {}: {}", folder.string(), failure.message()));
  for (size_t i = 0; i < results.size(); ++i) {
    const NamedType& output = session.outputs()[i];
    const std::filesystem::path path = folder / fmt::format("output_{}.pb", i);
    const std::string bytes = SerializeValue(results[i], output.name, output.type);
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw Error(ErrorCode::kFail, fmt::format("cannot write {}", path.string()));
  }
}

}  // namespace tessera::perf
