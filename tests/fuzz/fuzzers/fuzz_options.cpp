// Settings of any value: configuration entries, providers and their options, dimensions, sizes of pools, levels, files
// beside the model. The input is a list of them; the session made so is run, and made once more where it wrote a context.

#include <fstream>
#include <limits>

#include "../fixed_models.h"
#include "choices.h"
#include "harness.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::fuzz {
namespace {

/// Values that some option takes, beside those of the input.
std::string AnySetting(Choices& choices, const OptionSchema& schema) {
  static const std::string settings[] = {"",    "0",   "1",    "true", "-1", "2", "64", "1M", "99999999999999999999",
                                         "1e3", "all", "auto", " 1",   "16k"};
  const size_t allowed = schema.allowed.size(), i = choices.Below(std::size(settings) + allowed + 2);
  if (i < allowed) return std::string(schema.allowed[i]);
  if (i < allowed + std::size(settings)) return settings[i - allowed];
  return i == allowed + std::size(settings) ? std::string(schema.default_value) : choices.Text();
}

/// A name in the fuzzer's own folder: it runs as root, too.
std::string ScratchName(Choices& choices) {
  std::string name = choices.Text();
  for (char& c : name) {
    if (c == '/' || c == '\0') c = '_';
  }
  return (ScratchFolder() / ("f" + name.substr(0, 200))).string();
}

bool NamesFile(std::string_view option) { return option.find("path") != std::string_view::npos; }

template <class Options>
void Set(Choices& choices, std::span<const OptionSchema> schemas, Options& options) {
  if (schemas.empty() || choices.Below(16) == 0) {
    const std::string name = choices.Text();
    options[name] = choices.Text();
    return;
  }
  const OptionSchema& schema = schemas[choices.Below(schemas.size())];
  options[std::string(schema.name)] = NamesFile(schema.name) ? ScratchName(choices) : AnySetting(choices, schema);
}

void AddProvider(Choices& choices, SessionOptions& options) {
  const auto factories = RegisteredProviders();
  const size_t i = choices.Below(4 * factories.size() + 1);  // OpenCL's compiler is slow
  const ProviderFactory& factory =
      i == 0 ? *factories[0] : *factories[std::min(factories.size() - 1, 1 + i % factories.size())];
  ProviderRequest request{i == 4 * factories.size() ? choices.Text() : std::string(factory.name), {}};
  for (size_t n = choices.Below(3); n > 0; --n) Set(choices, factory.options, request.options);
  options.providers.push_back(std::move(request));
}

int AnyThreads(Choices& choices) {
  constexpr int numbers[] = {0,  1, 2, 3, 5, -1, -2, std::numeric_limits<int>::min(),
                             300};  // more than the sanitizer has room for is no use
  return numbers[choices.Below(std::size(numbers))];
}

void SetOne(Choices& choices, SessionOptions& options, EnvironmentOptions& environment) {
  switch (choices.Below(14)) {
    case 0: return AddProvider(choices, options);
    case 1: {
      const std::string name = choices.Flag() ? "N" : choices.Text();
      options.free_dimensions[name] = choices.Flag() ? choices.Byte() : choices.Number<int64_t>();
      return;
    }
    case 2: options.intra_op_threads = AnyThreads(choices); return;
    case 3: options.inter_op_threads = AnyThreads(choices); return;
    case 4: options.execution_mode = static_cast<ExecutionMode>(choices.Below(3)); return;
    case 5:
      options.optimization_level = static_cast<OptimizationLevel>(choices.Flag() ? choices.Below(4) : choices.Byte());
      return;
    case 6: options.arena.limit = choices.Flag() ? choices.Number<int64_t>() : choices.Byte() * 1024; return;
    case 7: options.arena.extend = static_cast<ArenaExtendStrategy>(choices.Below(3)); return;
    case 8: options.optimized_model_path = ScratchName(choices); return;
    case 9: options.profile_prefix = ScratchName(choices); return;
    case 10:
      environment.global_intra_op_threads = AnyThreads(choices);
      options.use_global_threads = choices.Flag();
      return;
    case 11:
      options.enable_arena = choices.Flag();
      options.enable_memory_pattern = choices.Flag();
      return;
    case 12: options.load_timeout = std::chrono::milliseconds(choices.Number<int32_t>()); return;
    default: return Set(choices, session_config_schema(), options.config);
  }
}

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  static const std::vector<FixedModel> models = FixedModels();
  Choices choices({data, size});
  const FixedModel& model = models[choices.Below(models.size())];
  tessera::SessionOptions options;
  options.log_level = tessera::LogLevel::kFatal;
  tessera::EnvironmentOptions environment;
  constexpr size_t kMostSettings = 12;
  for (size_t i = 0; i < kMostSettings && !choices.done(); ++i) SetOne(choices, options, environment);
  const std::filesystem::path path = ScratchFolder() / (model.name + ".onnx");
  if (!std::filesystem::exists(path)) std::ofstream(path, std::ios::binary) << model.proto.SerializeAsString();
  for (int i = 0; i < 2; ++i) {
    Tolerate([&] {
      tessera::Session session(path, options, tessera::Environment(environment));
      WithDeadline([&](const tessera::RunOptions& run) {
        std::vector<tessera::Value> results(session.outputs().size());
        session.Run(model.inputs, results, run);
        session.Run(model.other_inputs, results, run);
      });
    });
  }
  for (const auto& entry : std::filesystem::directory_iterator(ScratchFolder())) {
    std::error_code ignored;
    if (entry.path().extension() != ".onnx") std::filesystem::remove_all(entry.path(), ignored);
  }
  return 0;
}
