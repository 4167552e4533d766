#include <array>
#include <charconv>

#include "tessera/provider/check.h"

namespace tessera {

MessagePart::MessagePart(double number) {
  constexpr size_t kLongestDouble = 32;  // "-2.2250738585072014e-308" and some
  std::array<char, kLongestDouble> digits;
  text_.assign(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void Throw(ErrorCode code, std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) message += part.text();
  throw Error(code, message);
}

}  // namespace tessera
