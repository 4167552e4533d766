#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

constexpr int64_t kHeads = 2, kWidth = 6, kHalf = 3;

/// How the turning of x is spelled.
struct Turning {
  bool split = false;       // Split instead of two Slices
  bool by_halves = false;   // each half by itself
  bool heads_last = false;  // x is [batch, steps, heads, width]
  int64_t rest = 0;         // what is not turned of each head
  bool one_batch = false;   // the angles are those of all
  bool equal = true;        // both halves of a row of angles
  bool swapped = false;     // Concat(x1, -x2)
};

void TakePart(ModelBuilder& model, const std::string& from, const std::string& to, int64_t begin, int64_t end) {
  model.Ints(to + "_begin", {begin}).Ints(to + "_end", {end}).Ints(to + "_axis", {-1});
  model.Node("Slice", {from, to + "_begin", to + "_end", to + "_axis"}, {to});
}

void AddTurning(ModelBuilder& model, const Turning& s) {
  if (s.split) {
    Int(Int(model.Node("Split", {"part"}, {"x1", "x2"}), "axis", 3), "num_outputs", 2);
  } else {
    TakePart(model, "part", "x1", 0, kHalf);
    TakePart(model, "part", "x2", kHalf, std::numeric_limits<int64_t>::max());
  }
  if (s.by_halves) {
    TakePart(model, "cos", "c", 0, kHalf);
    TakePart(model, "sin", "s", 0, kHalf);
    model.Node("Mul", {"x1", "c"}, {"x1c"});
    model.Node("Mul", {"s", "x2"}, {"x2s"});
    model.Node("Mul", {"x2", "c"}, {"x2c"});
    model.Node("Mul", {"x1", "s"}, {"x1s"});
    model.Node("Sub", {"x1c", "x2s"}, {"y1"});
    model.Node("Add", {"x1s", "x2c"}, {"y2"});
    Int(model.Node("Concat", {"y1", "y2"}, {"turned"}), "axis", -1);
    return;
  }
  model.Node("Neg", {"x2"}, {"negated"});
  if (s.swapped) {
    Int(model.Node("Concat", {"x1", "negated"}, {"other"}), "axis", -1);
  } else {
    Int(model.Node("Concat", {"negated", "x1"}, {"other"}), "axis", -1);
  }
  model.Node("Mul", {"part", "cos"}, {"plain"});
  model.Node("Mul", {"sin", "other"}, {"crossed"});
  model.Node("Add", {"plain", "crossed"}, {"turned"});
}

/// x, [?, steps, heads, width], of which y is the turned.
ModelBuilder TurningModel(const Turning& s, ElementType type = ElementType::kFloat) {
  ModelBuilder model(21);
  const int64_t width = kWidth + s.rest;
  model.Input("x", type, {-1, 5, kHeads, width});
  model.Input("angles", type, {s.one_batch ? 1 : -1, 5, kHalf}).Output("y", type, {-1, -1, -1, width});
  if (!s.one_batch) model.NameDim("x", 0, "batch").NameDim("angles", 0, "batch");
  model.Node("Neg", {"angles"}, {"reversed"});
  Int(model.Node("Concat", {"angles", s.equal ? "angles" : "reversed"}, {"both"}), "axis", -1);
  model.Ints("axis", {s.heads_last ? 2 : 1});
  model.Node("Cos", {"both"}, {"cos3"});
  model.Node("Sin", {"both"}, {"sin3"});
  model.Node("Unsqueeze", {"cos3", "axis"}, {"cos"});
  model.Node("Unsqueeze", {"sin3", "axis"}, {"sin"});
  if (s.heads_last) {
    model.Node("Identity", {"x"}, {"heads"});
  } else {
    Transpose(model, "x", "heads", {0, 2, 1, 3});
  }
  if (s.rest == 0) {
    model.Node("Identity", {"heads"}, {"part"});
    AddTurning(model, s);
    model.Node("Identity", {"turned"}, {"y"});
  } else {
    TakePart(model, "heads", "part", 0, kWidth);
    TakePart(model, "heads", "rest", kWidth, 100);
    AddTurning(model, s);
    Int(model.Node("Concat", {"turned", "rest"}, {"y"}), "axis", 3);
  }
  return model;
}

Rewriting Turned(const ModelBuilder& model) {
  return Rewriting(model, {"eliminate_identities", "recognize_rotary_embedding", "deduplicate_constants",
                           "eliminate_common_subexpressions", "eliminate_dead_nodes"});
}

TEST(RecognizeRotaryEmbedding, AllSpellings) {
  for (int i = 0; i < 32; ++i) {
    const Turning s{.split = (i & 1) != 0,
                    .by_halves = (i & 2) != 0,
                    .heads_last = (i & 4) != 0,
                    .rest = (i & 8) != 0 ? 2 : 0,
                    .one_batch = (i & 16) != 0};
    SCOPED_TRACE(i);
    const Rewriting rewriting = Turned(TurningModel(s));
    const std::string& after = rewriting.after();
    EXPECT_NE(after.find("RotaryEmbedding"), std::string::npos) << after;
    for (const std::string gone : {"Mul", "Add", "Split"}) EXPECT_EQ(after.find(gone), std::string::npos) << after;
    EXPECT_EQ(rewriting.Difference(1, s.one_batch ? 3 : 2, true), "");
  }
}

/// What is turned together lies side by side, as in GPT-J.
enum class Pairs { kSlices, kGathers, kSplit };

