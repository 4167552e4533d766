// recognize_rotary_embedding: x * cos + rotate_half(x) * sin, or each half spelled by itself (x1 * cos - x2 * sin beside x2
// * cos + x1 * sin), or x * cos + pairs of (-x2, x1) * sin where x1 and x2 are every second element (GPT-J), becomes
// RotaryEmbedding; so does what leaves the rest of each head as it is. Heads that a Transpose puts in front of the steps
// are rotated in place, and the Transpose comes after, where attention fuses it.

#include <algorithm>
#include <array>

#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/equal_halves.h"
#include "optimizer/analysis/row_part.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int kRotaryVersion = 23;

/// What the nodes compute: the first 2 * half elements of each row of x are rotated, the others are as they were.
struct Rotation {
  ValueIndex x = kNone, cosine = kNone, sine = kNone;
  int64_t half = 0;
  bool wide = false;         // cosine and sine hold 2 * half numbers a row, each twice
  bool interleaved = false;  // elements that are rotated together are adjacent
  ValueIndex result = kNone;
  std::vector<NodeIndex> nodes;  // whose results only others of them read, but for the last
};

/// x is [batch, heads, steps, width], or [batch, steps, heads, width].
struct RotationLayout {
  bool heads_first = true;
  bool one_batch = false;  // the angles are the same for all
};

class RotationMatching {
 public:
  explicit RotationMatching(const Graph& graph) : graph_(graph) {}

  std::optional<Rotation> Match(const Node& node) {
    if (!MatchSum(node) && !MatchHalves(node)) return std::nullopt;
    rotation_.nodes.push_back(node.index);
    rotation_.result = node.outputs[0];
    TakeRestIn();
    return rotation_;
  }

 private:
  const Node* Inner(const Node& reader, size_t i, std::string_view op_type) const {
    const Node* node = Producer(graph_, reader, i);
    const bool is_inner = node != nullptr && IsOp(*node, op_type) && HasOneReader(graph_, reader.inputs[i]);
    return is_inner && (node->inputs.size() != 2 || node->since_version >= 7) ? node : nullptr;
  }

  /// Both parts are the halves of one value.
  bool AreHalves(const std::optional<RowPart>& first, const std::optional<RowPart>& second) {
    if (!first || !second || first->source != second->source || first->begin != 0 || first->end != second->begin)
      return false;
    if (second->end != first->size || first->end * 2 != first->size) return false;
    rotation_.x = first->source;
    rotation_.half = first->end;
    return true;
  }

