#include "session/context/context_cache.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>

#include "base/content_stamp.h"
#include "base/cpu_features.h"
#include "base/mapped_file.h"
#include "graph/check_declared_types.h"
#include "graph/check_graph.h"
#include "model/external_data.h"
#include "model/proto.h"
#include "session/context/graph_bytes.h"

namespace tessera {
namespace {

/// Where a tensor's bytes are.
enum class Place : uint8_t { kText = 0, kData = 1, kFile = 2, kEnd = 3 };

constexpr uint32_t kModelFile = 0;

std::string Feature(const char* name, bool supported) { return supported ? std::string(" ") + name : std::string(); }

/// Pairs of texts.
template <class Pairs>
void WritePairs(const Pairs& pairs, ByteWriter& out) {
  out.Put<uint64_t>(pairs.size());
  for (const auto& [first, second] : pairs) {
    out.PutText(first);
    out.PutText(second);
  }
}

void WriteMetadata(const ModelMetadata& metadata, ByteWriter& out) {
  for (const std::string* text : {&metadata.producer_name, &metadata.producer_version, &metadata.domain,
                                  &metadata.description, &metadata.graph_name, &metadata.graph_description}) {
    out.PutText(*text);
  }
  out.Put(metadata.version);
  out.Put(metadata.ir_version);
  WritePairs(metadata.custom, out);
  out.Put<uint64_t>(metadata.opsets.size());
  for (const auto& [domain, version] : metadata.opsets) {
    out.PutText(domain);
    out.Put(version);
  }
}

ModelMetadata ReadMetadata(ByteReader& in) {
  ModelMetadata metadata;
  for (std::string* text : {&metadata.producer_name, &metadata.producer_version, &metadata.domain, &metadata.description,
                            &metadata.graph_name, &metadata.graph_description}) {
    *text = in.GetText();
  }
  metadata.version = in.Get<int64_t>();
  metadata.ir_version = in.Get<int64_t>();
  for (size_t i = in.GetCount(); i > 0; --i) {
    std::string key = in.GetText();
    metadata.custom[std::move(key)] = in.GetText();
  }
  for (size_t i = in.GetCount(); i > 0; --i) {
    std::string domain = in.GetText();
    metadata.opsets[std::move(domain)] = in.Get<int64_t>();
  }
  return metadata;
}

/// Of a file of the model's beside the model.
std::string StampOfWeights(const std::filesystem::path& file) { return ContentStamp(file, kSamplingOfWeights); }

struct TensorHeader {
  ElementType type;
  Shape shape;
};

void WriteTensorHeader(const Tensor& tensor, ByteWriter& out) {
  out.Put(tensor.type());
  out.PutList(tensor.shape().dims());
}

TensorHeader ReadTensorHeader(ByteReader& in) {
  const ElementType type = in.GetEnum(static_cast<ElementType>(kElementTypeCount));
  const auto dims = in.GetList<int64_t>();
  for (const int64_t dim : dims) {
    if (dim < 0) ByteReader::Damaged();
  }
  if (BitWidth(type) == 0) ByteReader::Damaged();
  return {type, Shape(std::span<const int64_t>(dims))};
}

bool IsAligned(ElementType type, const void* data) {
  return reinterpret_cast<uintptr_t>(data) % RequiredAlignment(type) == 0;
}

/// The tensor over bytes at `offset`; throws where they are not all there.
Tensor TensorAt(const TensorHeader& header, std::span<const std::byte> bytes, uint64_t offset,
                std::shared_ptr<const void> owner) {
  const size_t size = ByteSize(header.type, header.shape.num_elements());
  if (header.type == ElementType::kString || offset > bytes.size() || size > bytes.size() - offset) ByteReader::Damaged();
  const std::byte* data = bytes.data() + offset;
  if (!IsAligned(header.type, data)) return Tensor::ShareUnaligned(header.type, header.shape, data, std::move(owner));
  return Tensor::Share(header.type, header.shape, const_cast<std::byte*>(data),
                       std::const_pointer_cast<void>(std::move(owner)));
}

Tensor ReadText(const TensorHeader& header, ByteReader& in) {
  if (header.type != ElementType::kString) ByteReader::Damaged();
  if (in.GetCount() != static_cast<size_t>(header.shape.num_elements())) ByteReader::Damaged();
  Tensor tensor(header.type, header.shape);
  for (std::string& text : tensor.mutable_values<std::string>()) text = in.GetText();
  return tensor;
}

}  // namespace

void AddBuildConditions(ContextConditions& conditions) {
  Dl_info library{};
  const bool known =
      dladdr(reinterpret_cast<const void*>(&AddBuildConditions), &library) != 0 && library.dli_fname != nullptr;
  conditions.emplace_back("Tessera", fmt::format("{} {}", version(), known ? FileStamp(library.dli_fname) : std::string()));
  std::string features;
  features += Feature("sse4.2", __builtin_cpu_supports("sse4.2"));
  features += Feature("avx2", __builtin_cpu_supports("avx2"));
  features += Feature("fma", __builtin_cpu_supports("fma"));
  features += Feature("avx512f", __builtin_cpu_supports("avx512f"));
  features += Feature("avx512bw", __builtin_cpu_supports("avx512bw"));
  features += Feature("avx512dq", __builtin_cpu_supports("avx512dq"));
  features += Feature("avx512vl", __builtin_cpu_supports("avx512vl"));
  features += Feature("avx512vnni", HasAvx512Vnni());
  features += Feature("avx512vbmi", HasAvx512Vbmi());
  features += Feature("avx512bf16", HasAvx512Bf16());
  features += Feature("fast_avx512bf16", HasFastAvx512Bf16());
  features += Feature("avxvnni", HasAvxVnni());
  features += Feature("amx_int8", HasAmxInt8());
  conditions.emplace_back("processor", features);
}

std::optional<ContextCache::Content> ContextCache::Read(ThreadPool& threads, const LoadOptions& options,
                                                        OptimizationReport& optimization) {
  report_.enabled = true;
  report_.path = path_;
  try {
    const ContextFile file(path_, copy_to_, options.on_data);
    ByteReader in(file.description());
    CheckConditions(in);
    CheckExternalFiles(in);
    file.CheckData(threads);
    Content content = ReadContent(in, file, options, optimization);
    report_.used = true;
    report_.detail = "used";
    return content;
  } catch (const std::exception& error) {
    options.limits->Check();
    Reject(error.what());
    return std::nullopt;
  }
}

void ContextCache::Reject(const std::string& why) {
  const std::lock_guard lock(mutex_);
  report_.used = false;
  report_.packed = 0;
  report_.detail = "not used: " + why;
  numbers_.clear();
  packed_.clear();
  aligned_.clear();
}

void ContextCache::CheckConditions(ByteReader& in) const {
  ContextConditions held;
  for (size_t i = in.GetCount(); i > 0; --i) {
    std::string name = in.GetText();
    held.emplace_back(std::move(name), in.GetText());
  }
  for (const auto& [name, value] : conditions_) {
    const auto same = std::find_if(held.begin(), held.end(), [&](const auto& entry) { return entry.first == name; });
    if (same == held.end()) Fail(ErrorCode::kFail, "it says nothing about '{}'", name);
    if (same->second != value) Fail(ErrorCode::kFail, "it was made for {} '{}', this is '{}'", name, same->second, value);
  }
  if (held.size() != conditions_.size()) Fail(ErrorCode::kFail, "it was made with other options");
}

/// What the graph keeps of their tensors may be folded or embedded: the files still decide what the model computes.
void ContextCache::CheckExternalFiles(ByteReader& in) const {
  for (size_t i = in.GetCount(); i > 0; --i) {
    const std::filesystem::path path = model_.parent_path() / in.GetText();
    if (in.GetText() != StampOfWeights(path)) Fail(ErrorCode::kFail, "{} has changed", path.string());
  }
}

std::vector<Tensor> ContextCache::ReadTensors(ByteReader& in, const ContextFile& file, const LoadOptions& options) {
  if (copy_to_ == nullptr) options.on_data(file.stored());
  std::vector<MappedFile> files;
  for (size_t i = in.GetCount(); i > 0; --i) {
    const std::filesystem::path path = in.GetText();
    const std::string stamp = in.GetText();
    const bool is_model = files.size() == kModelFile;
    const std::filesystem::path& found = is_model ? model_ : path;
    // What is in the model is among the conditions.
    const std::string before = FileStamp(found);
    if (!is_model && StampOfWeights(found) != stamp) Fail(ErrorCode::kFail, "{} has changed", found.string());
    files.push_back(found.empty() ? MappedFile() : MapFile(found));
    options.on_data(files.back().stored);
    if (!is_model && FileStamp(found) != before) Fail(ErrorCode::kFail, "{} is changing", found.string());
  }
  std::vector<Tensor> tensors;
  for (size_t i = in.GetCount(); i > 0; --i) {
    const TensorHeader header = ReadTensorHeader(in);
    switch (in.GetEnum(Place::kEnd)) {
      case Place::kText: tensors.push_back(ReadText(header, in)); break;
      case Place::kData: tensors.push_back(TensorAt(header, file.data(), in.Get<uint64_t>(), file.owner())); break;
      default: {
        const auto number = in.Get<uint32_t>();
        if (number >= files.size()) ByteReader::Damaged();
        tensors.push_back(TensorAt(header, files[number].bytes, in.Get<uint64_t>(), files[number].owner));
      }
    }
  }
  return tensors;
}

ContextCache::Content ContextCache::ReadContent(ByteReader& in, const ContextFile& file, const LoadOptions& options,
                                                OptimizationReport& optimization) {
  const std::vector<Tensor> tensors = ReadTensors(in, file, options);
  NumberConstants(tensors);
  for (size_t i = in.GetCount(); i > 0; --i) {
    const auto number = in.Get<uint32_t>();
    std::string key = in.GetText();
    const TensorHeader header = ReadTensorHeader(in);
    packed_[{number, std::move(key)}] =
        std::make_shared<const Tensor>(TensorAt(header, file.data(), in.Get<uint64_t>(), file.owner()));
  }
  Content content;
  optimization.nodes_before = in.Get<uint64_t>();
  optimization.nodes_after = in.Get<uint64_t>();
  for (size_t i = in.GetCount(); i > 0; --i) {
    std::string provider = in.GetText();
    content.left_out.emplace_back(std::move(provider), in.GetText());
  }
  for (size_t i = in.GetCount(); i > 0; --i) content.model.warnings.push_back(in.GetText());
  content.model.metadata = ReadMetadata(in);
  content.model.graph = std::make_unique<Graph>();
  content.model.graph->set_limits(options.limits);
  content.model.graph->set_definitions(options.definitions);
  ReadGraph(in, tensors, *content.model.graph);
  if (!in.at_end()) ByteReader::Damaged();
  // Optimizing and lowering leave graphs that hold to their operators' schemas, as models do.
  if (const std::string fault = FindFault(*content.model.graph); !fault.empty())
    Fail(ErrorCode::kInvalidGraph, "its graph is damaged: {}", fault);
  CheckDeclaredTypes(*content.model.graph);
  return content;
}

void ContextCache::NumberConstants(std::span<const Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (tensor.is(ElementType::kString) || tensor.byte_size() == 0) continue;
    numbers_.emplace(std::pair(tensor.unaligned_raw(), tensor.byte_size()), static_cast<uint32_t>(i));
  }
  aligned_.assign(tensors.size(), false);
}

