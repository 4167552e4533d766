#include "model/gradient/builder.h"

#include <algorithm>

#include "base/check.h"
#include "graph/onnx_schemas.h"
#include "onnx/defs/schema.h"

namespace tessera::gradient {
namespace {

template <class T>
Tensor ScalarOf(double number) {
  const T value(static_cast<T>(number));
  return Tensor::Of<T>({}, std::span<const T>(&value, 1));
}

Tensor ScalarTensor(double number, ElementType element) {
  switch (element) {
    case ElementType::kFloat: return ScalarOf<float>(number);
    case ElementType::kDouble: return ScalarOf<double>(number);
    case ElementType::kFloat16: return ScalarOf<Float16>(number);
    case ElementType::kBFloat16: return ScalarOf<BFloat16>(number);
    case ElementType::kInt64: return ScalarOf<int64_t>(number);
    default: Fail(ErrorCode::kNotImplemented, "derivatives of {} tensors are not supported", ElementTypeName(element));
  }
}

int NewestVersion(const std::string& op_type) {
  const onnx::OpSchema* schema = FindOnnxSchema(op_type);
  if (schema == nullptr) Fail(ErrorCode::kFail, "ai.onnx has no operator {}", op_type);
  return schema->SinceVersion();
}

}  // namespace

Term Builder::Of(ValueIndex value) { return value == kNone ? Term() : Term{this, value, graph_.value(value).type.element}; }

std::vector<Term> Builder::CallAll(std::string op_type, std::span<const Term> inputs, size_t outputs, Attributes attributes,
                                   ElementType element) {
  Node node;
  node.since_version = NewestVersion(op_type);
  node.op_type = std::move(op_type);
  node.attributes = std::move(attributes);
  return CopyOf(node, inputs, outputs, element == ElementType::kUndefined ? inputs[0].element : element);
}

std::vector<Term> Builder::CopyOf(const Node& original, std::span<const Term> inputs, size_t outputs, ElementType element) {
  Node node = original;
  node.name = prefix_ + node.op_type;
  node.implicit_inputs.clear();
  node.inputs.clear();
  for (const Term& input : inputs) node.inputs.push_back(input.value);
  while (!node.inputs.empty() && node.inputs.back() == kNone) node.inputs.pop_back();
  node.outputs.clear();
  std::vector<Term> results;
  for (size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph_.AddValue({}));
    results.push_back({this, node.outputs.back(), element});
  }
  graph_.AddNode(std::move(node), place_);
  return results;
}

Term Builder::Constant(Tensor tensor) {
  const ElementType element = tensor.type();
  return {this, graph_.AddConstant({}, std::move(tensor)), element};
}

Term Builder::Number(double number, ElementType element) { return Constant(ScalarTensor(number, element)); }

Term Builder::Ints(std::span<const int64_t> numbers) {
  return Constant(Tensor::Of<int64_t>(Shape{static_cast<int64_t>(numbers.size())}, numbers));
}

Term Builder::Floats(std::span<const float> numbers) {
  return Constant(Tensor::Of<float>(Shape{static_cast<int64_t>(numbers.size())}, numbers));
}

const SymbolicShape* Builder::DimsOf(Term x) const noexcept {
  const auto& shape = graph_.value(x.value).type.shape;
  return shape ? &*shape : nullptr;
}

Term Builder::ShapeOf(Term x) {
  const SymbolicShape* dims = DimsOf(x);
  const std::optional<Shape> shape = dims == nullptr ? std::nullopt : ToShape(*dims);
  if (shape) return Ints(shape->dims());
  return Call("Shape", {x}, {}, ElementType::kInt64);
}

Term Builder::ShapeOf(Term x, int64_t begin, int64_t end) {
  const SymbolicShape* dims = DimsOf(x);
  std::vector<int64_t> known;
  for (int64_t i = begin; dims != nullptr && i < std::min(end, static_cast<int64_t>(dims->size())); ++i) {
    if ((*dims)[static_cast<size_t>(i)].known()) known.push_back((*dims)[static_cast<size_t>(i)].value);
  }
  if (static_cast<int64_t>(known.size()) == end - begin) return Ints(known);
  return Call("Slice", {ShapeOf(x), Ints({begin}), Ints({end})});
}

Term Builder::SizeOf(Term x, ElementType element) { return Cast(Call("Size", {x}, {}, ElementType::kInt64), element); }

