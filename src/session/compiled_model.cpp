#include "session/compiled_model.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "graph/graph.h"

namespace tessera {
namespace {

bool HasContext(const EarlyPart& part) { return part.kernel != nullptr && !part.context.op_type.empty(); }

/// A graph of the context nodes alone, for providers to describe.
std::unique_ptr<Graph> ContextNodesOf(const EarlyParts& early, const SessionResources& resources) {
  auto compiled = std::make_unique<Graph>();
  compiled->set_limits(resources.limits);
  compiled->set_opsets({{"com.microsoft", 1}});
  const auto value_of = [&](const EarlyPart& part, const std::string& name) {
    if (name.empty()) return kNone;
    const ValueIndex known = compiled->FindValue(name);
    return known != kNone ? known : compiled->AddValue(name, part.graph->value(part.graph->FindValue(name)).type);
  };
  for (const EarlyPart& part : early.parts) {
    if (!HasContext(part)) continue;
    Node node;
    node.name = part.context.name;
    node.op_type = part.context.op_type;
    node.domain = part.context.domain;
    node.since_version = 1;
    node.attributes = part.context.attributes;
    for (const std::string& input : part.context.inputs) node.inputs.push_back(value_of(part, input));
    for (const std::string& output : part.context.outputs) node.outputs.push_back(value_of(part, output));
    compiled->AddNode(std::move(node));
  }
  for (ValueIndex value = 0; static_cast<size_t>(value) < compiled->num_values(); ++value) {
    if (compiled->value(value).producer == kNone) compiled->AddInput(value);
    if (compiled->value(value).consumers.empty()) compiled->AddOutput(value);
  }
  return compiled;
}

}  // namespace

std::string CompatibilityKey(std::string_view provider) { return fmt::format("ep_compatibility_info.{}", provider); }

void RequireRoomForCompiledModel(const CompiledModelOptions& options) {
  if (options.path.empty() || options.write) return;
  std::error_code none;
  Require(options.path.has_filename() && !is_directory(options.path, none),
          "the compiled model's path is '{}', a folder: give a file", options.path.string());
  if (!options.overwrite && exists(options.path, none)) {
    Fail(ErrorCode::kFail, "{} exists already: remove it to have the compiled model written there again",
         options.path.string());
  }
}

void WriteCompiledModel(const Model& model, const EarlyParts& early, const SessionResources& resources,
                        const CompiledModelOptions& options, const Logger& log) {
  if (!options.wanted()) return;
  if (std::ranges::none_of(early.parts, HasContext)) {
    using enum CompiledModelOptions::IfNothingCompiled;
    const auto nothing = "no provider of the session compiled a part of the model ahead of time";
    if (options.if_nothing == kFail) Fail(ErrorCode::kFail, "{}: name one that does", nothing);
    const bool write = options.if_nothing == kWriteModel;
    log(LogLevel::kWarning, "{}; {}", nothing, write ? "it is written as it is" : "none is written");
    if (!write) return;
  }
  ModelMetadata metadata = model.metadata;
  const std::unique_ptr<Graph> compiled = ContextNodesOf(early, resources);  // without nodes where nothing was
  const GraphViewer viewer(*compiled);
  for (const ProviderEntry& entry : resources.providers) {
    const std::string info = entry.provider->CompatibilityInfo(viewer);
    if (!info.empty()) metadata.custom.insert_or_assign(CompatibilityKey(entry.provider->name()), info);
  }
  const auto part_of = [&](const Node& node) -> std::optional<OpaquePart> {
    const EarlyPart* part = FindEarlyPart(early.parts, node);
    return part == nullptr ? std::nullopt : std::optional(OpaquePart{&part->context, part->graph.get()});
  };
  WriteModel(*model.graph, metadata, options, part_of);
  if (!options.write) log(LogLevel::kInfo, "the compiled model is at {}", options.path.string());
}

}  // namespace tessera
