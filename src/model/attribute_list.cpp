#include "model/attribute_list.h"

#include <cstring>
#include <type_traits>

#include "base/cancellation.h"
#include "base/check.h"
#include "model/wire_format.h"

namespace tessera {
namespace {

template <class T, class Visit>
void VisitPacked(std::span<const std::byte> bytes, const Visit& visit) {
  if constexpr (std::is_same_v<T, float>) {
    for (; bytes.size() >= sizeof(float); bytes = bytes.subspan(sizeof(float))) visit(bytes.first(sizeof(float)));
    Require(bytes.empty(), "a packed list of floats ends in the middle of one");
  } else {
    WireReader reader(bytes);
    while (const auto value = reader.Varint()) visit(*value);
    Require(reader.at_end(), "a packed list of integers ends in the middle of one");
  }
}

template <class T>
constexpr WireType kElementType = std::is_same_v<T, std::string> ? WireType::kBytes
                                  : std::is_same_v<T, float>     ? WireType::kFixed32
                                                                 : WireType::kVarint;

template <class T, class Visit>
void VisitElements(std::span<const std::byte> message, uint32_t number, const Visit& visit) {
  WireReader reader(message);
  while (!reader.at_end()) {
    reader.Run<kElementType<T>>(number, visit);
    const auto field = reader.Next();
    if (!field) break;
    if constexpr (!std::is_same_v<T, std::string>) {
      if (field->number == number && field->type == WireType::kBytes) VisitPacked<T>(field->payload, visit);
    }
  }
}

}  // namespace

template <class T>
std::vector<T> ReadList(std::span<const std::byte> message, uint32_t number) {
  size_t count = 0;
  VisitElements<T>(message, number, [&](const auto&) { ++count; });
  std::vector<T> list;
  list.reserve(count);
  PacedCancellationPoint point(std::is_same_v<T, std::string> ? 50 : 2);
  VisitElements<T>(message, number, [&](const auto& value) {
    point.Pass();
    if constexpr (std::is_same_v<T, std::string>) {
      list.emplace_back(reinterpret_cast<const char*>(value.data()), value.size());
    } else if constexpr (std::is_same_v<T, float>) {
      std::memcpy(&list.emplace_back(), value.data(), sizeof(float));
    } else {
      list.push_back(static_cast<int64_t>(value));
    }
  });
  return list;
}

template std::vector<float> ReadList(std::span<const std::byte>, uint32_t);
template std::vector<int64_t> ReadList(std::span<const std::byte>, uint32_t);
template std::vector<std::string> ReadList(std::span<const std::byte>, uint32_t);

}  // namespace tessera
