#include "model/model.h"

#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "base/mapped_file.h"
#include "base/regular_file.h"
#include "base/value_type.h"
#include "graph/provenance.h"
#include "model/convert.h"
#include "model/external_data.h"
#include "model/functions.h"
#include "model/large_data.h"
#include "model/message_bytes.h"
#include "model/ort_model.h"
#include "model/replaced_weights.h"
#include "model/unknown_attributes.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

constexpr int64_t kOldestIr = 1;
void CheckVersions(onnx::ModelProto& model) {
  if (!model.has_graph()) Fail(ErrorCode::kInvalidProtobuf, "the bytes hold no ONNX model: there is no graph");
  if (model.ir_version() < kOldestIr || model.ir_version() > onnx::Version::IR_VERSION) {
    Fail(ErrorCode::kInvalidGraph, "IR version {} is not supported; this build reads {} to {}", model.ir_version(),
         kOldestIr, static_cast<int64_t>(onnx::Version::IR_VERSION));
  }
  if (model.opset_import_size() == 0) {
    if (model.ir_version() >= 3) Fail(ErrorCode::kInvalidGraph, "the model imports no operator set");
    model.add_opset_import()->set_version(1);
  }
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& import : model.opset_import()) {
    const auto range = ranges.find(import.domain() == "ai.onnx" ? "" : import.domain());
    if (range != ranges.end() && (import.version() < 1 || import.version() > range->second.second)) {
      Fail(ErrorCode::kInvalidGraph, "opset {} of domain '{}' is not supported; this build knows 1 to {}", import.version(),
           import.domain().empty() ? "ai.onnx" : import.domain(), range->second.second);
    }
  }
}

/// The names that dimensions of the graph's values have, sorted.
std::set<std::string_view> SymbolsOf(const Graph& graph) {
  std::set<std::string_view> symbols;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const TypeInfo& type = graph.value(static_cast<ValueIndex>(i)).type;
    if (!type.shape) continue;
    for (const Dimension& dim : *type.shape) {
      if (!dim.symbol.empty()) symbols.insert(dim.symbol);
    }
  }
  return symbols;
}

/// `sizes`: of the caller's names, and of others that the model has.
void FixDimensions(Graph& graph, const LoadOptions& options, const std::map<std::string, int64_t>& sizes) {
  if (sizes.empty()) return;
  const std::set<std::string_view> symbols = SymbolsOf(graph);
  for (const auto& [name, size] : options.free_dimensions) {
    Require(size >= 0, "free dimension '{}' cannot be {}", name, size);
    Require(options.ignore_unknown_dimensions || symbols.contains(name),
            "the model has no free dimension '{}' (its dimensions: {})", name,
            symbols.empty() ? "none has a name" : fmt::format("{}", fmt::join(symbols, ", ")));
  }
  for (size_t i = 0; i < graph.num_values(); ++i) {
    TypeInfo& type = graph.value(static_cast<ValueIndex>(i)).type;
    if (!type.shape) continue;
    for (Dimension& dim : *type.shape) {
      const auto size = sizes.find(dim.symbol);
      if (size != sizes.end()) dim = {size->second, {}};
    }
  }
}

/// All that a graph computes has a type by what it is given: of that callers may give anything where the model does not say
/// what.
void CheckInputTypes(const Graph& graph) {
  for (const ValueIndex index : graph.inputs()) {
    const GraphValue& input = graph.value(index);
    if (IsComplete(input.type)) continue;
    Fail(ErrorCode::kInvalidGraph,
         "input '{}' is declared as {}: its element type is missing; declare one, such as tensor(float)", input.name,
         input.type);
  }
}

ModelMetadata MetadataOf(const onnx::ModelProto& model) {
  ModelMetadata metadata;
  metadata.producer_name = model.producer_name();
  metadata.producer_version = model.producer_version();
  metadata.domain = model.domain();
  metadata.description = model.doc_string();
  metadata.graph_name = model.graph().name();
  metadata.graph_description = model.graph().doc_string();
  metadata.version = model.model_version();
  metadata.ir_version = model.ir_version();
  for (const auto& entry : model.metadata_props()) metadata.custom[entry.key()] = entry.value();
  for (const auto& import : model.opset_import()) metadata.opsets[import.domain()] = import.version();
  return metadata;
}