void ContextCache::Record(const Model& model, const OptimizationReport& optimization,
                          std::span<const std::pair<std::string, std::string>> left_out) {
  try {
    TensorTable table;
    model_bytes_ = {};
    model_bytes_.Put<uint64_t>(optimization.nodes_before);
    model_bytes_.Put<uint64_t>(optimization.nodes_after);
    WritePairs(left_out, model_bytes_);
    model_bytes_.Put<uint64_t>(model.warnings.size());
    for (const std::string& warning : model.warnings) model_bytes_.PutText(warning);
    WriteMetadata(model.metadata, model_bytes_);
    WriteGraph(*model.graph, model_bytes_, table);
    tensors_.assign(table.tensors().begin(), table.tensors().end());
    NumberConstants(tensors_);
    for (const ExternalData::File& used : model.external->files()) {
      // By the model's own words where they lead there, so that a folder may be moved.
      const std::filesystem::path near = model_.parent_path() / used.location;
      const bool beside = !model_.empty() && FileStamp(near) == used.stamp;
      const std::string stamp = StampOfWeights(beside ? near : used.path);
      // Of a file that changed meanwhile it is the stamp of what was loaded, which no file has any more.
      external_files_.emplace_back(beside ? used.location : used.path.string(),
                                   stamp.starts_with(used.stamp) ? stamp : used.stamp);
    }
    report_.written = true;
  } catch (const Error& error) {
    model.graph->limits().Check();
    report_.detail += fmt::format("; not written: {}", error.what());
  }
}

