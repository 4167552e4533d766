#include "wire_mutator.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../hostile_value.h"

namespace tessera::fuzz {
namespace {

constexpr int kDeepest = 12;
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

struct Field {
  uint64_t number = 0;
  uint8_t type = kVarint;
  uint64_t varint = 0;
  std::string bytes;            // of fixed and length-delimited fields without children
  std::vector<Field> children;  // of what reads as a message
};
using Message = std::vector<Field>;

std::optional<uint64_t> TakeVarint(std::span<const uint8_t>& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const uint8_t byte = bytes.front();
    bytes = bytes.subspan(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<Message> Read(std::span<const uint8_t> bytes, int depth) {
  Message message;
  while (!bytes.empty()) {
    const auto tag = TakeVarint(bytes);
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    Field& field = message.emplace_back(Field{.number = *tag >> 3, .type = static_cast<uint8_t>(*tag & 7)});
    uint64_t length = field.type == kFixed64 ? 8 : 4;
    if (field.type == kVarint || field.type == kLengthDelimited) {
      const auto value = TakeVarint(bytes);
      if (!value) return std::nullopt;
      field.varint = length = *value;
      if (field.type == kVarint) continue;
    } else if (field.type != kFixed64 && field.type != kFixed32) {
      return std::nullopt;
    }
    if (length > bytes.size()) return std::nullopt;
    const auto content = bytes.first(static_cast<size_t>(length));
    bytes = bytes.subspan(content.size());
    if (field.type == kLengthDelimited && depth < kDeepest && content.size() > 1) {
      if (auto inner = Read(content, depth + 1)) field.children = std::move(*inner);
    }
    if (field.children.empty()) field.bytes.assign(content.begin(), content.end());
  }
  return message;
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

std::string Written(const Message& message) {
  std::string out;
  for (const Field& field : message) {
    PutVarint(out, field.number << 3 | field.type);
    if (field.type == kVarint) {
      PutVarint(out, field.varint);
      continue;
    }
    const std::string content = field.children.empty() ? field.bytes : Written(field.children);
    if (field.type == kLengthDelimited) PutVarint(out, content.size());
    out += content;
  }
  return out;
}

void Collect(Message& message, std::vector<Message*>& messages) {
  messages.push_back(&message);
  for (Field& field : message) {
    if (!field.children.empty()) Collect(field.children, messages);
  }
}

/// Content of a length-delimited field: bytes changed by libFuzzer, replaced by numbers, cut or lengthened.
void MutateContent(Field& field, Random& random) {
  if (field.type == kVarint) {
    field.varint = OneIn(random, 3) ? Below(random, 32) : static_cast<uint64_t>(HostileInteger(random));
    return;
  }
  if (field.type != kLengthDelimited || !field.children.empty()) {
    for (char& byte : field.bytes) byte = OneIn(random, 2) ? byte : static_cast<char>(random());
    return;
  }
  if (OneIn(random, 4)) {
    field.bytes.resize(Below(random, 2 * field.bytes.size() + 9));
  } else {
    std::string content = field.bytes;
    content.resize(content.size() + 16);
    content.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(content.data()), field.bytes.size(), content.size()));
    field.bytes = content;
  }
}

void MutateMessage(Message& root, Random& random) {
  std::vector<Message*> messages;
  Collect(root, messages);
  Message& message = *messages[Below(random, messages.size())];
  if (message.empty()) return;
  const size_t at = Below(random, message.size());
  const auto place = [&](size_t i) { return message.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (random() % 10) {
    case 0: message.erase(place(at)); break;
    case 1: {
      const Field copy = message[at];
      message.insert(place(Below(random, message.size() + 1)), copy);
      break;
    }
    case 2: std::swap(message[at], message[Below(random, message.size())]); break;
    case 3: message[at].number = 1 + Below(random, 26); break;
    case 4: {  // one from elsewhere
      const Message& other = *messages[Below(random, messages.size())];
      if (other.empty()) break;
      const Field copy = other[Below(random, other.size())];
      message.insert(place(at), copy);
      break;
    }
    case 5: {  // the same content elsewhere
      Field& field = message[at];
      const Message& other = *messages[Below(random, messages.size())];
      if (other.empty()) break;
      Field copy = other[Below(random, other.size())];
      copy.number = field.number;
      field = copy;
      break;
    }
    default: MutateContent(message[at], random);
  }
}

}  // namespace

size_t MutateWire(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  if (OneIn(random, 8)) return LLVMFuzzerMutate(data, size, max_size);
  auto message = Read({data, size}, 0);
  if (!message || message->empty()) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + Below(random, 3); n > 0 && !message->empty(); --n) MutateMessage(*message, random);
  const std::string out = Written(*message);
  if (out.size() > max_size || out.empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

}  // namespace tessera::fuzz
