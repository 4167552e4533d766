// Lists of texts by name.

#include "bindings/c/key_values.h"

#include "bindings/c/entry.h"

void OrtKeyValuePairs::Set(std::string_view key, std::string_view value) {
  entries.insert_or_assign(std::string(key), std::string(value));
  PointAgain();
}

void OrtKeyValuePairs::Remove(std::string_view key) {
  if (const auto found = entries.find(key); found != entries.end()) entries.erase(found);
  PointAgain();
}

const char* OrtKeyValuePairs::Find(std::string_view key) const noexcept {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : found->second.c_str();
}

void OrtKeyValuePairs::PointAgain() {
  keys.clear();
  values.clear();
  for (const auto& [key, value] : entries) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
}

namespace tessera::c_abi {

std::unique_ptr<OrtKeyValuePairs> PairsOf(const std::map<std::string, std::string, std::less<>>& entries) {
  auto pairs = std::make_unique<OrtKeyValuePairs>();
  for (const auto& [key, value] : entries) pairs->Set(key, value);
  return pairs;
}

// These have no status to answer with: where memory runs out, nothing changes.
void CreateKeyValuePairs(OrtKeyValuePairs** out) {
  if (out != nullptr) *out = new (std::nothrow) OrtKeyValuePairs;
}

void AddKeyValuePair(OrtKeyValuePairs* kvps, const char* key, const char* value) {
  // An empty name is none: nothing could ask for it.
  if (!IsThere(kvps) || key == nullptr || *key == '\0' || value == nullptr) return;
  try {
    kvps->Set(key, value);
  } catch (...) {
  }
}

const char* GetKeyValue(const OrtKeyValuePairs* kvps, const char* key) {
  return !IsThere(kvps) || key == nullptr ? nullptr : kvps->Find(key);
}

void GetKeyValuePairs(const OrtKeyValuePairs* kvps, const char* const** keys, const char* const** values,
                      size_t* num_entries) {
  const bool given = IsThere(kvps);
  if (keys != nullptr) *keys = given ? kvps->keys.data() : nullptr;
  if (values != nullptr) *values = given ? kvps->values.data() : nullptr;
  if (num_entries != nullptr) *num_entries = given ? kvps->entries.size() : 0;
}

void RemoveKeyValuePair(OrtKeyValuePairs* kvps, const char* key) {
  if (!IsThere(kvps) || key == nullptr) return;
  try {
    kvps->Remove(key);
  } catch (...) {
  }
}

void ReleaseKeyValuePairs(OrtKeyValuePairs* input) { Release(input); }

}  // namespace tessera::c_abi