std::shared_ptr<const Tensor> ContextCache::Find(const Tensor& constant, std::string_view key,
                                                 std::span<const ElementType> types, const std::optional<Shape>& shape) {
  if (!report_.used) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto number = numbers_.find({constant.unaligned_raw(), constant.byte_size()});
  if (number == numbers_.end()) return nullptr;
  const auto found = packed_.find({number->second, std::string(key)});
  const bool fits = found != packed_.end() && (!shape || found->second->shape() == *shape) &&
                    std::find(types.begin(), types.end(), found->second->type()) != types.end();
  ++(fits ? report_.packed : report_.packed_anew);
  return fits ? found->second : nullptr;
}

void ContextCache::Add(const Tensor& constant, std::string_view key, std::shared_ptr<const Tensor> packed) {
  if (!report_.written) return;
  const std::lock_guard lock(mutex_);
  const auto number = numbers_.find({constant.unaligned_raw(), constant.byte_size()});
  if (number != numbers_.end()) packed_[{number->second, std::string(key)}] = std::move(packed);
}

void ContextCache::NoteAligned(const Tensor& constant) {
  const std::lock_guard lock(mutex_);
  const auto number = numbers_.find({constant.unaligned_raw(), constant.byte_size()});
  if (number != numbers_.end()) aligned_[number->second] = true;
}

