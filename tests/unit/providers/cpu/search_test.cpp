// Greedy search, sampling and beam searches around decoders that look at the last token only: what they choose can be told
// from a table, and what they say of graphs and inputs that do not fit. tests/differential compares real decoders' tokens.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Float;
using ::testing::HasSubstr;
using testing::Int;
using testing::ModelBuilder;

constexpr int64_t kVocabulary = 5, kEnd = 4, kPad = 0;

/// Logits by the token before: 1 leads to 2, 2 to 3 and 3 to the end; what comes next is nearly as good.
const std::vector<float> kTable = {0, 9, 8, 0, 0,  //
                                   0, 0, 9, 8, 0,  //
                                   0, 0, 0, 9, 8,  //
                                   0, 8, 0, 0, 9,  //
                                   0, 9, 0, 8, 0};

/// A graph that is built in a test: `Node`s, then inputs and outputs.
class NestedBuilder {
 public:
  NestedBuilder& Node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    ModelBuilder::AddNode(graph_, op, inputs, {output});
    return *this;
  }
  onnx::NodeProto& last() { return *graph_.mutable_node(graph_.node_size() - 1); }
  NestedBuilder& In(const std::string& name, ElementType type, const std::vector<int64_t>& dims) {
    ModelBuilder::Declare(graph_.add_input(), name, type, dims);
    return *this;
  }
  NestedBuilder& Out(const std::string& name, ElementType type, const std::vector<int64_t>& dims) {
    ModelBuilder::Declare(graph_.add_output(), name, type, dims);
    return *this;
  }
  NestedBuilder& Table(ElementType type = ElementType::kFloat) {
    auto* table = graph_.add_initializer();
    table->set_name("floats");
    table->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : {kVocabulary, kVocabulary}) table->add_dims(dim);
    for (const float value : kTable) table->add_float_data(value);
    Node("Cast", {"floats"}, "table");
    Int(last(), "to", static_cast<int64_t>(type));
    return *this;
  }
  void AddTo(onnx::NodeProto& node, const char* attribute) const {
    auto* added = node.add_attribute();
    added->set_name(attribute);
    added->set_type(onnx::AttributeProto::GRAPH);
    *added->mutable_g() = graph_;
    added->mutable_g()->set_name(attribute);
  }
  onnx::GraphProto& proto() { return graph_; }

 private:
  onnx::GraphProto graph_;
};

NestedBuilder Gpt(ElementType type = ElementType::kFloat) {
  NestedBuilder graph;
  graph.Table(type).Node("Gather", {"table", "input_ids"}, "logits").Node("Identity", {"past_0"}, "present_0");
  for (const char* name : {"input_ids", "position_ids", "attention_mask"}) graph.In(name, ElementType::kInt32, {-1, -1});
  graph.In("past_0", type, {2, -1, 1, -1, 1});
  return graph.Out("logits", type, {-1, -1, kVocabulary}).Out("present_0", type, {2, -1, 1, -1, 1});
}

NestedBuilder T5Decoder(bool masked = true) {
  NestedBuilder graph;
  graph.Table().Node("Gather", {"table", "input_ids"}, "logits").In("input_ids", ElementType::kInt32, {-1, 1});
  if (masked) graph.In("encoder_attention_mask", ElementType::kInt32, {-1, -1});
  for (const char* part : {"key_self_0", "value_self_0", "key_cross_0", "value_cross_0"}) {
    graph.In(std::string("past_") + part, ElementType::kFloat, {-1, 1, -1, 1});
  }
  graph.Out("logits", ElementType::kFloat, {-1, 1, kVocabulary});
  for (const char* part : {"key_self_0", "value_self_0"}) {
    graph.Node("Identity", {std::string("past_") + part}, std::string("present_") + part);
    graph.Out(std::string("present_") + part, ElementType::kFloat, {-1, 1, -1, 1});
  }
  return graph;
}

