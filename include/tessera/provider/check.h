#pragma once

// What providers and kernels refuse, as Errors whose message is put together only where they are thrown.

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tessera/element_type.h"
#include "tessera/error.h"
#include "tessera/export.h"
#include "tessera/shape.h"

namespace tessera {

/// A piece of a message: text, a number, a shape ("[2,3]") or an element type ("float").
class TESSERA_API MessagePart {
 public:
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  MessagePart(const char* text) : text_(text) {}
  MessagePart(const Shape& shape) : text_(shape.ToString()) {}
  MessagePart(const SymbolicShape& shape) : text_(ToString(shape)) {}
  MessagePart(ElementType type) : text_(ElementTypeName(type)) {}
  template <std::integral T>
  MessagePart(T number) : text_(std::to_string(number)) {}
  MessagePart(double number);  // the shortest text that reads back as it, whatever the locale

  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Throws Error(code) that says the parts one after another, nothing between them.
[[noreturn]] TESSERA_API void Throw(ErrorCode code, std::initializer_list<MessagePart> parts);

/// Throws Error(kInvalidArgument) that says the parts unless `condition` holds: for inputs and attributes. Costs a branch
/// where it holds, so that kernels may call it in every run.
///
///   Check(a.shape() == b.shape(), "shapes differ: ", a.shape(), " and ", b.shape());
template <class... Parts>
void Check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    Throw(ErrorCode::kInvalidArgument, {MessagePart(parts)...});
  }
}

}  // namespace tessera