void ContextCache::WriteTensors(ByteWriter& out, ContextLayout& data, std::vector<std::filesystem::path>& files) const {
  std::map<std::filesystem::path, uint32_t> numbers;
  for (const std::filesystem::path& file : files) numbers.emplace(file, static_cast<uint32_t>(numbers.size()));
  out.Put<uint64_t>(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    WriteTensorHeader(tensor, out);
    if (tensor.is(ElementType::kString)) {
      out.Put(Place::kText);
      out.Put<uint64_t>(static_cast<uint64_t>(tensor.num_elements()));
      for (const std::string& text : tensor.values<std::string>()) out.PutText(text);
      continue;
    }
    const auto place = FindInFiles(tensor.unaligned_raw(), tensor.byte_size());
    const bool wants_copy = aligned_[i] && !IsAligned(tensor.type(), tensor.unaligned_raw());
    if (embed_ || !place || wants_copy) {
      out.Put(Place::kData);
      out.Put<uint64_t>(data.Add(wants_copy ? tensor.raw() : tensor.unaligned_raw(), tensor.byte_size()));
      continue;
    }
    const auto [file, added] = numbers.try_emplace(place->file, static_cast<uint32_t>(files.size()));
    if (added) files.push_back(place->file);
    out.Put(Place::kFile);
    out.Put<uint32_t>(file->second);
    out.Put<uint64_t>(place->offset);
  }
}

void ContextCache::WritePacked(ByteWriter& out, ContextLayout& data) const {
  out.Put<uint64_t>(packed_.size());
  for (const auto& [key, packed] : packed_) {
    out.Put<uint32_t>(key.first);
    out.PutText(key.second);
    WriteTensorHeader(*packed, out);
    out.Put<uint64_t>(data.Add(packed->raw(), packed->byte_size()));
  }
}

void ContextCache::Write(ThreadPool& threads, const LoadLimits& limits) {
  if (!report_.written) return;
  try {
    std::vector<std::filesystem::path> files = {model_.empty() ? model_ : std::filesystem::absolute(model_)};
    ContextLayout data;
    ByteWriter description, tensors;
    WriteTensors(tensors, data, files);
    WritePacked(tensors, data);
    WritePairs(conditions_, description);
    WritePairs(external_files_, description);
    description.Put<uint64_t>(files.size());
    for (const std::filesystem::path& file : files) {
      description.PutText(file.string());
      description.PutText(file.empty() ? std::string() : StampOfWeights(file));
    }
    description.Append(tensors.bytes());
    description.Append(model_bytes_.bytes());
    WriteContextFile(path_, data, description.bytes(), threads, limits);
    report_.detail += "; written";
  } catch (const std::exception& error) {
    limits.Check();
    report_.written = false;
    report_.detail += fmt::format("; not written: {}", error.what());
  }
  tensors_.clear();
  packed_.clear();
  numbers_.clear();
  model_bytes_ = {};
}

}  // namespace tessera
