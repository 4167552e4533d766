// Shows what a model is, which provider takes each node and why others refused, and what this build and machine offer.

#include <fmt/format.h>

#include <limits>

#include "command_line/command_line.h"
#include "load_model.h"
#include "placement_summary.h"
#include "provider_options.h"
#include "session_json.h"
#include "terminal.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/session.h"

namespace tessera::inspect {
namespace {

std::string Describe(const NamedType& value) {
  return fmt::format("{} {} {}", value.name, value.type.ToString(),
                     value.type.shape ? ToString(*value.type.shape) : std::string("(unknown rank)"));
}

void PrintModel(const Session& session) {
  const ModelMetadata& metadata = session.metadata();
  Print("graph '{}', IR {}, producer '{}' {}\n", metadata.graph_name, metadata.ir_version, metadata.producer_name,
        metadata.producer_version);
  for (const auto& [domain, version] : metadata.opsets) {
    Print("opset {} {}\n", domain.empty() ? "ai.onnx" : domain, version);
  }
  for (const NamedType& input : session.inputs()) Print("input  {}\n", Describe(input));
  for (const NamedType& output : session.outputs()) Print("output {}\n", Describe(output));
  for (const std::string& warning : session.warnings()) Print("warning: {}\n", warning);
}

void PrintProviders() {
  for (const ProviderFactory* provider : RegisteredProviders()) {
    std::string state = "available";
    try {
      ProviderOptions defaults;
      for (const OptionSchema& option : provider->options) defaults.emplace(option.name, option.default_value);
      provider->create(defaults);
      const std::string why = provider->why_not_by_default == nullptr ? "" : provider->why_not_by_default();
      if (!why.empty()) state += fmt::format(" where it is named: {}", why);
    } catch (const std::exception& error) {
      state = fmt::format("not available: {}", error.what());
    }
    Print("{} (-e {}): {}\n", provider->name, provider->cli_name, state);
    if (provider->devices != nullptr) {
      for (const std::string& device : provider->devices()) Print("  device: {}\n", device);
    }
    for (const OptionSchema& option : provider->options) {
      Print("  {} = {}  {}\n", option.name, option.default_value.empty() ? "\"\"" : option.default_value,
            option.description);
      if (!option.allowed.empty()) Print("      one of {}\n", fmt::join(option.allowed, ", "));
    }
  }
}

std::string Allowed(const OptionSchema& option) {
  constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
  switch (option.type) {
    case OptionType::kString: return "text";
    case OptionType::kBool: return "0, 1";
    case OptionType::kEnum: return fmt::format("{}", fmt::join(option.allowed, ", "));
    case OptionType::kInt:
    case OptionType::kBytes: break;
  }
  const std::string_view unit = option.type == OptionType::kBytes ? " bytes" : "";
  return option.maximum == kUnbounded ? fmt::format("{} or more{}", option.minimum, unit)
                                      : fmt::format("{} to {}{}", option.minimum, option.maximum, unit);
}

void PrintOptionTable(std::span<const OptionSchema> options) {
  Print("| option | default | allowed | meaning |\n|---|---|---|---|\n");
  for (const OptionSchema& option : options) {
    Print("| `{}` | {} | {} | {} |\n", option.name,
          option.default_value.empty() ? "" : fmt::format("`{}`", option.default_value), Allowed(option),
          option.description);
  }
}

/// The page docs/provider_options.md, from the declared schemas.
void PrintProviderOptions() {
  for (const ProviderFactory* provider : RegisteredProviders()) {
    Print("## {} (`-e {}`)\n\n", provider->name, provider->cli_name);
    if (provider->options.empty()) {
      Print("None.\n\n");
      continue;
    }
    PrintOptionTable(provider->options);
    Print("\n");
  }
}

std::string TypeNames(TypeSet types) {
  std::vector<std::string_view> names;
  for (int i = 1; i < kElementTypeCount; ++i) {
    if (types.contains(static_cast<ElementType>(i))) names.push_back(ElementTypeName(static_cast<ElementType>(i)));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

void PrintOperator(std::string_view op_type, std::string_view domain, int first_version, int last_version,
                   std::string_view types) {
  const std::string versions = last_version == kLatestVersion ? fmt::format("{}+", first_version)
                                                              : fmt::format("{}-{}", first_version, last_version);
  Print("| {} | {} | {} | {} |\n", op_type, domain.empty() ? "ai.onnx" : domain, versions,
        types.empty() ? "as the schema" : types);
}

/// Inputs that share a type set are one entry: "0: int8", "0-2: float".
std::string TypesByInput(std::span<const TypeSet> inputs) {
  std::string types;
  for (size_t begin = 0, end = 0; begin < inputs.size(); begin = end) {
    while (end < inputs.size() && inputs[end] == inputs[begin]) ++end;
    const std::string range = end == inputs.size() ? fmt::format("{}+", begin)
                              : end == begin + 1   ? fmt::format("{}", begin)
                                                   : fmt::format("{}-{}", begin, end - 1);
    types += fmt::format("{}{}: {}", types.empty() ? "" : "; ", range, TypeNames(inputs[begin]));
  }
  return types;
}

constexpr std::string_view kOperatorTable =
    "| operator | domain | versions | element types by input |\n|---|---|---|---|\n";

/// What a provider without kernels compiles, by name.
void PrintCompiled(const ExecutionProvider& provider) {
  std::vector<CompiledOperator> operators = provider.CompiledOperators();
  std::sort(operators.begin(), operators.end(), [](const CompiledOperator& a, const CompiledOperator& b) {
    return std::tie(a.domain, a.op_type) < std::tie(b.domain, b.op_type);
  });
  PrintLines("Compiles whole subgraphs of these operators; which of them it claims is for its options to say.\n\n");
  PrintLines(kOperatorTable);
  for (const CompiledOperator& one : operators)
    PrintOperator(one.op_type, one.domain, one.first_version, one.last_version, TypesByInput(one.inputs));
  Print("\n");
}

/// The table of docs/operators.md, from the kernel registries and what providers say that they compile.
void PrintOperators() {
  for (const ProviderFactory* factory : RegisteredProviders()) {
    Print("## {}\n\n", factory->name);
    std::unique_ptr<ExecutionProvider> provider;
    try {
      ProviderOptions defaults;
      for (const OptionSchema& option : factory->options) defaults.emplace(option.name, option.default_value);
      provider = factory->create(defaults);
    } catch (const std::exception& error) {
      Print("Not available where this was generated: {}\n\n", error.what());
      continue;
    }
    const auto definitions = provider->kernels().definitions();
    if (definitions.empty()) {
      PrintCompiled(*provider);
      continue;
    }
    PrintLines(kOperatorTable);
    for (const KernelDef* def : definitions) {
      if (def->domain() == "ai.tessera") continue;  // the optimizer's own, on some machines
      std::string types;
      for (const auto& [input, set] : def->input_types()) {
        types += fmt::format("{}{}: {}", types.empty() ? "" : "; ", input, TypeNames(set));
      }
      PrintOperator(def->op_type(), def->domain(), def->first_version(), def->last_version(), types);
    }
    Print("\n");
  }
}

struct Arguments {
  std::string model;
  std::vector<std::string> providers, provider_options, plugins, operator_libraries;
  int optimization = 99;
  std::string precision;
  std::filesystem::path optimized;
  bool placement = false, verbose = false, optimization_report = false, json = false, dot = false;
  bool list_providers = false, list_operators = false, list_provider_options = false, list_session_config = false;
};

void AddOptions(CommandLine& app, Arguments& arguments) {
  app.Add("model", arguments.model, "The .onnx file");
  app.Add("-e", arguments.providers,
          "Execution provider, " + ProviderNames() +
              "; once for each, in priority order (default: all that suit this machine)");
  app.Add("-i", arguments.provider_options, kProviderOptionsHelp);
  app.Add("--plugin", arguments.plugins, kPluginHelp);
  app.Add("--operator-library", arguments.operator_libraries, kOperatorLibraryHelp);
  app.Add("-o", arguments.optimization, "Graph optimization level").OneOf({0, 1, 2, 3, 99});
  app.Add("--precision", arguments.precision, "What matmuls may be computed in (session.precision)")
      .OneOf({"f32", "bf16", "bf16-weights", "fp16", "int8-dynamic"});
  app.Flag("--placement", arguments.placement, "How many nodes each provider has, and why others refused how many");
  app.Flag("--verbose", arguments.verbose, "With --placement: each node, its provider, the others' refusals, each copy");
  app.Flag("--optimization", arguments.optimization_report, "What the optimizer's passes did");
  app.Add("--write-optimized", arguments.optimized, "Write what the optimizer made of the model here, as a model of ONNX");
  app.Flag("--json", arguments.json,
           "Metadata, inputs, outputs, sizes and placement as one JSON object; with --optimization each pass, too");
  app.Flag("--dot", arguments.dot, "The placement as a Graphviz drawing");
  app.Flag("--providers,--devices", arguments.list_providers,
           "The compiled-in providers, whether each starts here, their options");
  app.Flag("--operators", arguments.list_operators, "Operators by provider, as Markdown");
  app.Flag("--provider-options", arguments.list_provider_options, "Options by provider, as Markdown");
  app.Flag("--session-config", arguments.list_session_config, "Entries of a session's configuration, as Markdown");
}

/// What does not take a model; false where none of it is asked for.
bool PrintLists(const Arguments& arguments) {
  if (arguments.list_providers) PrintProviders();
  if (arguments.list_operators) PrintOperators();
  if (arguments.list_provider_options) PrintProviderOptions();
  if (arguments.list_session_config) PrintOptionTable(session_config_schema());
  return arguments.list_providers || arguments.list_operators || arguments.list_provider_options ||
         arguments.list_session_config;
}

SessionOptions MakeSessionOptions(const Arguments& arguments) {
  SessionOptions options;
  options.optimization_level = static_cast<OptimizationLevel>(arguments.optimization);
  RegisterPlugins(arguments.plugins);
  SetProviders(options, arguments.providers, arguments.provider_options);
  options.error_on_failure = !arguments.providers.empty();
  if (arguments.providers.empty()) {
    for (const std::string& name : available_providers()) options.providers.push_back({name, {}});
  }
  AddOperatorLibraries(options, arguments.operator_libraries);
  options.optimized_model_path = arguments.optimized;
  if (!arguments.precision.empty()) options.config["session.precision"] = arguments.precision;
  return options;
}

void PrintSession(const Session& session, const Arguments& arguments) {
  if (arguments.dot) return PrintLines(session.placement().ToDot());
  if (arguments.json) return PrintLines(ToJson(session, arguments.model, arguments.optimization_report) + "\n");
  PrintModel(session);
  if (arguments.optimization_report) PrintLines("\n" + session.optimization().ToText());
  if (arguments.verbose) PrintLines("\n" + session.placement().ToText() + "\n");
  else if (arguments.placement) PrintLines("\n" + Summarize(session.placement()));
}

int Main(int argc, char** argv) {
  CommandLine app{"Shows a model, its placement on providers, and what this build offers"};
  Arguments arguments;
  AddOptions(app, arguments);
  if (const auto status = app.Parse(argc, argv)) return *status;
  try {
    const bool listed = PrintLists(arguments);
    if (!arguments.model.empty()) {
      PrintSession(LoadModel(arguments.model, MakeSessionOptions(arguments)), arguments);
    } else if (argc == 1) {
      PrintLines(app.Help());
    } else if (!listed) {
      throw UsageError("model", "say which model, or give one of the options that list something (--help)");
    }
    return kDone;
  } catch (const UsageError& error) {
    return app.Exit(error);
  } catch (const Error& error) {
    Print(stderr, "tessera_inspect: {}\n", error.what());
    return kFailed;
  } catch (const std::exception& error) {
    Print(stderr, "tessera_inspect: {}\n", error.what());
    return kBroken;
  }
}

}  // namespace
}  // namespace tessera::inspect

int main(int argc, char** argv) { return tessera::inspect::Main(argc, argv); }
