#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"

/// Texts by name, in their order, with the arrays of pointers that clients look at.
struct OrtKeyValuePairs {
  tessera::c_abi::Mark<OrtKeyValuePairs> mark;
  std::map<std::string, std::string, std::less<>> entries;
  std::vector<const char*> keys, values;

  OrtKeyValuePairs() = default;
  OrtKeyValuePairs(const OrtKeyValuePairs& other) : entries(other.entries) { PointAgain(); }  // at its own texts
  OrtKeyValuePairs& operator=(const OrtKeyValuePairs& other) {
    if (this == &other) return *this;
    entries = other.entries;
    PointAgain();
    return *this;
  }
  OrtKeyValuePairs(OrtKeyValuePairs&&) = default;  // texts stay where they are
  OrtKeyValuePairs& operator=(OrtKeyValuePairs&&) = default;

  /// Replaces what was there.
  void Set(std::string_view key, std::string_view value);
  void Remove(std::string_view key);
  /// Null where there is none.
  const char* Find(std::string_view key) const noexcept;

 private:
  void PointAgain();
};

namespace tessera::c_abi {

std::unique_ptr<OrtKeyValuePairs> PairsOf(const std::map<std::string, std::string, std::less<>>& entries);

}  // namespace tessera::c_abi
