#include "graph/shape_values.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "ops/movement/constant_of_shape.h"
#include "ops/movement/gather.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/reduction/reduce.h"
#include "ops/valid_attributes.h"

namespace tessera {
namespace {

/// Longer tensors do not compute shapes.
constexpr size_t kMostElements = 1024;
constexpr size_t kLongestSymbol = 64;

const ShapeElement kUnknown;

std::optional<ShapeValue> Read(const Tensor& tensor) {
  if (tensor.shape().rank() > 1 || static_cast<size_t>(tensor.num_elements()) > kMostElements) return std::nullopt;
  ShapeValue elements;
  const auto copy = [&](const auto& values) {
    for (const auto value : values) elements.push_back(ShapeElement::Of(static_cast<int64_t>(value)));
  };
  switch (tensor.type()) {
    case ElementType::kInt64: copy(tensor.values<int64_t>()); return elements;
    case ElementType::kInt32: copy(tensor.values<int32_t>()); return elements;
    case ElementType::kBool:
      copy(std::span(tensor.data<uint8_t>(), static_cast<size_t>(tensor.num_elements())));
      return elements;
    default: return std::nullopt;
  }
}

/// "(a*b)": equal texts are equal values. Only for results that cannot be negative, as dimensions are not.
ShapeElement Combined(const ShapeElement& a, std::string_view op, const ShapeElement& b, bool commutes) {
  const auto text = [](const ShapeElement& element) {
    return element.known ? std::to_string(element.value) : element.symbol;
  };
  const bool named = (a.known ? a.value >= 0 : !a.symbol.empty()) && (b.known ? b.value >= 0 : !b.symbol.empty());
  if (!named) return kUnknown;
  std::string left = text(a), right = text(b);
  if (commutes && right < left) std::swap(left, right);
  std::string symbol = "(" + left + std::string(op) + right + ")";
  return symbol.size() > kLongestSymbol ? kUnknown : ShapeElement{false, 0, std::move(symbol)};
}

bool Is(const ShapeElement& element, int64_t value) { return element.known && element.value == value; }
bool Named(const ShapeElement& element) { return !element.known && !element.symbol.empty(); }

ShapeElement Add(const ShapeElement& a, const ShapeElement& b) {
  if (Is(a, 0)) return b;
  if (Is(b, 0)) return a;
  int64_t sum;
  if (a.known && b.known) return __builtin_add_overflow(a.value, b.value, &sum) ? kUnknown : ShapeElement::Of(sum);
  return Combined(a, "+", b, true);
}

ShapeElement Sub(const ShapeElement& a, const ShapeElement& b) {
  if (Is(b, 0)) return a;
  int64_t difference;
  if (a.known && b.known) {
    return __builtin_sub_overflow(a.value, b.value, &difference) ? kUnknown : ShapeElement::Of(difference);
  }
  return Named(a) && a == b ? ShapeElement::Of(0) : kUnknown;
}

ShapeElement Mul(const ShapeElement& a, const ShapeElement& b) {
  if (Is(a, 1)) return b;
  if (Is(b, 1)) return a;
  if (Is(a, 0) || Is(b, 0)) return ShapeElement::Of(0);
  int64_t product;
  if (a.known && b.known) return __builtin_mul_overflow(a.value, b.value, &product) ? kUnknown : ShapeElement::Of(product);
  return Combined(a, "*", b, true);
}

ShapeElement Div(const ShapeElement& a, const ShapeElement& b) {
  if (Is(b, 1)) return a;
  if (Is(b, 0) || Is(b, -1)) return kUnknown;
  if (a.known && b.known) return ShapeElement::Of(a.value / b.value);
  return b.known ? Combined(a, "/", b, false) : kUnknown;
}

ShapeElement Mod(const ShapeElement& a, const ShapeElement& b) {
  return a.known && b.known && a.value >= 0 && b.value > 0 ? ShapeElement::Of(a.value % b.value) : kUnknown;
}

ShapeElement Min(const ShapeElement& a, const ShapeElement& b) {
  return a.known && b.known ? ShapeElement::Of(std::min(a.value, b.value)) : a == b ? a : kUnknown;
}

ShapeElement Max(const ShapeElement& a, const ShapeElement& b) {
  return a.known && b.known ? ShapeElement::Of(std::max(a.value, b.value)) : a == b ? a : kUnknown;
}

ShapeElement Equal(const ShapeElement& a, const ShapeElement& b) {
  if (a.known && b.known) return ShapeElement::Of(a.value == b.value);
  if (Named(a) && a == b) return ShapeElement::Of(1);
  // Names stand for dimensions, which are not negative.
  const bool apart = (Named(a) && b.known && b.value < 0) || (Named(b) && a.known && a.value < 0);
  return apart ? ShapeElement::Of(0) : kUnknown;
}

ShapeElement Less(const ShapeElement& a, const ShapeElement& b) {
  if (a.known && b.known) return ShapeElement::Of(a.value < b.value);
  return Named(b) && a.known && a.value < 0 ? ShapeElement::Of(1) : kUnknown;
}

ShapeElement Greater(const ShapeElement& a, const ShapeElement& b) { return Less(b, a); }

using Binary = ShapeElement (*)(const ShapeElement&, const ShapeElement&);

Binary BinaryOf(std::string_view op) {
  static const std::map<std::string_view, Binary> table = {
      {"Add", Add}, {"Sub", Sub}, {"Mul", Mul},     {"Div", Div},   {"Mod", Mod},
      {"Min", Min}, {"Max", Max}, {"Equal", Equal}, {"Less", Less}, {"Greater", Greater},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

/// Element i of a scalar, a one-element vector or a vector of `size`.
const ShapeElement& Broadcast(const ShapeValue& value, size_t i) { return value[value.size() == 1 ? 0 : i]; }

std::optional<size_t> BroadcastSize(std::initializer_list<const ShapeValue*> values) {
  size_t size = 1;
  for (const ShapeValue* value : values) {
    if (value->size() == 1) continue;
    if (size != 1 && value->size() != size) return std::nullopt;
    size = value->size();
  }
  return size;
}

std::optional<ShapeValue> Elementwise(Binary binary, const ShapeValue& a, const ShapeValue& b) {
  const auto size = BroadcastSize({&a, &b});
  if (!size) return std::nullopt;
  ShapeValue result;
  for (size_t i = 0; i < *size; ++i) result.push_back(binary(Broadcast(a, i), Broadcast(b, i)));
  return result;
}

std::optional<ShapeValue> Where(const ShapeValue& conditions, const ShapeValue& a, const ShapeValue& b) {
  const auto size = BroadcastSize({&conditions, &a, &b});
  if (!size) return std::nullopt;
  ShapeValue result;
  for (size_t i = 0; i < *size; ++i) {
    const ShapeElement& condition = Broadcast(conditions, i);
    const ShapeElement &yes = Broadcast(a, i), &no = Broadcast(b, i);
    result.push_back(condition.known ? (condition.value != 0 ? yes : no) : yes == no ? yes : kUnknown);
  }
  return result;
}

ShapeValue Not(const ShapeValue& value) {
  ShapeValue result;
  for (const ShapeElement& element : value)
    result.push_back(element.known ? ShapeElement::Of(element.value == 0) : kUnknown);
  return result;
}

std::optional<ShapeValue> ShapeOf(const Node& node, const TypeInfo& type) {
  if (!type.is_tensor() || !type.shape) return std::nullopt;
  const auto [start, end] = ShapeAttributes(node).Range(type.shape->size());
  ShapeValue result;
  for (size_t i = start; i < end; ++i) {
    const Dimension& dim = (*type.shape)[i];
    result.push_back({dim.known(), dim.known() ? dim.value : 0, dim.symbol});
  }
  return result;
}

std::optional<ShapeValue> SizeOf(const TypeInfo& type) {
  if (!type.is_tensor() || !type.shape) return std::nullopt;
  ShapeElement size = ShapeElement::Of(1);
  for (const Dimension& dim : *type.shape) size = Mul(size, {dim.known(), dim.known() ? dim.value : 0, dim.symbol});
  return ShapeValue{size};
}

std::optional<ShapeValue> Gather(const Node& node, const ShapeValue& data, const ShapeValue& indices) {
  const int64_t axis = GatherAttributes(node).axis;
  if (axis != 0 && axis != -1) return std::nullopt;
  const auto size = static_cast<int64_t>(data.size());
  ShapeValue result;
  for (const ShapeElement& index : indices) {
    if (!index.known) return std::nullopt;
    const int64_t at = index.value < 0 ? index.value + size : index.value;
    if (at < 0 || at >= size) return std::nullopt;
    result.push_back(data[static_cast<size_t>(at)]);
  }
  return result;
}

std::optional<ShapeValue> Slice(const ShapeValue& data, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return std::nullopt;
  const SliceRange range = ClampSlice(start, end, step, static_cast<int64_t>(data.size()));
  ShapeValue result;
  for (int64_t i = 0; i < range.count; ++i) result.push_back(data[static_cast<size_t>(range.start + i * range.step)]);
  return result;
}

std::optional<ShapeValue> Range(const ShapeValue& start, const ShapeValue& limit, const ShapeValue& delta) {
  for (const ShapeValue* value : {&start, &limit, &delta}) {
    if (value->size() != 1 || !value->front().known) return std::nullopt;
  }
  const int64_t step = delta[0].value;
  ShapeValue result;
  int64_t at = start[0].value;
  while (step != 0 && (step > 0 ? at < limit[0].value : at > limit[0].value)) {
    result.push_back(ShapeElement::Of(at));
    if (result.size() > kMostElements || __builtin_add_overflow(at, step, &at)) return std::nullopt;
  }
  return step == 0 ? std::nullopt : std::optional(result);
}

}  // namespace

const ShapeValue* ShapeValues::Find(ValueIndex index) {
  if (index == kNone) return nullptr;
  const auto held = values_.find(index);
  if (held != values_.end()) return &held->second;
  const GraphValue& value = graph_.value(index);
  if (const Tensor* constant = graph_.constant(index)) {
    auto elements = Read(*constant);
    return elements ? &values_.emplace(index, std::move(*elements)).first->second : nullptr;
  }
  if (value.outer == kNone || outer_ == nullptr) return nullptr;
  const auto captured = outer_->values_.find(value.outer);
  return captured == outer_->values_.end() ? nullptr : &captured->second;
}

void ShapeValues::Propagate(const Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1 || node.outputs[0] == kNone) return;
  const TypeInfo& type = graph_.value(node.outputs[0]).type;
  if (!type.is_tensor() || (type.shape && type.shape->size() > 2)) return;
  if (type.element != ElementType::kInt64 && type.element != ElementType::kInt32 && type.element != ElementType::kBool)
    return;
  if (type.shape && type.shape->size() == 2) {
    if (auto matrix = ComputeMatrix(node)) matrices_.insert_or_assign(node.outputs[0], std::move(*matrix));
    return;
  }
  auto result = Compute(node);
  if (!result || result->size() > kMostElements) return;
  for (ShapeElement& element : *result) {
    const bool fits = type.element != ElementType::kInt32 || element.value == static_cast<int32_t>(element.value);
    if (element.known && !fits) element = kUnknown;
    if (type.element != ElementType::kBool) continue;
    element = element.known ? ShapeElement::Of(element.value != 0) : kUnknown;  // a size's name says nothing of its truth
  }
  // Nothing known says nothing, but for the number of elements, which the type tells as well.
  const bool says_something =
      std::any_of(result->begin(), result->end(), [](const ShapeElement& e) { return e.known || !e.symbol.empty(); });
  if (says_something || result->empty()) values_.insert_or_assign(node.outputs[0], std::move(*result));
}

std::optional<int64_t> ShapeValues::KnownInput(const Node& node, size_t i) {
  const ShapeValue* value = i < node.inputs.size() ? Find(node.inputs[i]) : nullptr;
  if (value == nullptr || value->size() != 1 || !value->front().known) return std::nullopt;
  return value->front().value;
}

std::optional<ShapeValues::Matrix> ShapeValues::SliceOf(const Matrix& from, int64_t axis, int64_t start, int64_t end,
                                                        int64_t step) {
  if (axis < -2 || axis > 1) return std::nullopt;
  const bool of_rows = axis == 0 || axis == -2;
  ShapeValue all;
  for (size_t i = 0; i < (of_rows ? from.rows : from.columns); ++i)
    all.push_back(ShapeElement::Of(static_cast<int64_t>(i)));
  const auto taken = Slice(all, start, end, step);
  if (!taken) return std::nullopt;
  Matrix slice{of_rows ? taken->size() : from.rows, of_rows ? from.columns : taken->size(), {}};
  for (size_t row = 0; row < slice.rows; ++row) {
    for (size_t column = 0; column < slice.columns; ++column) {
      const auto at = static_cast<size_t>((*taken)[of_rows ? row : column].value);
      slice.elements.push_back(from.elements[of_rows ? at * from.columns + column : row * from.columns + at]);
    }
  }
  return slice;
}

std::optional<ShapeValues::Matrix> ShapeValues::ComputeMatrix(const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNone) return std::nullopt;
  const auto held = matrices_.find(node.inputs[0]);
  const Matrix* from = held == matrices_.end() ? nullptr : &held->second;
  if (node.op_type == "Reshape") {
    const SymbolicShape& to = *graph_.value(node.outputs[0]).type.shape;
    const ShapeValue* elements = from != nullptr ? &from->elements : Find(node.inputs[0]);
    if (elements == nullptr || !to[0].known() || !to[1].known()) return std::nullopt;
    const Matrix result{static_cast<size_t>(to[0].value), static_cast<size_t>(to[1].value), *elements};
    const bool fits = to[0].value <= static_cast<int64_t>(kMostElements) &&
                      to[1].value <= static_cast<int64_t>(kMostElements) &&
                      result.rows * result.columns == elements->size();
    return fits ? std::optional(result) : std::nullopt;
  }
  if (from == nullptr) return std::nullopt;
  if (node.op_type == "Transpose") {
    const auto attributes = ValidAttributes<TransposeAttributes>(node);
    if (!attributes || !(attributes->reverses || attributes->perm == std::vector<size_t>{1, 0})) return std::nullopt;
    Matrix result{from->columns, from->rows, {}};
    for (size_t i = 0; i < from->elements.size(); ++i) {
      result.elements.push_back(from->elements[i % from->rows * from->columns + i / from->rows]);
    }
    return result;
  }
  if (node.op_type != "Slice" || node.since_version < 10) return std::nullopt;
  const auto start = KnownInput(node, 1), end = KnownInput(node, 2), axis = KnownInput(node, 3);
  const auto step = node.inputs.size() > 4 && node.inputs[4] != kNone ? KnownInput(node, 4) : std::optional<int64_t>(1);
  return start && end && axis && step ? SliceOf(*from, *axis, *start, *end, *step) : std::nullopt;
}

std::optional<ShapeValue> ShapeValues::Compute(const Node& node) {
  const std::string_view op = node.op_type;
  const auto& inputs = node.inputs;
  const auto type = [&](size_t i) -> const TypeInfo& { return graph_.value(inputs[i]).type; };
  if (inputs.empty() || inputs[0] == kNone) return std::nullopt;
  if (op == "Shape") return ShapeOf(node, type(0));
  if (op == "Size") return SizeOf(type(0));
  // What may have more dimensions than one is no list of elements.
  if ((op == "Reshape" || op == "Unsqueeze") && !graph_.value(node.outputs[0]).type.shape) return std::nullopt;

  if (const auto matrix = matrices_.find(inputs[0]); matrix != matrices_.end()) {
    return op == "Reshape" ? std::optional(matrix->second.elements) : std::nullopt;
  }

  std::vector<const ShapeValue*> in;
  in.reserve(inputs.size());
  for (ValueIndex input : inputs) in.push_back(Find(input));
  const auto have = [&](size_t count) {
    return in.size() >= count &&
           std::all_of(in.begin(), in.begin() + static_cast<ptrdiff_t>(count), [](auto* v) { return v; });
  };
  const auto known = [&](size_t i) { return KnownInput(node, i); };
  if (!have(1)) return std::nullopt;
  if (op == "Identity" || op == "Cast" || op == "Squeeze" || op == "Unsqueeze" || op == "Reshape") return *in[0];
  if (const Binary binary = BinaryOf(op); binary != nullptr && inputs.size() == 2 && have(2))
    return Elementwise(binary, *in[0], *in[1]);
  if (op == "Where" && have(3)) return Where(*in[0], *in[1], *in[2]);
  if (op == "Not") return Not(*in[0]);
  if (op == "Concat" && have(in.size())) {
    ShapeValue result;
    for (const ShapeValue* part : in) result.insert(result.end(), part->begin(), part->end());
    return result;
  }
  if (op == "Gather" && have(2)) return Gather(node, *in[0], *in[1]);
  if (op == "Slice" && node.since_version >= 10) {
    const auto start = known(1), end = known(2);
    const auto step = inputs.size() > 4 && inputs[4] != kNone ? known(4) : std::optional<int64_t>(1);
    return start && end && step ? Slice(*in[0], *start, *end, *step) : std::nullopt;
  }
  if (op == "ReduceProd" && !ReduceAttributes(node).noop_with_empty_axes) {
    ShapeElement product = ShapeElement::Of(1);
    for (const ShapeElement& element : *in[0]) product = Mul(product, element);
    return ShapeValue{product};
  }
  if (op == "Range" && have(3)) return Range(*in[0], *in[1], *in[2]);
  if (op == "ConstantOfShape") {
    const auto count = known(0);
    if (!count || *count < 0 || static_cast<size_t>(*count) > kMostElements || in[0]->size() != 1) return std::nullopt;
    const auto attributes = ValidAttributes<ConstantOfShapeAttributes>(node);
    const auto element = attributes ? Read(attributes->value) : std::nullopt;
    if (!element || element->size() != 1) return std::nullopt;
    return ShapeValue(static_cast<size_t>(*count), element->front());
  }
  return std::nullopt;
}

}  // namespace tessera