NestedBuilder T5Encoder() {
  NestedBuilder graph;
  graph.In("encoder_input_ids", ElementType::kInt32, {-1, -1}).In("encoder_attention_mask", ElementType::kInt32, {-1, -1});
  graph.Node("Cast", {"encoder_input_ids"}, "floats");
  Int(graph.last(), "to", onnx::TensorProto::FLOAT);
  graph.Node("Constant", {}, "axes");
  testing::Ints(graph.last(), "value_ints", {1, 3});
  for (const char* name : {"present_key_cross_0", "present_value_cross_0"}) {
    graph.Node("Unsqueeze", {"floats", "axes"}, name).Out(name, ElementType::kFloat, {-1, 1, -1, 1});
  }
  return graph;
}

/// Its first step gives the logits of the last token, its keys and values are nothing that counts.
NestedBuilder WhisperEncoder() {
  NestedBuilder graph;
  graph.In("encoder_input_ids", ElementType::kFloat, {-1, 2, -1}).In("decoder_input_ids", ElementType::kInt32, {-1, -1});
  graph.Table()
      .Node("Gather", {"table", "decoder_input_ids"}, "logits")
      .Out("logits", ElementType::kFloat, {-1, -1, kVocabulary});
  graph.Node("Identity", {"encoder_input_ids"}, "encoder_hidden_states")
      .Out("encoder_hidden_states", ElementType::kFloat, {-1, 2, -1});
  graph.Node("Constant", {}, "sizes");
  testing::Ints(graph.last(), "value_ints", {0, 1, -1, 1});
  for (const char* name : {"present_key_self_0", "present_value_self_0", "present_key_cross_0", "present_value_cross_0"}) {
    graph.Node("Reshape", {"encoder_input_ids", "sizes"}, name).Out(name, ElementType::kFloat, {-1, 1, -1, 1});
  }
  return graph;
}

Value Int32s(const Shape& shape, std::vector<int32_t> values) {
  return Tensor::Of<int32_t>(shape, std::span<const int32_t>(values));
}

Value Floats(const Shape& shape, std::vector<float> values) {
  return Tensor::Of<float>(shape, std::span<const float>(values));
}

/// One search, its inputs by their numbers.
class Search {
 public:
  explicit Search(const char* op) : op_(op) {
    Given(0, Int32s({1, 1}, {1}));
    Given(1, Int32s({}, {6}));
    if (op_.ends_with("BeamSearch")) Beams(2, 1);
  }
  Search& Beams(int32_t beams, int32_t returned) { return Given(3, Int32s({}, {beams})).Given(4, Int32s({}, {returned})); }
  Search& Given(size_t input, Value value) {
    if (inputs_.size() <= input) inputs_.resize(input + 1);
    inputs_[input] = std::move(value);
    return *this;
  }
  Search& With(std::function<void(onnx::NodeProto&)> attribute) {
    attributes_.push_back(std::move(attribute));
    return *this;
  }
  Search& With(const char* name, int64_t value) {
    return With([=](onnx::NodeProto& node) { Int(node, name, value); });
  }
  Search& With(const char* name, float value) {
    return With([=](onnx::NodeProto& node) { Float(node, name, value); });
  }
  Search& Decoder(NestedBuilder graph) {
    decoder_ = std::move(graph);
    return *this;
  }
  Search& Encoder(NestedBuilder graph) {
    if (op_ == "BeamSearch") With("model_type", int64_t{1});
    return With([graph](onnx::NodeProto& node) { graph.AddTo(node, "encoder"); });
  }
  Search& Outputs(int count, int left_out = -1) {
    outputs_ = count;
    left_out_ = left_out;
    return *this;
  }

