// Damaged files of Tessera's own: contexts and compiled programs. The input is a list of changes to a file that Tessera
// wrote, with its checksums set right again or not.

#include <cstdlib>
#include <fstream>

#include "../fixed_models.h"
#include "base/load_limits.h"
#include "choices.h"
#include "harness.h"
#include "opencl/device/program_cache.h"
#include "runtime/threads/thread_pools.h"
#include "session/context/context_file.h"

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;
using FileBytes = std::vector<std::byte>;

FileBytes Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

void Write(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// Overwrites, puts in, takes out, cuts off.
void Change(FileBytes& bytes, Choices& choices) {
  for (size_t n = 1 + choices.Below(4); n > 0 && !bytes.empty(); --n) {
    const uint8_t kind = choices.Byte();
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(choices.Number<uint32_t>() % bytes.size());
    const auto rest = static_cast<size_t>(bytes.end() - at);
    if (kind % 8 == 7) {
      bytes.erase(at, bytes.end());
    } else if (kind % 8 == 6) {
      bytes.erase(at, at + static_cast<std::ptrdiff_t>(std::min(rest, 1 + choices.Below(64))));
    } else if (kind % 8 == 5) {
      bytes.insert(at, choices.Below(64), static_cast<std::byte>(choices.Byte()));
    } else if (kind % 8 >= 3) {  // a count or an index
      const auto number = choices.Number<uint64_t>();
      std::copy_n(reinterpret_cast<const std::byte*>(&number), std::min<size_t>(rest, size_t{1} << kind % 4), at);
    } else {
      *at ^= static_cast<std::byte>(uint8_t{1} << choices.Below(8));
    }
  }
}

SessionOptions WithContext(const fs::path& path) {
  SessionOptions options = OptionsOf(0, 8);
  options.config["session.context_enable"] = "1";
  options.config["session.context_embed_mode"] = "1";
  options.config["session.context_file_path"] = path.string();
  return options;
}

/// A model and the context of a session of it.
struct Context {
  FixedModel model;
  fs::path file, path;
  FileBytes whole, description, data;
};

const std::vector<Context>& Contexts() {
  static const auto* const contexts = [] {
    auto* const made = new std::vector<Context>;
    for (FixedModel& model : FixedModels()) {
      Context context{std::move(model)};
      context.file = ScratchFolder() / (context.model.name + ".onnx");
      context.path = ScratchFolder() / (context.model.name + ".context");
      const std::string bytes = context.model.proto.SerializeAsString();
      Write(context.file, std::as_bytes(std::span(bytes)));
      if (!Session(context.file, WithContext(context.path)).context().written) std::abort();
      const ContextFile file(context.path);
      context.description.assign(file.description().begin(), file.description().end());
      context.data.assign(file.data().begin(), file.data().end());
      context.whole = Read(context.path);
      made->push_back(std::move(context));
    }
    return made;
  }();
  return *contexts;
}

void TryContext(Choices& choices) {
  const Context& context = Contexts()[choices.Below(Contexts().size())];
  if (choices.Flag()) {
    FileBytes description = context.description;
    Change(description, choices);
    ContextLayout layout;
    layout.Add(context.data.data(), context.data.size());
    const auto pool = MakeSerialPool();
    WriteContextFile(context.path, layout, description, *pool, LoadLimits::None());
  } else {
    FileBytes whole = context.whole;
    Change(whole, choices);
    Write(context.path, whole);
  }
  const Session session(context.file, WithContext(context.path));
  WithDeadline([&](const RunOptions& options) {
    std::vector<Value> results(session.outputs().size());
    session.Run(context.model.inputs, results, options);
  });
}

/// A program is there as it was, or not at all.
void TryProgram(Choices& choices) {
  const std::string key = "key" + choices.Text();
  const std::string text = choices.Text() + "program";
  const auto program = std::as_bytes(std::span(text));
  const opencl::ProgramCache cache(ScratchFolder() / "programs");
  cache.Store(key, program);
  FileBytes file = Read(cache.Path(key));
  Change(file, choices);
  Write(cache.Path(key), file);
  if (const auto loaded = cache.Load(key); loaded && !std::ranges::equal(*loaded, program)) std::abort();
  fs::remove(cache.Path(key));
}

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  Choices choices({data, size});
  Tolerate([&] { choices.Below(4) == 0 ? TryProgram(choices) : TryContext(choices); });
  return 0;
}
