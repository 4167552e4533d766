#include "base/value_type.h"

#include "base/check.h"

namespace tessera {
namespace {

TypeInfo WithoutShapes(const TypeInfo& type) {
  TypeInfo result{type.kind, type.element, std::nullopt, nullptr};
  if (type.inner != nullptr) result.inner = std::make_shared<const TypeInfo>(WithoutShapes(*type.inner));
  return result;
}

bool ElementsFit(ElementType element, ElementType declared) noexcept {
  return element == declared || element == ElementType::kUndefined || declared == ElementType::kUndefined;
}

/// As Fits, for what is inside of a value.
bool TypesFit(const TypeInfo& type, const TypeInfo& declared) noexcept {
  if (type.kind == ValueKind::kNone || declared.kind == ValueKind::kNone) return true;
  if (declared.kind == ValueKind::kOptional && type.kind != ValueKind::kOptional) {
    return declared.inner == nullptr || TypesFit(type, *declared.inner);
  }
  if (type.kind != declared.kind || !ElementsFit(type.element, declared.element)) return false;
  return type.inner == nullptr || declared.inner == nullptr || TypesFit(*type.inner, *declared.inner);
}

}  // namespace

bool IsComplete(const TypeInfo& type) noexcept {
  switch (type.kind) {
    case ValueKind::kNone: return false;
    case ValueKind::kTensor:
    case ValueKind::kSparseTensor: return type.element != ElementType::kUndefined;
    case ValueKind::kMap:
      if (type.element == ElementType::kUndefined) return false;
      break;
    case ValueKind::kSequence:
    case ValueKind::kOptional: break;
  }
  return type.inner != nullptr && IsComplete(*type.inner);
}

bool SameType(const TypeInfo& a, const TypeInfo& b) noexcept {
  if (a.kind != b.kind || a.element != b.element || (a.inner == nullptr) != (b.inner == nullptr)) return false;
  return a.inner == nullptr || SameType(*a.inner, *b.inner);
}

TypeInfo RunTimeType(const Value& value) {
  TypeInfo type = WithoutShapes(value.type());
  if (value.kind() != ValueKind::kSequence || IsComplete(type)) return type;
  const std::vector<Value>& elements = value.sequence().elements;
  if (elements.empty()) return type;
  TypeInfo first = RunTimeType(elements.front());
  for (const Value& element : elements) {
    Require(SameType(RunTimeType(element), first), "elements of a sequence are {} and {}", first, element.type());
  }
  type.inner = std::make_shared<const TypeInfo>(std::move(first));
  return type;
}

bool Fits(const Value& value, const TypeInfo& declared) noexcept {
  if (declared.kind == ValueKind::kNone) return true;
  if (declared.kind == ValueKind::kOptional) return declared.inner == nullptr || Fits(value, *declared.inner);
  switch (value.kind()) {
    case ValueKind::kTensor: return declared.is_tensor() && ElementsFit(value.tensor_if()->type(), declared.element);
    case ValueKind::kSequence:
      return declared.kind == ValueKind::kSequence &&
             (declared.inner == nullptr || TypesFit(value.sequence().element_type, *declared.inner));
    case ValueKind::kMap:
      return declared.kind == ValueKind::kMap && ElementsFit(value.map().keys.type(), declared.element) &&
             (declared.inner == nullptr || TypesFit(value.map().value_type, *declared.inner));
    case ValueKind::kSparseTensor:
      return declared.kind == ValueKind::kSparseTensor &&
             ElementsFit(value.sparse_tensor().values.type(), declared.element);
    case ValueKind::kNone:
    case ValueKind::kOptional: break;
  }
  return true;
}

}  // namespace tessera