ModelBuilder PairsModel(Pairs spelling, bool one_batch, bool equal = true) {
  ModelBuilder model(21);
  model.Input("x", ElementType::kFloat, {-1, 5, kHeads, kWidth});
  model.Input("angles", ElementType::kFloat, {one_batch ? 1 : -1, 5, kHalf, 1})
      .Output("y", ElementType::kFloat, {-1, -1, -1, kWidth});
  model.NameDim("x", 0, "batch");
  if (!one_batch) model.NameDim("angles", 0, "batch");
  // Each angle twice.
  model.Ints("rows", {0, 0, kWidth})
      .Ints("parted", {0, 0, 0, kHalf, 2})
      .Ints("joined", {0, 0, 0, kWidth})
      .Ints("axis", {2})
      .Ints("last", {-1});
  model.Node("Neg", {"angles"}, {"reversed"});
  Int(model.Node("Concat", {"angles", equal ? "angles" : "reversed"}, {"both"}), "axis", -1);
  model.Node("Reshape", {"both", "rows"}, {"flat"});
  model.Node("Cos", {"flat"}, {"cos3"});
  model.Node("Sin", {"flat"}, {"sin3"});
  model.Node("Unsqueeze", {"cos3", "axis"}, {"cos"});
  model.Node("Unsqueeze", {"sin3", "axis"}, {"sin"});
  if (spelling == Pairs::kSlices) {
    model.Ints("zero", {0}).Ints("one", {1}).Ints("end", {std::numeric_limits<int64_t>::max()}).Ints("two", {2});
    model.Node("Slice", {"x", "zero", "end", "last", "two"}, {"x1"});
    model.Node("Slice", {"x", "one", "end", "last", "two"}, {"x2"});
  } else {
    model.Node("Reshape", {"x", "parted"}, {"pairs"});
    if (spelling == Pairs::kGathers) {
      constexpr int64_t kFirst[] = {0}, kSecond[] = {1};
      model.Constant("zero", {}, std::span<const int64_t>(kFirst)).Constant("one", {}, std::span<const int64_t>(kSecond));
      Int(model.Node("Gather", {"pairs", "zero"}, {"x1"}), "axis", -1);
      Int(model.Node("Gather", {"pairs", "one"}, {"x2"}), "axis", -1);
    } else {
      Int(Int(model.Node("Split", {"pairs"}, {"x1_", "x2_"}), "axis", 4), "num_outputs", 2);
      model.Node("Squeeze", {"x1_", "last"}, {"x1"});
      model.Node("Squeeze", {"x2_", "last"}, {"x2"});
    }
  }
  model.Node("Neg", {"x2"}, {"negated"});
  model.Node("Unsqueeze", {"negated", "last"}, {"u2"});
  model.Node("Unsqueeze", {"x1", "last"}, {"u1"});
  Int(model.Node("Concat", {"u2", "u1"}, {"stack"}), "axis", -1);
  model.Node("Reshape", {"stack", "joined"}, {"other"});
  model.Node("Mul", {"x", "cos"}, {"plain"});
  model.Node("Mul", {"other", "sin"}, {"crossed"});
  model.Node("Add", {"plain", "crossed"}, {"y"});
  return model;
}

TEST(RecognizeRotaryEmbedding, PairsSideBySide) {
  for (const Pairs spelling : {Pairs::kSlices, Pairs::kGathers, Pairs::kSplit}) {
    for (const bool one_batch : {false, true}) {
      SCOPED_TRACE(static_cast<int>(spelling));
      const Rewriting rewriting = Turned(PairsModel(spelling, one_batch));
      const std::string& after = rewriting.after();
      EXPECT_NE(after.find("RotaryEmbedding"), std::string::npos) << after;
      for (const std::string gone : {"Mul", "Add", "Split", "Gather"})
        EXPECT_EQ(after.find(gone), std::string::npos) << after;
      EXPECT_EQ(rewriting.Difference(1, one_batch ? 3 : 2, true), "");
    }
    EXPECT_EQ(Turned(PairsModel(spelling, true, false)).after().find("RotaryEmbedding"), std::string::npos);
  }
}

// Heads are turned where they lie: attention takes the Transpose in afterwards.
TEST(RecognizeRotaryEmbedding, BeforeTheTranspose) {
  const std::string after = Turned(TurningModel({.by_halves = true})).after();
  EXPECT_NE(after.find("RotaryEmbedding Reshape Transpose"), std::string::npos) << after;
  ModelBuilder read = TurningModel({});
  read.Output("heads", ElementType::kFloat, {-1, kHeads, 5, kWidth});
  const Rewriting rewriting = Turned(read);
  EXPECT_EQ(rewriting.after().find("Reshape"), std::string::npos) << rewriting.after();
  EXPECT_NE(rewriting.after().find("RotaryEmbedding"), std::string::npos) << rewriting.after();
  EXPECT_EQ(rewriting.Difference(1, 2, true), "");
}

TEST(RecognizeRotaryEmbedding, Halves) {
  const Rewriting rewriting = Turned(TurningModel({}, ElementType::kFloat16));
  EXPECT_NE(rewriting.after().find("RotaryEmbedding"), std::string::npos) << rewriting.after();
}

TEST(RecognizeRotaryEmbedding, LeavesOthers) {
  const auto expect_left = [](const ModelBuilder& model) {
    const Rewriting rewriting = Turned(model);
    EXPECT_EQ(rewriting.after().find("RotaryEmbedding"), std::string::npos) << rewriting.after();
    EXPECT_EQ(rewriting.Difference(1, 2, true), "");
  };
  expect_left(TurningModel({.equal = false}));
  expect_left(TurningModel({.swapped = true}));
  ModelBuilder read = TurningModel({});
  read.Output("crossed", ElementType::kFloat, {-1, kHeads, 5, kWidth});
  expect_left(read);
  ModelBuilder unknown = TurningModel({});  // one batch of angles may turn several of x
  unknown.NameDim("angles", 0, "other");
  expect_left(unknown);
}

}  // namespace
}  // namespace tessera::testing
