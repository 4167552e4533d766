#pragma once

// As much of protobuf's format as it takes to write ONNX.

#include <cstdint>
#include <cstring>
#include <string>

namespace teaching {

/// A message is its fields, one after another: a key, which is the field's number and how its value is written, then the
/// value. A repeated field is written once for each item.
class Message {
 public:
  void Int(int field, int64_t value) {
    Key(field, kVarint);
    Varint(static_cast<uint64_t>(value));
  }
  void Float(int field, float value) {
    Key(field, kFourBytes);
    char raw[4];
    std::memcpy(raw, &value, 4);  // in the byte order of x86 and ARM, which is protobuf's
    bytes_.append(raw, 4);
  }
  void Bytes(int field, const void* data, size_t size) {
    Key(field, kLengthFirst);
    Varint(size);
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
  }
  void Text(int field, const std::string& text) { Bytes(field, text.data(), text.size()); }
  void Nested(int field, const Message& message) { Text(field, message.bytes_); }

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  enum Form { kVarint = 0, kLengthFirst = 2, kFourBytes = 5 };

  void Key(int field, Form form) { Varint(static_cast<uint64_t>(field) << 3 | form); }
  /// Seven bits a byte, lowest first; the eighth says that more follow.
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace teaching
