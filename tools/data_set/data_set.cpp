#include "data_set/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/regular_file.h"
#include "tessera/error.h"
#include "tessera/serialization.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// "input_12.pb" -> 12; nothing for other names.
std::optional<size_t> FileIndex(const fs::path& path, std::string_view role) {
  const std::string name = path.stem().string();
  if (path.extension() != ".pb" || name.size() <= role.size() + 1 || !name.starts_with(role) || name[role.size()] != '_')
    return std::nullopt;
  const std::string digits = name.substr(role.size() + 1);
  const bool is_number =
      digits.size() <= 6 && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional(static_cast<size_t>(std::stoi(digits))) : std::nullopt;
}

/// onnx before 1.13 stored bfloat16 test data as uint16; the bits are the same.
Value AsDeclared(Value value, const TypeInfo& declared) {
  const Tensor* tensor = value.tensor_if();
  if (tensor == nullptr || !tensor->is(ElementType::kUInt16) || declared.element != ElementType::kBFloat16) return value;
  return Tensor::Share(ElementType::kBFloat16, tensor->shape(), const_cast<void*>(tensor->raw()), tensor->owner());
}

/// Where the file's value belongs. What its message is depends on the type of the value that it is for: the name inside
/// counts where the value of this name is of the kind that the message was read as.
size_t PlaceOf(std::span<const std::byte> bytes, size_t index, std::span<const NamedType* const> places) {
  std::map<ValueKind, std::string> names;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto [name, first] = names.try_emplace(places[i]->type.kind);
    if (first) name->second = StoredName(bytes, places[i]->type);
    if (!name->second.empty() && name->second == places[i]->name) return i;
  }
  return index;
}

}  // namespace

NamedValues ReadDataSet(const fs::path& folder, std::string_view role, std::span<const NamedType> declared,
                        std::span<const NamedType> more) {
  std::map<size_t, fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (const auto index = FileIndex(entry.path(), role)) files.emplace(*index, entry.path());
  }
  std::vector<const NamedType*> places;
  for (const auto& list : {declared, more}) {
    for (const NamedType& one : list) places.push_back(&one);
  }
  std::vector<std::optional<Value>> values(places.size());
  for (const auto& [index, path] : files) {
    const std::vector<std::byte> bytes = RegularFile(path).Read();
    const size_t place = PlaceOf(bytes, index, places);
    if (place >= places.size())
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{} has no {} of the model beside it", path.string(), role));
    const NamedType& of = *places[place];
    if (values[place])
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{} is the second file for {} '{}'", path.string(), role, of.name));
    try {
      values[place] = AsDeclared(ParseValue(bytes, of.type), of.type);
    } catch (const Error& error) {
      throw error.At(fmt::format("{}, for {} '{}'", path.string(), role, of.name));
    }
  }
  NamedValues result;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!values[i]) continue;
    result.names.push_back(places[i]->name);
    result.values.push_back(std::move(*values[i]));
  }
  return result;
}

}  // namespace tessera