/// Finds data that is not in the parsed message: what the loader left in the file, and external files. Copies share the
/// state.
TensorDataSource MakeSource(StrippedModel stripped, const SharedBytes& model, std::shared_ptr<ExternalData> external) {
  struct State {
    StringMap<std::span<const std::byte>> stripped;
    SharedBytes model;
    std::shared_ptr<ExternalData> external;
  };
  const auto state = std::make_shared<State>(std::move(stripped.data), model, std::move(external));
  return [state](const onnx::TensorProto& tensor) -> std::optional<SharedBytes> {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return state->external->Find(tensor);
    const auto data = state->stripped.find(tensor.raw_data());
    if (data == state->stripped.end()) return std::nullopt;
    return SharedBytes{data->second, state->model.owner};
  };
}

/// The bytes of a serialized message; ends where the load is stopped.
class StoppableStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  StoppableStream(std::string_view bytes, const LoadLimits& limits) : rest_(bytes), limits_(limits) {}

  bool Next(const void** data, int* size) override {
    if (rest_.empty() || limits_.stopped()) return false;
    const std::string_view piece = rest_.substr(0, kPiece);
    *data = piece.data();
    *size = static_cast<int>(piece.size());
    rest_.remove_prefix(piece.size());
    read_ += static_cast<int64_t>(piece.size());
    return true;
  }
  void BackUp(int count) override {
    rest_ = {rest_.data() - count, rest_.size() + static_cast<size_t>(count)};
    read_ -= count;
  }
  bool Skip(int count) override {
    const auto skipped = std::min(rest_.size(), static_cast<size_t>(count));
    rest_.remove_prefix(skipped);
    read_ += static_cast<int64_t>(skipped);
    return skipped == static_cast<size_t>(count);
  }
  int64_t ByteCount() const override { return read_; }

 private:
  static constexpr size_t kPiece = size_t{256} << 10;  // parsed in a few milliseconds

  std::string_view rest_;
  const LoadLimits& limits_;
  int64_t read_ = 0;
};

/// The message and its parsed form, before they are there.
MemoryCharge ChargeMessage(const std::string& message, const LoadLimits& limits) {
  const size_t bytes = ParsedBytes(std::as_bytes(std::span(message)), limits);
  try {
    return MemoryCharge(limits.memory(), message.size() + bytes);
  } catch (const Error& error) {
    throw error.At(fmt::format("the model's {} bytes beside its weights", message.size()));
  }
}

onnx::ModelProto ParseModel(const std::string& message, const LoadLimits& limits) {
  constexpr size_t kMostBytes = 0x7fffffff;
  if (message.size() > kMostBytes) {
    Fail(ErrorCode::kInvalidProtobuf, "the model has {} bytes beside its weights, protobuf reads at most {}",
         message.size(), kMostBytes);
  }
  onnx::ModelProto proto;
  StoppableStream stream(message, limits);
  const bool good = proto.ParseFromZeroCopyStream(&stream);
  limits.Check();
  if (!good) Fail(ErrorCode::kInvalidProtobuf, "the model is not a valid protobuf message (truncated or damaged)");
  return proto;
}

constexpr size_t kParsedTimes = 4;  // what a parsed message takes, in terms of its bytes

/// Whichever format the bytes are in. `stripped` gets what stays in them, `charge` what the message takes.
onnx::ModelProto ReadModel(std::span<const std::byte> bytes, const LoadLimits& limits, StrippedModel& stripped,
                           MemoryCharge& charge) {
  if (IsOrtModel(bytes)) {
    onnx::ModelProto proto = ReadOrtModel(bytes, limits, stripped.data);
    charge = MemoryCharge(limits.memory(), kParsedTimes * proto.ByteSizeLong());
    return proto;
  }
  stripped = StripLargeData(bytes, limits);
  charge = ChargeMessage(stripped.message, limits);
  onnx::ModelProto proto = ParseModel(stripped.message, limits);
  stripped.message = {};
  return proto;
}

/// How the model's files are opened.
FileOpener OpenerOf(const LoadOptions& options) {
  if (!options.copy_files) return [](const std::filesystem::path& path) { return MapFile(path); };
  return [limits = options.limits, on_data = options.on_data](const std::filesystem::path& path) {
    const RegularFile file(path);
    constexpr size_t kBlock = 512;  // the unit of st_blocks
    if (on_data)
      on_data(std::min(file.size(), static_cast<size_t>(file.status().st_blocks) * kBlock));  // a copy is data, too
    return CopyFile(file, limits == nullptr ? HostAllocator() : limits->memory());
  };
}

