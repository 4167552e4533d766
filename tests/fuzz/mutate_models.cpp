// Damages real models in seeded, random ways and loads and runs them: every outcome but a result or an Error is a bug.
//
//   mutate_models FOLDER... [--seed N] [--per-model N] [--every N]

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "command_line/command_line.h"
#include "tessera/tessera.h"

namespace tessera::fuzz {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(chars.data());
  return {data, data + chars.size()};
}

/// One of: cut short, flip bits, overwrite with bytes that protobuf finds interesting, repeat or remove a stretch.
Bytes Mutate(Bytes model, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : static_cast<size_t>(random() % n); };
  constexpr std::byte interesting[] = {std::byte{0},    std::byte{1},    std::byte{0x7f},
                                       std::byte{0x80}, std::byte{0xff}, std::byte{0x0a}};
  switch (random() % 6) {
    case 0: model.resize(below(model.size())); break;
    case 1:
      for (size_t i = 0, n = 1 + below(8); i < n; ++i)
        model[below(model.size())] ^= std::byte{static_cast<unsigned char>(1u << (random() % 8))};
      break;
    case 2:
    case 3:
      for (size_t i = 0, n = 1 + below(4); i < n; ++i)
        model[below(model.size())] = interesting[below(std::size(interesting))];
      break;
    case 4: {
      const size_t begin = below(model.size()), length = std::min(1 + below(64), model.size() - begin);
      const Bytes copy(model.begin() + static_cast<std::ptrdiff_t>(begin),
                       model.begin() + static_cast<std::ptrdiff_t>(begin + length));
      model.insert(model.begin() + static_cast<std::ptrdiff_t>(below(model.size())), copy.begin(), copy.end());
      break;
    }
    default: {
      const size_t begin = below(model.size()), length = std::min(1 + below(64), model.size() - begin);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(begin),
                  model.begin() + static_cast<std::ptrdiff_t>(begin + length));
    }
  }
  return model;
}

/// Small zero tensors of the declared types; nothing for inputs that cannot be made up or would be large.
std::optional<std::vector<Value>> ZeroInputs(const Session& session) {
  std::vector<Value> inputs;
  for (const NamedType& input : session.inputs()) {
    if (!input.type.is_tensor() || !input.type.shape) return std::nullopt;
    Shape shape;
    for (const Dimension& dim : *input.type.shape) shape.Append(dim.known() ? dim.value : 2);
    if (shape.num_elements() > (1 << 20)) return std::nullopt;
    Tensor tensor(input.type.element, shape);
    if (!tensor.is(ElementType::kString))
      std::fill_n(static_cast<std::byte*>(tensor.mutable_raw()), tensor.byte_size(), std::byte{0});
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

struct Counts {
  int refused = 0, failed = 0, ran = 0, loaded = 0;
};

void Try(const Bytes& model, const SessionOptions& options, Counts& counts) {
  try {
    const Session session(model, options);
    ++counts.loaded;
    const auto inputs = ZeroInputs(session);
    if (!inputs) return;
    std::vector<Value> results(session.outputs().size());
    try {
      session.Run(*inputs, results);
      ++counts.ran;
    } catch (const Error&) {
      ++counts.failed;
    }
  } catch (const Error&) {
    ++counts.refused;
  }
}

int Main(int argc, char** argv) {
  CommandLine app{"Loads and runs damaged models; only results and errors may come of it"};
  std::vector<std::string> folders;
  uint32_t seed = 1;
  int per_model = 20, every = 1;
  app.Add("folders", folders, "Folders with .onnx files").Required();
  app.Add("--seed", seed, "Start of the random stream");
  app.Add("--per-model", per_model, "Mutations of each model");
  app.Add("--every", every, "Take one model of so many");
  if (const auto status = app.Parse(argc, argv)) return *status;
  std::vector<fs::path> models;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx" && entry.file_size() > 0 && entry.file_size() < (1 << 20))
        models.push_back(entry.path());
    }
  }
  std::sort(models.begin(), models.end());
  SessionOptions options;
  options.intra_op_threads = 1;
  options.arena.limit = int64_t{1} << 30;  // a damaged size must end in an error, not in the machine's last byte
  Counts counts;
  for (size_t i = 0; i < models.size(); i += static_cast<size_t>(every)) {
    const Bytes model = Read(models[i]);
    for (int n = 0; n < per_model; ++n) {
      // What ran last is known when the process dies.
      std::mt19937 random(seed * 1'000'003u + static_cast<uint32_t>(i) * 1009u + static_cast<uint32_t>(n));
      if (std::getenv("TESSERA_FUZZ_VERBOSE") != nullptr) fmt::print(stderr, "{} mutation {}\n", models[i].string(), n);
      Try(Mutate(model, random), options, counts);
    }
  }
  fmt::print("{} models: {} mutations refused, {} loaded, of which {} ran and {} failed with an error\n",
             (models.size() + static_cast<size_t>(every) - 1) / static_cast<size_t>(every), counts.refused, counts.loaded,
             counts.ran, counts.failed);
  return models.empty() ? 1 : 0;
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) { return tessera::fuzz::Main(argc, argv); }