  std::vector<Value> Run() const {
    ModelBuilder model(18);
    std::vector<std::string> names, given, outputs;
    std::vector<Value> values;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      names.push_back(inputs_[i].is_none() ? "" : "x" + std::to_string(i));
      if (inputs_[i].is_none()) continue;
      const Tensor& tensor = inputs_[i].tensor();
      model.Input(names.back(), tensor.type(), std::vector<int64_t>(tensor.shape().rank(), -1));
      given.push_back(names.back());
      values.push_back(inputs_[i]);
    }
    for (int i = 0; i < outputs_; ++i) {
      outputs.push_back(i == left_out_ ? "" : "y" + std::to_string(i));
      if (i != left_out_) model.proto().mutable_graph()->add_output()->set_name(outputs.back());
    }
    auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op_, names, outputs);
    node.set_domain("com.microsoft");
    Int(node, "eos_token_id", kEnd);
    Int(node, "pad_token_id", kPad);
    decoder_.AddTo(node, "decoder");
    for (const auto& attribute : attributes_) attribute(node);
    return model.Session().Run(given, values);
  }
  std::vector<int32_t> Tokens() const {
    const auto results = Run();
    const auto tokens = results[0].tensor().values<int32_t>();
    return {tokens.begin(), tokens.end()};
  }
  std::string Error() const {
    return ErrorOf([&] { Run(); });
  }

 private:
  std::string op_;
  NestedBuilder decoder_ = Gpt();
  int outputs_ = 1, left_out_ = -1;
  std::vector<Value> inputs_;
  std::vector<std::function<void(onnx::NodeProto&)>> attributes_;
};

Search Greedy() { return Search("GreedySearch"); }
Search Sampled() { return std::move(Search("Sampling").With("top_p", 0.5f).With("min_tokens_to_keep", int64_t{1})); }
Search Beam() { return Search("BeamSearch"); }
Search T5() {
  return std::move(
      Search("BeamSearch").Encoder(T5Encoder()).Decoder(T5Decoder()).With("decoder_start_token_id", int64_t{1}));
}

Search Whisper() {
  Search search("WhisperBeamSearch");
  search.Given(0, Floats({1, 2, 3}, {1, 2, 3, 4, 5, 6})).Encoder(WhisperEncoder()).Decoder(T5Decoder(false));
  return std::move(search.With("decoder_start_token_id", int64_t{1}).With("no_speech_token_id", int64_t{3}));
}

TEST(Search, WhatFollowsTheEndIsPadding) {
  EXPECT_THAT(Greedy().Tokens(), ElementsAre(1, 2, 3, kPad, kPad, kPad));
  EXPECT_THAT(Greedy().Given(0, Int32s({2, 1}, {3, 1})).Tokens(), ElementsAre(3, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0));
  EXPECT_THAT(Beam().Tokens(), ElementsAre(1, 2, 3, kPad, kPad, kPad));
  EXPECT_THAT(T5().Tokens(), ElementsAre(1, 2, 3, kPad, kPad, kPad));
  EXPECT_THAT(Whisper().Tokens(), ElementsAre(1, 2, 3, kPad, kPad, kPad));
  EXPECT_THAT(Whisper().Given(10, Int32s({1, 2}, {3, 2})).Tokens(), ElementsAre(3, 2, 3, kPad, kPad, kPad));
}

TEST(Search, DecodersOfFloat16AreRunToo) {
  EXPECT_THAT(Greedy().Decoder(Gpt(ElementType::kFloat16)).Tokens(), ElementsAre(1, 2, 3, 0, 0, 0));
  EXPECT_THAT(Beam().Decoder(Gpt(ElementType::kFloat16)).Tokens(), ElementsAre(1, 2, 3, 0, 0, 0));
}

TEST(Search, EmptyBatchesGiveNothing) {
  const Value none = Int32s({0, 1}, {});
  for (const Search& search : {Greedy(), Sampled()}) {
    EXPECT_EQ(Search(search).Given(0, none).Run()[0].tensor().shape(), Shape({0, 6}));
  }
  for (const Search& search : {Beam(), T5()}) {
    const auto results = Search(search).Given(0, none).Outputs(3).Run();
    EXPECT_EQ(results[0].tensor().shape(), Shape({0, 1, 6}));
    EXPECT_EQ(results[1].tensor().shape(), Shape({0, 1}));
    EXPECT_EQ(results[2].tensor().shape(), Shape({5, 0, 2, kVocabulary}));
  }
}