  /// x * cos + rotated * sin, in any order.
  bool MatchSum(const Node& sum) {
    if (!IsOp(sum, "Add") || sum.inputs.size() != 2 || sum.since_version < 7) return false;
    const std::array products = {Inner(sum, 0, "Mul"), Inner(sum, 1, "Mul")};
    if (products[0] == nullptr || products[1] == nullptr) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Node &plain = *products[i], &rotated = *products[1 - i];
      for (const size_t j : {size_t{0}, size_t{1}}) {
        if (!RotatesHalves(rotated, j) && !RotatesPairs(rotated, j)) continue;
        rotation_.cosine = OtherInput(plain, rotation_.x);
        rotation_.sine = rotated.inputs[1 - j];
        rotation_.wide = true;
        rotation_.nodes.insert(rotation_.nodes.begin(), {plain.index, rotated.index});
        if (rotation_.cosine != kNone) return true;
      }
    }
    return false;
  }

  /// Concat(-x2, x1)
  bool RotatesHalves(const Node& mul, size_t input) {
    const Node* concat = Inner(mul, input, "Concat");
    if (concat == nullptr || concat->inputs.size() != 2 || !JoinsRows(graph_, *concat)) return false;
    const Node* negated = Inner(*concat, 0, "Neg");
    if (negated == nullptr || !AreHalves(RowPartOf(graph_, concat->inputs[1]), RowPartOf(graph_, negated->inputs[0])))
      return false;
    rotation_.interleaved = false;
    rotation_.nodes = {concat->index, negated->index};
    return true;
  }

  /// Reshape(Concat(Unsqueeze(-x2), Unsqueeze(x1)))
  bool RotatesPairs(const Node& mul, size_t input) {
    const Node* flat = Inner(mul, input, "Reshape");
    if (flat == nullptr || !JoinsPairs(graph_, *flat)) return false;
    const Node* concat = Inner(*flat, 0, "Concat");
    if (concat == nullptr || concat->inputs.size() != 2 || !JoinsRows(graph_, *concat)) return false;
    const Node *second = Inner(*concat, 0, "Unsqueeze"), *first = Inner(*concat, 1, "Unsqueeze");
    const Node* negated = second == nullptr || first == nullptr ? nullptr : Inner(*second, 0, "Neg");
    if (negated == nullptr ||
        !AreAlternations(RowAlternationOf(graph_, first->inputs[0]), RowAlternationOf(graph_, negated->inputs[0])))
      return false;
    rotation_.interleaved = true;
    rotation_.nodes = {flat->index, concat->index, second->index, first->index, negated->index};
    return true;
  }

  bool AreAlternations(const std::optional<RowAlternation>& first, const std::optional<RowAlternation>& second) {
    if (!first || !second || first->source != second->source || first->first != 0 || second->first != 1) return false;
    rotation_.x = first->source;
    rotation_.half = first->size / 2;
    return true;
  }

  /// Concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin).
  bool MatchHalves(const Node& concat) {
    if (!IsOp(concat, "Concat") || concat.inputs.size() != 2 || !JoinsRows(graph_, concat)) return false;
    const Node *difference = Inner(concat, 0, "Sub"), *sum = Inner(concat, 1, "Add");
    if (difference == nullptr || sum == nullptr) return false;
    const std::array products = {Inner(*difference, 0, "Mul"), Inner(*difference, 1, "Mul"), Inner(*sum, 0, "Mul"),
                                 Inner(*sum, 1, "Mul")};
    if (std::ranges::count(products, nullptr) > 0) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const ValueIndex first = products[0]->inputs[i], cosine = products[0]->inputs[1 - i];
      for (const size_t j : {size_t{0}, size_t{1}}) {
        const ValueIndex second = products[1]->inputs[j], sine = products[1]->inputs[1 - j];
        const auto multiplies = [](const Node& mul, ValueIndex a, ValueIndex b) {
          return a != b && OtherInput(mul, a) == b;
        };
        const bool crossed = (multiplies(*products[2], second, cosine) && multiplies(*products[3], first, sine)) ||
                             (multiplies(*products[3], second, cosine) && multiplies(*products[2], first, sine));
        if (!crossed || !AreHalves(RowPartOf(graph_, first), RowPartOf(graph_, second))) continue;
        rotation_.cosine = cosine;
        rotation_.sine = sine;
        for (const Node* mul : products) rotation_.nodes.push_back(mul->index);
        rotation_.nodes.insert(rotation_.nodes.end(), {difference->index, sum->index});
        return true;
      }
    }
    return false;
  }

  /// Concat(rotated, rest) where x is the beginning of each row and the rest what comes after it.
  void TakeRestIn() {
    const Node* concat = OnlyReader(graph_, rotation_.result);
    const auto begin = RowPartOf(graph_, rotation_.x);
    if (!begin || begin->begin != 0 || concat == nullptr || !IsOp(*concat, "Concat") || concat->inputs.size() != 2) return;
    const auto rest = concat->inputs[0] == rotation_.result ? RowPartOf(graph_, concat->inputs[1]) : std::nullopt;
    if (!rest || !JoinsRows(graph_, *concat) || rest->source != begin->source || rest->begin != begin->end ||
        rest->end != begin->size)
      return;
    rotation_.x = begin->source;
    rotation_.nodes.push_back(concat->index);
    rotation_.result = concat->outputs[0];
  }

  const Graph& graph_;
  Rotation rotation_;
};

