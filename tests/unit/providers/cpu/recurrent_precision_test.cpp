// RNN, GRU and LSTM with operands of bfloat16 beside the same in float32, and with weights that need no more than 16 bits.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "attributes.h"
#include "base/cpu_features.h"
#include "model_builder.h"
#include "precision_of.h"
#include "random_numbers.h"

namespace tessera::testing {
namespace {

enum class WeightForm { kConstant, kInputs, kHalf };

struct Recurrence {
  const char* op = "LSTM";
  int64_t steps = 7, batch = 3, input = 20, hidden = 36;
  const char* direction = "forward";
  bool bias = true, lengths = false, initial = false, peepholes = false, batch_first = false, linear_before_reset = false;
  WeightForm weights = WeightForm::kConstant;
};

int64_t GatesOf(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
int64_t DirectionsOf(const Recurrence& r) { return std::string(r.direction) == "bidirectional" ? 2 : 1; }

class RecurrentModel {
 public:
  explicit RecurrentModel(const Recurrence& r) : r_(r), model_(22) {
    const int64_t directions = DirectionsOf(r), gates = GatesOf(r.op) * r.hidden;
    const bool lstm = std::string(r.op) == "LSTM";
    const std::vector<int64_t> state = r.batch_first ? std::vector<int64_t>{r.batch, directions, r.hidden}
                                                     : std::vector<int64_t>{directions, r.batch, r.hidden};
    Add("x",
        r.batch_first ? std::vector<int64_t>{r.batch, r.steps, r.input} : std::vector<int64_t>{r.steps, r.batch, r.input},
        true, 1);
    Add("w", {directions, gates, r.input}, r.weights == WeightForm::kInputs, 0.3f);
    Add("r", {directions, gates, r.hidden}, r.weights == WeightForm::kInputs, 0.3f);
    if (r.bias) Add("b", {directions, 2 * gates}, false, 0.3f);
    if (r.initial) Add("h", state, true, 1);
    if (r.initial && lstm) Add("c", state, true, 1);
    if (r.peepholes) Add("p", {directions, 3 * r.hidden}, false, 0.3f);
    if (r.lengths) AddLengths();
    AddNode(lstm);
  }

  std::vector<std::vector<float>> Run(const Session& session) const {
    std::vector<Value> results(session.outputs().size());
    session.Run(inputs_, results);
    std::vector<std::vector<float>> found;
    for (const Value& result : results) found.push_back(ToVector(result));
    return found;
  }

  Session At(const std::string& precision) const {
    SessionOptions options;
    options.intra_op_threads = 2;
    if (!precision.empty()) options.config["session.precision"] = precision;
    return model_.Session(options);
  }

 private:
  /// An input or a constant.
  void Add(const std::string& name, const std::vector<int64_t>& dims, bool is_input, float scale) {
    const auto count = static_cast<size_t>(Shape(dims).num_elements());
    std::vector<float> values = Random(count, static_cast<unsigned>(name[0]), -scale, scale);
    if (name == "w" || name == "r") {
      for (float& value : values) value = static_cast<float>(Float16(value));
    }
    if (is_input) {
      model_.Input(name, ElementType::kFloat, dims);
      inputs_.push_back(Tensor::Of<float>(Shape(dims), values));
    } else if (r_.weights == WeightForm::kHalf && (name == "w" || name == "r")) {
      const std::vector<Float16> halves(values.begin(), values.end());
      std::vector<uint8_t> bytes(2 * count);
      std::memcpy(bytes.data(), halves.data(), bytes.size());
      model_.Constant(name + "16", dims, bytes, onnx::TensorProto::FLOAT16);
      Int(model_.Node("Cast", {name + "16"}, {name}), "to", onnx::TensorProto::FLOAT);
    } else {
      model_.Floats(name, dims, values);
    }
  }

  void AddLengths() {
    std::vector<int32_t> lengths;
    for (int64_t i = 0; i < r_.batch; ++i) lengths.push_back(static_cast<int32_t>((i * 5 + 2) % (r_.steps + 1)));
    model_.Input("l", ElementType::kInt32, {r_.batch});
    inputs_.push_back(Tensor::Of<int32_t>({r_.batch}, lengths));
  }

  void AddNode(bool lstm) {
    std::vector<std::string> inputs = {"x", "w", "r", r_.bias ? "b" : "", r_.lengths ? "l" : "", r_.initial ? "h" : ""};
    if (lstm) inputs.insert(inputs.end(), {r_.initial ? "c" : "", r_.peepholes ? "p" : ""});
    std::vector<std::string> outputs = {"y", "y_h"};
    if (lstm) outputs.push_back("y_c");
    for (const std::string& output : outputs)
      model_.Output(output, ElementType::kFloat, std::vector<int64_t>(output == "y" ? 4 : 3, -1));
    auto& node = ModelBuilder::AddNode(*model_.proto().mutable_graph(), r_.op, inputs, outputs, "only");
    Text(Int(Int(node, "hidden_size", r_.hidden), "layout", r_.batch_first), "direction", r_.direction);
    if (r_.linear_before_reset) Int(node, "linear_before_reset", 1);
  }

  Recurrence r_;
  ModelBuilder model_;
  std::vector<Value> inputs_;
};

/// Differences of some roundings to 8 bits, but not none.
void ExpectRoundedStates(const std::vector<std::vector<float>>& rounded, const std::vector<std::vector<float>>& exact) {
  ASSERT_EQ(rounded.size(), exact.size());
  for (size_t output = 0; output < exact.size(); ++output) {
    ASSERT_EQ(rounded[output].size(), exact[output].size());
    for (size_t i = 0; i < exact[output].size(); ++i)
      ASSERT_NEAR(rounded[output][i], exact[output][i], 0.02f) << "output " << output << ", " << i;
  }
  EXPECT_NE(rounded, exact);
}

TEST(RecurrentPrecision, RoundsOperands) {
  const Recurrence cases[] = {
      {.op = "LSTM"},
      {.op = "LSTM", .direction = "reverse", .lengths = true},
      {.op = "LSTM", .direction = "bidirectional", .lengths = true, .initial = true, .peepholes = true},
      {.op = "LSTM", .direction = "bidirectional", .initial = true, .batch_first = true},
      {.op = "LSTM", .batch = 1, .input = 7, .hidden = 5, .bias = false, .peepholes = true},
      {.op = "LSTM", .steps = 20, .batch = 40, .input = 64, .hidden = 128, .initial = true},
      {.op = "LSTM", .weights = WeightForm::kHalf},
      {.op = "GRU", .initial = true},
      {.op = "GRU", .direction = "bidirectional", .lengths = true, .linear_before_reset = true},
      {.op = "GRU", .batch = 5, .input = 9, .hidden = 33, .direction = "reverse", .initial = true, .batch_first = true},
      {.op = "GRU", .steps = 9, .batch = 30, .hidden = 64, .bias = false, .linear_before_reset = true},
      {.op = "RNN", .direction = "bidirectional", .lengths = true, .initial = true},
      {.op = "RNN", .batch = 1, .input = 1, .hidden = 1, .batch_first = true},
  };
  for (const Recurrence& r : cases) {
    SCOPED_TRACE(::testing::Message() << r.op << ' ' << r.direction << ", batch " << r.batch << ", hidden " << r.hidden);
    const RecurrentModel model(r);
    const Session exact = model.At(""), rounded = model.At("bf16");
    EXPECT_EQ(PrecisionOf(exact, "only"), "");
    if (HasFastAvx512Bf16()) {
      EXPECT_EQ(PrecisionOf(rounded, "only"), "bf16");
      ExpectRoundedStates(model.Run(rounded), model.Run(exact));
    } else {
      EXPECT_NE(PrecisionOf(rounded, "only"), "bf16");
      EXPECT_EQ(model.Run(rounded), model.Run(exact));
    }
  }
}

TEST(RecurrentPrecision, WithoutStepsOrEntries) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    for (const Recurrence& r :
         {Recurrence{.op = op, .steps = 0, .initial = true}, Recurrence{.op = op, .batch = 0, .lengths = true},
          Recurrence{.op = op, .input = 0}, Recurrence{.op = op, .hidden = 0}}) {
      const RecurrentModel model(r);
      EXPECT_EQ(model.Run(model.At("bf16")), model.Run(model.At(""))) << op;
    }
  }
}

TEST(RecurrentPrecision, OnlyConstantWeights) {
  const RecurrentModel model({.op = "GRU", .weights = WeightForm::kInputs});
  const Session session = model.At("bf16");
  if (HasAvx512Bf16()) {
    EXPECT_EQ(PrecisionOf(session, "only"), "f32");
  }
  EXPECT_EQ(model.Run(session), model.Run(model.At("")));
}

/// Where a core's cache would not keep them from step to step.
TEST(RecurrentPrecision, RoundsLargeWeightsAlone) {
  const RecurrentModel near({.op = "LSTM"});
  EXPECT_EQ(PrecisionOf(near.At("bf16-weights"), "only"), "f32");
  EXPECT_EQ(near.Run(near.At("bf16-weights")), near.Run(near.At("")));
  for (const Recurrence& r :
       {Recurrence{.op = "LSTM", .hidden = 184}, Recurrence{.op = "GRU", .hidden = 216, .direction = "bidirectional"}}) {
    const RecurrentModel model(r);
    const Session rounded = model.At("bf16-weights");
    EXPECT_EQ(PrecisionOf(rounded, "only"), "bf16-weights");
    ExpectRoundedStates(model.Run(rounded), model.Run(model.At("")));
  }
}

/// Large ones stay narrow in memory; the sums are the same.
TEST(RecurrentPrecision, WeightsOf16BitsAtFloat32) {
  for (Recurrence r : {Recurrence{.op = "LSTM", .hidden = 184}, Recurrence{.op = "GRU", .hidden = 216},
                       Recurrence{.op = "RNN", .hidden = 368}}) {
    r.steps = 3;
    for (const int64_t batch : {1, 14}) {
      r.batch = batch;
      r.weights = WeightForm::kInputs;
      const RecurrentModel wide(r);
      const auto expected = wide.Run(wide.At(""));
      for (const WeightForm form : {WeightForm::kHalf, WeightForm::kConstant}) {
        r.weights = form;
        const RecurrentModel narrow(r);
        const auto found = narrow.Run(narrow.At(""));
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_THAT(found[i], ::testing::Pointwise(::testing::FloatNear(1e-4f), expected[i]));
      }
    }
  }
}

TEST(RecurrentPrecision, OtherPrecisionsSayThatTheyAreNotUsed) {
  EXPECT_EQ(PrecisionOf(RecurrentModel({}).At("int8-dynamic"), "only"), "f32");
}

}  // namespace
}  // namespace tessera::testing