TEST(Search, ScoresOfStepsThatAreNotNeededAreZero) {
  const auto results = Beam().With("early_stopping", int64_t{1}).Beams(1, 1).Outputs(3).Run();
  const auto scores = results[2].tensor().values<float>();
  ASSERT_EQ(scores.size(), 5u * kVocabulary);
  EXPECT_THAT(scores.subspan(3 * kVocabulary), Each(0.0f));
  EXPECT_NE(scores[2 * kVocabulary], 0);
}

TEST(Search, PaddingOutsideOfTheVocabularyHasNoScore) {
  auto search = Greedy().With([](onnx::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "pad_token_id") attribute.set_i(77);
    }
  });
  search.With("no_repeat_ngram_size", int64_t{1}).Given(3, Floats({1}, {1.5f}));
  EXPECT_THAT(search.Tokens(), ElementsAre(1, 2, 3, 77, 77, 77));
}

TEST(Search, ASeedGivesTheSameTokens) {
  const auto tokens = [](int32_t seed, float top_p) {
    return Search("Sampling")
        .With("top_p", top_p)
        .With("min_tokens_to_keep", int64_t{1})
        .With("temperature", 9.0f)
        .Given(8, Int32s({1}, {seed}))
        .Tokens();
  };
  EXPECT_EQ(tokens(7, 0.95f), tokens(7, 0.95f));
  bool differ = false;
  for (int32_t seed = 0; seed < 20; ++seed) {
    differ |= tokens(seed, 0.95f) != tokens(7, 0.95f);
    EXPECT_THAT(tokens(seed, 0.01f), ElementsAre(1, 2, 3, 0, 0, 0));  // only the likeliest are left
  }
  EXPECT_TRUE(differ);
}

TEST(Search, FilteredLogitsAreThoseOfTheLastStep) {
  const auto results = Sampled().Outputs(2).Run();
  EXPECT_THAT(testing::ToVector(results[1]), ElementsAre(-1e20f, -1e20f, -1e20f, -1e20f, 9));
}

TEST(Search, InputsThatDoNotFitAreErrors) {
  for (const Search& search : {Greedy(), Sampled(), Beam()}) {
    const auto error = [&](size_t input, Value value) { return Search(search).Given(input, std::move(value)).Error(); };
    EXPECT_THAT(error(0, Int32s({1}, {1})), HasSubstr("input_ids is int32 [1]; int32 [batch,length]"));
    EXPECT_THAT(error(0, Int32s({1, 0}, {})), HasSubstr("input_ids is int32 [1,0]"));
    EXPECT_THAT(error(1, Int32s({}, {1})), HasSubstr("max_length is 1; more than the 1 tokens that are given"));
    EXPECT_THAT(error(1, Int32s({}, {4097})), HasSubstr("max_length is 4097"));
    EXPECT_THAT(error(1, Int32s({2}, {6, 6})), HasSubstr("max_length is [2]; a scalar is expected"));
    EXPECT_THAT(error(0, Int32s({1, 1}, {5})), HasSubstr("index 5 is outside"));  // the decoder's own
  }
  EXPECT_THAT(Greedy().Given(3, Floats({}, {0})).Error(), HasSubstr("repetition_penalty is 0"));
  EXPECT_THAT(Greedy().Given(4, Int32s({2}, {1, 1})).Error(), HasSubstr("vocab_mask is [2]; [5] is expected"));
  EXPECT_THAT(Greedy().Given(5, Int32s({5}, {1, 1, 1, 1, 1})).Error(),
              HasSubstr("prefix_vocab_mask is [5]; [1,5] is expected"));
  EXPECT_THAT(Greedy().Given(6, Int32s({1, 2}, {1, 1})).Error(), HasSubstr("attention_mask is [1,2]; [1,1] is expected"));
  EXPECT_THAT(Sampled().Given(7, Int32s({1, 2}, {1, 1})).Error(), HasSubstr("presence_mask is [1,2]; [1,5] is expected"));
  EXPECT_THAT(Sampled().Given(8, Int32s({}, {-1})).Error(), HasSubstr("seed is -1"));
  EXPECT_THAT(Beam().Beams(0, 1).Error(), HasSubstr("num_beams is 0; 1 to 128"));
  EXPECT_THAT(Beam().Beams(129, 1).Error(), HasSubstr("num_beams is 129"));
  EXPECT_THAT(Beam().Beams(2, 3).Error(), HasSubstr("num_return_sequences is 3; 1 to num_beams, 2"));
  EXPECT_THAT(Beam().Given(6, Floats({}, {-1})).Error(), HasSubstr("repetition_penalty is -1"));
  EXPECT_THAT(Beam().Given(9, Int32s({2, 1}, {1, 1})).Error(), HasSubstr("attention_mask is [2,1]"));
  EXPECT_THAT(Beam().Given(10, Int32s({1, 1}, {1})).Error(), HasSubstr("input 10 is for WhisperBeamSearch only"));
}