/// How the angles broadcast to x; nothing where they are not one a step.
std::optional<RotationLayout> LayoutOf(const Graph& graph, const Rotation& rotation) {
  const SymbolicShape *x = ShapeOf(graph, rotation.x), *angles = ShapeOf(graph, rotation.cosine);
  if (x == nullptr || x->size() != 4 || !(*x)[3].known()) return std::nullopt;
  if (angles == nullptr || angles->size() < 2 || angles->size() > 4 || !SameShape(graph, rotation.cosine, rotation.sine))
    return std::nullopt;
  if (angles->back().value != (rotation.wide ? 2 : 1) * rotation.half) return std::nullopt;
  SymbolicShape dims(4 - angles->size(), Dimension{.value = 1, .symbol = {}});
  dims.insert(dims.end(), angles->begin(), angles->end());
  RotationLayout layout{.heads_first = true, .one_batch = angles->size() < 4 || !SameDimension(dims[0], (*x)[0])};
  if (layout.one_batch && dims[0].value != 1) return std::nullopt;
  if (dims[1].value == 1 && SameDimension(dims[2], (*x)[2])) return layout;
  layout.heads_first = false;
  const bool heads_last = dims[2].value == 1 && SameDimension(dims[1], (*x)[1]) && (*x)[2].known();
  return heads_last ? std::optional(layout) : std::nullopt;
}

/// Replaces the nodes by the operator and what brings its inputs into shape.
class RotationWriting {
 public:
  RotationWriting(Graph& graph, const Rotation& rotation, const RotationLayout& layout)
      : graph_(graph), rotation_(rotation), layout_(layout), before_(rotation.nodes.back()) {}

  Node Operator() const {
    const auto width = (*ShapeOf(graph_, rotation_.x))[3].value;
    Node node;
    node.op_type = "RotaryEmbedding";
    node.name = graph_.node(before_).name;
    node.domain = layout_.one_batch ? "com.microsoft" : "";
    node.since_version = layout_.one_batch ? 1 : kRotaryVersion;
    node.inputs = {rotation_.x, rotation_.cosine, rotation_.sine};
    if (layout_.one_batch) node.inputs.insert(node.inputs.begin() + 1, kNone);
    node.outputs = {rotation_.result};
    if (rotation_.interleaved) SetAttribute(node, "interleaved", int64_t{1});
    const Dimension& heads = (*ShapeOf(graph_, rotation_.x))[layout_.heads_first ? 1 : 2];
    const bool partial = width != 2 * rotation_.half;
    if (heads.known() && (partial || Packs())) SetAttribute(node, "num_heads", heads.value);
    if (partial && (!layout_.one_batch || heads.known())) SetAttribute(node, "rotary_embedding_dim", 2 * rotation_.half);
    return node;
  }

  void Write() {
    Node node = Operator();
    const bool packs = Packs();
    const ValueIndex steps_first =
        packs && layout_.heads_first ? graph_.node(graph_.value(rotation_.x).producer).inputs[0] : rotation_.x;
    const ElementType type = ElementOf(graph_, rotation_.x);
    for (auto at = rotation_.nodes.rbegin(); at != rotation_.nodes.rend(); ++at) graph_.RemoveNode(*at);
    const size_t caches = node.inputs.size() - 2;
    node.inputs[caches] = Cache(rotation_.cosine);
    node.inputs[caches + 1] = Cache(rotation_.sine);
    if (layout_.one_batch) node.inputs[1] = AddIntegers(graph_, std::array<int64_t, 1>{0});
    if (!packs) {
      graph_.AddNode(std::move(node), before_);
      return;
    }
    const SymbolicShape apart = *ShapeOf(graph_, steps_first);
    const SymbolicShape packed = {apart[0], apart[1], Dimension{.value = apart[2].value * apart[3].value, .symbol = {}}};
    const auto add = [&](const SymbolicShape& shape) { return graph_.AddValue("", TypeInfo::OfTensor(type, shape)); };
    const ValueIndex together = add(packed), rotated = add(packed);
    AddOperator(graph_, "Reshape", {steps_first, AddIntegers(graph_, std::array<int64_t, 3>{0, 0, packed[2].value})},
                together, before_);
    node.inputs[0] = together;
    node.outputs = {rotated};
    graph_.AddNode(std::move(node), before_);
    const ValueIndex heads = layout_.heads_first ? add(apart) : rotation_.result;
    const std::array<int64_t, 4> parted = {0, 0, apart[2].value, apart[3].value};
    AddOperator(graph_, "Reshape", {rotated, AddIntegers(graph_, parted)}, heads, before_);
    if (layout_.heads_first) {
      SetAttribute(AddOperator(graph_, "Transpose", {heads}, rotation_.result, before_), "perm", Permutation{0, 2, 1, 3});
    }
  }