Term Builder::Filled(Term shape, double number, ElementType element) {
  return Call("ConstantOfShape", {shape}, {{"value", ScalarTensor(number, element).Reshaped(Shape{1})}}, element);
}

Term Builder::Cast(Term x, ElementType element) {
  if (x.element == element) return x;
  return Call("Cast", {x}, {Int("to", static_cast<int64_t>(element))}, element);
}

Term Builder::Reshape(Term x, Term shape) { return Call("Reshape", {x, shape}, {Int("allowzero", 1)}); }

Term Builder::Transpose(Term x, std::vector<int64_t> perm) {
  return Call("Transpose", {x}, {IntList("perm", std::move(perm))});
}

Term Builder::ReduceSum(Term x, Term axes, bool keep_dims) {
  return Call("ReduceSum", {x, axes}, {Int("keepdims", keep_dims), Int("noop_with_empty_axes", 1)});
}

Term Builder::SumTo(Term x, Term as, Term target) {
  const SymbolicShape *from = DimsOf(as), *to = DimsOf(target);
  if (from != nullptr && to != nullptr && from->size() >= to->size()) {
    const auto same = [](const Dimension& a, const Dimension& b) { return a == b && (a.known() || !a.symbol.empty()); };
    const size_t extra = from->size() - to->size();
    std::vector<int64_t> axes;
    bool certain = true;
    for (size_t i = 0; i < from->size(); ++i) {
      if (i >= extra && same((*from)[i], (*to)[i - extra])) continue;
      axes.push_back(static_cast<int64_t>(i));
      certain &= i < extra || (*to)[i - extra].value == 1;
    }
    if (axes.empty()) return x;
    if (certain) return Reshape(ReduceSum(x, Ints(axes), true), ShapeOf(target));
  }
  return SumFrom(x, ShapeOf(as), target);
}

Term Builder::SumTo(Term x, Term target) { return SumFrom(x, Call("Shape", {x}, {}, ElementType::kInt64), target); }

Term Builder::SumFrom(Term x, Term shape, Term target) {
  const Term wanted = ShapeOf(target);
  const Term missing = Call("Shape", {shape}, {}, ElementType::kInt64) - Call("Shape", {wanted}, {}, ElementType::kInt64);
  const std::vector<Term> parts = {Filled(missing, 1, ElementType::kInt64), wanted};
  const Term aligned = CallAll("Concat", parts, 1, {Int("axis", 0)})[0];
  const Term axes = Reshape(Call("NonZero", {Not(Equal(aligned, shape))}, {}, ElementType::kInt64), Ints({-1}));
  return Reshape(ReduceSum(x, axes, true), wanted);
}

namespace {

Term Binary(const char* op_type, Term a, Term b, ElementType element = ElementType::kUndefined) {
  return a.builder->Call(op_type, {a, b}, {}, element);
}
Term NumberFor(Term x, double number) { return x.builder->Number(number, x.element); }

}  // namespace

Term operator+(Term a, Term b) { return Binary("Add", a, b); }
Term operator-(Term a, Term b) { return Binary("Sub", a, b); }
Term operator*(Term a, Term b) { return Binary("Mul", a, b); }
Term operator/(Term a, Term b) { return Binary("Div", a, b); }
Term operator-(Term a) { return Apply("Neg", a); }
Term operator+(Term a, double b) { return a + NumberFor(a, b); }
Term operator-(double a, Term b) { return NumberFor(b, a) - b; }
Term operator*(Term a, double b) { return b == 1 ? a : a * NumberFor(a, b); }
Term operator/(Term a, double b) { return a / NumberFor(a, b); }
Term operator>(Term a, Term b) { return Binary("Greater", a, b, ElementType::kBool); }
Term operator<(Term a, Term b) { return Binary("Less", a, b, ElementType::kBool); }
Term operator>(Term a, double b) { return a > NumberFor(a, b); }
Term operator<(Term a, double b) { return a < NumberFor(a, b); }
Term Equal(Term a, Term b) { return Binary("Equal", a, b, ElementType::kBool); }
Term And(Term a, Term b) { return Binary("And", a, b); }
Term Not(Term a) { return Apply("Not", a); }
Term Apply(std::string op_type, Term x) { return x.builder->Call(std::move(op_type), {x}); }

}  // namespace tessera::gradient