TEST(Search, SilenceHasTheProbabilityOfItsTokenAtFirst) {
  const auto results = Whisper().Outputs(5, /*left_out=*/3).Run();
  const double sum = 3 * std::exp(0) + std::exp(9) + std::exp(8);
  EXPECT_NEAR(testing::ToVector(results.back())[0], std::exp(8) / sum, 1e-5);
}

TEST(Search, SoundsThatDoNotFitAreErrors) {
  EXPECT_THAT(Whisper().Given(0, Floats({1, 2}, {1, 2})).Error(), HasSubstr("the features are [1,2]; 3 dimensions"));
  EXPECT_THAT(Whisper().Given(10, Int32s({2, 1}, {1, 1})).Error(),
              HasSubstr("decoder_input_ids is [2,1]; [1,length] is expected"));
  EXPECT_THAT(Whisper().Given(10, Int32s({1, 0}, {})).Error(), HasSubstr("decoder_input_ids is [1,0]"));
  EXPECT_THAT(Whisper().Given(11, Int32s({}, {2})).Error(), HasSubstr("logits_processor is 2"));
  EXPECT_THAT(Whisper().Given(11, Int32s({}, {1})).Error(), HasSubstr("beginning_timestamp_token_id is -1"));
  EXPECT_EQ(Whisper().Given(11, Int32s({}, {1})).With("beginning_timestamp_token_id", int64_t{0}).Error(), "no error");
  EXPECT_EQ(Whisper().Given(11, Int32s({}, {1})).With("beginning_timestamp_token_id", int64_t{4}).Error(), "no error");
  EXPECT_THAT(Whisper().With("decoder_output_cross_qk", int64_t{1}).Error(), HasSubstr("cross_qk is asked for"));
  EXPECT_THAT(Whisper().With("model_type", int64_t{1}).Error(), HasSubstr("model_type is 1; 2 is expected"));
  EXPECT_THAT(Search("WhisperBeamSearch")
                  .Given(0, Floats({1, 2, 1}, {1, 2}))
                  .Encoder(WhisperEncoder())
                  .Decoder(T5Decoder(false))
                  .Error(),
              HasSubstr("neither decoder_input_ids nor decoder_start_token_id"));
  EXPECT_THAT(Whisper().Given(0, Floats({0, 2, 3}, {})).Error(), "no error");
}