 private:
  /// Heads are adjacent, after the steps: those of x itself, or of what nobody else reads transposed.
  bool Packs() const {
    if (!layout_.heads_first) return true;
    const GraphValue& x = graph_.value(rotation_.x);
    if (x.producer == kNone || x.is_output || !(*ShapeOf(graph_, rotation_.x))[1].known()) return false;
    if (PermutationOf(graph_, graph_.node(x.producer)) != Permutation{0, 2, 1, 3}) return false;
    return std::ranges::all_of(x.consumers, [&](NodeIndex reader) {
      if (std::ranges::find(rotation_.nodes, reader) != rotation_.nodes.end()) return true;
      const Node& part = graph_.node(reader);  // goes when only they read it
      return (IsOp(part, "Slice") || IsOp(part, "Split")) && std::ranges::all_of(part.outputs, [&](ValueIndex output) {
               if (output == kNone) return true;
               const GraphValue& value = graph_.value(output);
               return !value.is_output &&
                      std::ranges::all_of(value.consumers, [&](NodeIndex node) { return IsReplaced(node); });
             });
    });
  }

  /// One of the nodes, or a part of a part that one of them reads.
  bool IsReplaced(NodeIndex index) const {
    if (std::ranges::find(rotation_.nodes, index) != rotation_.nodes.end()) return true;
    const Node& node = graph_.node(index);
    if (!IsOp(node, "Slice") && !IsOp(node, "Split")) return false;
    return std::ranges::all_of(node.outputs, [&](ValueIndex output) {
      return output != kNone && std::ranges::all_of(graph_.value(output).consumers, [&](NodeIndex reader) {
               return std::ranges::find(rotation_.nodes, reader) != rotation_.nodes.end();
             });
    });
  }

  /// [batch, steps, half], or [steps, half] for all batches.
  ValueIndex Cache(ValueIndex angles) {
    const ElementType type = ElementOf(graph_, angles);
    SymbolicShape shape = *ShapeOf(graph_, angles);
    const auto rank = static_cast<int64_t>(shape.size());
    if (rotation_.wide) {
      const auto one = [&](int64_t value) { return AddIntegers(graph_, std::array<int64_t, 1>{value}); };
      shape.back().value = rotation_.half;
      const ValueIndex first = graph_.AddValue("", TypeInfo::OfTensor(type, shape));
      const int64_t step = rotation_.interleaved ? 2 : 1;
      AddOperator(graph_, "Slice", {angles, one(0), one(step * rotation_.half), one(rank - 1), one(step)}, first, before_);
      angles = first;
    }
    std::vector<int64_t> ones;
    for (int64_t i = 0; i < rank - 1; ++i) {
      const int64_t axis = i + 4 - rank;  // of x
      if (axis == (layout_.heads_first ? 1 : 2) || (axis == 0 && layout_.one_batch)) ones.push_back(i);
    }
    if (ones.empty()) return angles;
    for (auto axis = ones.rbegin(); axis != ones.rend(); ++axis) shape.erase(shape.begin() + static_cast<ptrdiff_t>(*axis));
    const ValueIndex cache = graph_.AddValue("", TypeInfo::OfTensor(type, shape));
    AddOperator(graph_, "Squeeze", {angles, AddIntegers(graph_, ones)}, cache, before_);
    return cache;
  }

  Graph& graph_;
  const Rotation& rotation_;
  const RotationLayout layout_;
  const NodeIndex before_;
};

class RotaryRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    constexpr int kAxesInInput = 13;  // of Squeeze
    if (VersionOf(graph, "Squeeze") < kAxesInInput) return false;
    const auto rotation = RotationMatching(graph).Match(graph.node(index));
    const auto layout = rotation ? LayoutOf(graph, *rotation) : std::nullopt;
    if (!layout) return false;
    const auto repeats = rotation->interleaved ? HasEqualPairs : HasEqualHalves;
    if (rotation->wide && !(repeats(graph, rotation->cosine) && repeats(graph, rotation->sine))) return false;
    RotationWriting writing(graph, *rotation, *layout);
    if (!MayAdd(graph, writing.Operator(), context)) return false;
    writing.Write();
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeRotaryEmbedding() { return std::make_unique<RotaryRecognition>(); }

}  // namespace tessera