/// What the caller gives in place of files.
FilesInMemory FilesFor(onnx::ModelProto& proto, const LoadOptions& options) {
  FilesInMemory files;
  for (const auto& [name, bytes] : options.external_files) {
    // The caller keeps them: that something owns them is what makes weights lie there.
    files.emplace(name, SharedBytes{bytes, std::shared_ptr<const void>(bytes.data(), [](const void*) {})});
  }
  ReplaceWeights(proto, options, files);
  return files;
}

std::map<std::string, std::string, std::less<>> DenotationsOf(const onnx::GraphProto& graph) {
  std::map<std::string, std::string, std::less<>> denotations;
  for (const auto* values : {&graph.input(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (!value.type().denotation().empty()) denotations.emplace(value.name(), value.type().denotation());
    }
  }
  return denotations;
}

Model Load(const SharedBytes& file, const DataFolders& folders, const LoadOptions& options) {
  if (file.bytes.empty()) Fail(ErrorCode::kInvalidProtobuf, "the model is empty");
  if (options.on_data) options.on_data(file.bytes.size());
  const LoadLimits& limits = options.limits == nullptr ? LoadLimits::None() : *options.limits;
  StrippedModel stripped;
  MemoryCharge charge(limits.memory(), 0);
  onnx::ModelProto proto = ReadModel(file.bytes, limits, stripped, charge);
  CheckVersions(proto);
  std::map<std::string, int64_t> sizes = options.free_dimensions;
  FixDenotedDimensions(proto, options, sizes);
  Model model;
  model.metadata = MetadataOf(proto);
  model.has_version = proto.has_model_version();
  model.denotations = DenotationsOf(proto.graph());
  const auto external =
      std::make_shared<ExternalData>(folders, options.on_data, OpenerOf(options), FilesFor(proto, options));
  model.external = external;
  const TensorDataSource source = MakeSource(std::move(stripped), file, external);
  model.graph = std::make_unique<Graph>();
  model.graph->set_limits(options.limits);
  model.graph->set_definitions(options.definitions);
  model.graph->set_opsets(ImportsOf(proto));
  model.warnings = UnknownAttributes(proto, limits);
  if (options.strict_attributes && !model.warnings.empty()) {
    Fail(ErrorCode::kInvalidGraph, "{}; correct the model, or unset session.strict_attributes",
         fmt::join(model.warnings, "; "));
  }
  std::ranges::move(ShadowedFunctions(proto), std::back_inserter(model.warnings));
  if (proto.functions_size() > 0) model.graph->set_functions(MakeFunctionLibrary(proto, source, std::move(charge)));
  GraphConversion conversion(source, ImportsOf(proto));
  conversion.set_initializers_are_constant(proto.ir_version() < 4);
  Scope scope(*model.graph);
  conversion.ConvertGraph(proto.graph(), scope);
  CheckInputTypes(*model.graph);
  FixDimensions(*model.graph, options, sizes);
  Provenance::Follow(*model.graph);
  ResolveGraph(*model.graph, options.keep_function);
  return model;
}

/// Whatever is wrong with a model is the model's fault: the code says so.
Model LoadChecked(const SharedBytes& file, const DataFolders& folders, const LoadOptions& options) {
  try {
    return Load(file, folders, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw Error(ErrorCode::kInvalidGraph, error.what());
    throw;
  } catch (const std::exception& error) {
    Fail(ErrorCode::kInvalidGraph, "the model cannot be loaded: {}", error.what());
  }
}

DataFolders FoldersOf(const std::filesystem::path& model) {
  std::error_code error;
  const std::filesystem::path named = model.parent_path(), real = std::filesystem::canonical(model, error);
  return {.named = named.empty() ? "." : named, .real = error ? std::filesystem::path() : real.parent_path()};
}

}  // namespace

ModelMetadata ReadMetadata(std::span<const std::byte> bytes) {
  const LoadLimits& limits = LoadLimits::None();
  StrippedModel stripped;
  MemoryCharge charge(limits.memory(), 0);
  return MetadataOf(ReadModel(bytes, limits, stripped, charge));
}

Model LoadModel(const std::filesystem::path& path, const LoadOptions& options) {
  const MappedFile file = OpenerOf(options)(path);
  try {
    return LoadChecked({file.bytes, file.owner}, FoldersOf(path), options);
  } catch (const Error& error) {
    throw error.At(path.string());
  }
}

Model LoadModel(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                const std::filesystem::path& folder, const LoadOptions& options) {
  return LoadChecked({bytes, std::move(keep_alive)}, {.named = folder, .real = {}}, options);
}

}  // namespace tessera