TEST(Search, AttributesThatDoNotFitAreErrors) {
  EXPECT_THAT(Greedy().With("model_type", int64_t{1}).Error(), HasSubstr("model_type is 1"));
  EXPECT_THAT(Beam().With("model_type", int64_t{2}).Error(), HasSubstr("model_type is 2"));
  EXPECT_THAT(Greedy().With("vocab_size", int64_t{9}).Error(), HasSubstr("vocab_size is 9, logits are declared of 5"));
  EXPECT_THAT(Beam().With("vocab_size", int64_t{1}).Error(), HasSubstr("the vocabulary has 1 tokens"));
  EXPECT_THAT(Search("Sampling").With("min_tokens_to_keep", int64_t{5}).Error(), HasSubstr("min_tokens_to_keep is 5"));
  EXPECT_THAT(Search("BeamSearch").Encoder(T5Encoder()).Decoder(T5Decoder()).Error(),
              HasSubstr("decoder_start_token_id is -1"));
  const auto started =
      Search("BeamSearch").Encoder(T5Encoder()).Decoder(T5Decoder()).With("decoder_start_token_id", int64_t{1} << 31);
  EXPECT_THAT(Search(started).Error(), HasSubstr("decoder_start_token_id is 2147483648"));
}

TEST(Search, DecodersThatDoNotFitAreErrors) {
  const auto error = [](const std::function<void(onnx::GraphProto&)>& damage) {
    NestedBuilder graph = Gpt();
    damage(graph.proto());
    return Greedy().Decoder(graph).Error();
  };
  EXPECT_THAT(error([](auto& g) { g.mutable_input()->SwapElements(0, 1); }),
              HasSubstr("input 0 of the decoder is position_ids; input_ids is expected"));
  EXPECT_THAT(error([](auto& g) { g.mutable_output()->RemoveLast(); }), HasSubstr("present_0 is missing"));
  EXPECT_THAT(
      error([](auto& g) { ModelBuilder::Declare(g.add_input(), "past_1", ElementType::kFloat, {2, -1, 1, -1, 1}); }),
      HasSubstr("2 pasts and 1 presents"));
  EXPECT_THAT(
      error([](auto& g) { ModelBuilder::Declare(g.add_input(), "past_sequence_length", ElementType::kInt32, {1}); }),
      HasSubstr("keeps past and present in one buffer"));
  EXPECT_THAT(
      error([](auto& g) {
        g.mutable_input(3)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(2)->clear_dim_value();
      }),
      HasSubstr("past_0 is declared"));
  EXPECT_THAT(error([](auto& g) {
                g.mutable_input(2)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
              }),
              HasSubstr("attention_mask of the decoder is tensor(int64"));
  EXPECT_THAT(
      error([](auto& g) {
        g.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(3);
      }),
      HasSubstr("input_ids of the decoder is declared"));
}

TEST(Search, EncodersThatDoNotFitAreErrors) {
  const auto error = [](const std::function<void(onnx::GraphProto&, onnx::GraphProto&)>& damage) {
    NestedBuilder encoder = T5Encoder(), decoder = T5Decoder();
    damage(encoder.proto(), decoder.proto());
    return Beam().Encoder(encoder).Decoder(decoder).With("decoder_start_token_id", int64_t{1}).Error();
  };
  EXPECT_EQ(error([](auto&, auto&) {}), "no error");
  EXPECT_THAT(error([](auto& e, auto&) { e.mutable_output()->RemoveLast(); }),
              HasSubstr("the encoder has 2 inputs and 1 outputs; 2 and 2"));
  EXPECT_THAT(error([](auto& e, auto&) { e.mutable_output()->SwapElements(0, 1); }),
              HasSubstr("present_key_cross_0 is expected"));
  EXPECT_THAT(error([](auto& e, auto&) {
                ModelBuilder::Declare(e.add_input(), "decoder_input_ids", ElementType::kInt32, {-1, 1});
              }),
              HasSubstr("logits is expected"));
  EXPECT_THAT(error([](auto&, auto& d) { d.mutable_output()->RemoveLast(); }),
              HasSubstr("with n layers, 2 + 4 n and 1 + 2 n"));
  EXPECT_THAT(error([](auto&, auto& d) { d.mutable_input()->RemoveLast(); }),
              AllOf(HasSubstr("the decoder has 5 inputs"), HasSubstr("2 + 4 n")));
}

}  // namespace
}  // namespace tessera
