#include "ops/rnn/recurrent.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(RecurrentAttributes, DefaultsAndRefusals) {
  for (const char* op : {"RNN", "GRU", "LSTM"}) {
    const RecurrentAttributes attributes(NodeOf(op, 14));
    EXPECT_EQ(attributes.directions, 1);
    EXPECT_FALSE(attributes.reverse || attributes.batch_first || attributes.input_forget ||
                 attributes.linear_before_reset || attributes.clips());
    EXPECT_TRUE(attributes.default_activations);
  }
  const RecurrentAttributes both(NodeOf("LSTM", 22, {{"direction", std::string("bidirectional")}, {"clip", 2.0f}}));
  EXPECT_EQ(both.directions, 2);
  EXPECT_FALSE(both.reverse);
  EXPECT_TRUE(both.clips());
  EXPECT_TRUE(RecurrentAttributes(NodeOf("GRU", 1, {{"direction", std::string("reverse")}})).reverse);
  struct Case {
    Attribute attribute;
    const char* error;
  };
  const Case cases[] = {{{"direction", std::string("sideways")}, "direction is 'sideways'"},
                        {{"clip", 0.0f}, "clip is 0"},
                        {{"hidden_size", int64_t{-1}}, "hidden_size is -1"}};
  for (const Case& one : cases) {
    const Node node = NodeOf("RNN", 14, {one.attribute});
    EXPECT_THAT(ErrorOf([&] { RecurrentAttributes{node}; }), HasSubstr(one.error));
  }
}

TEST(RecurrentAttributes, Activations) {
  using enum RecurrentFunction;
  using Names = std::vector<std::string>;
  using Numbers = std::vector<float>;
  const auto of = [](const char* op, std::vector<Attribute> attributes) {
    return RecurrentAttributes(NodeOf(op, 14, std::move(attributes)));
  };
  const Attribute both = {"direction", std::string("bidirectional")};
  EXPECT_EQ(of("LSTM", {both}).activations.size(), 6u);
  EXPECT_EQ(of("LSTM", {}).activations, (std::vector<RecurrentActivation>{{kSigmoid}, {kTanh}, {kTanh}}));
  EXPECT_TRUE(of("GRU", {{"activations", Names{"sigmoid", "TANH"}}}).default_activations);

  // Numbers of those that take one, then one for each.
  const auto elu = of("GRU", {both,
                              {"activations", Names{"Tanh", "Elu", "Affine", "Relu"}},
                              {"activation_alpha", Numbers{2, 3}},
                              {"activation_beta", Numbers{4}}});
  EXPECT_FALSE(elu.default_activations);
  EXPECT_EQ(elu.ActivationsOf(0)[1], (RecurrentActivation{kElu, 2, 0}));
  EXPECT_EQ(elu.ActivationsOf(1)[0], (RecurrentActivation{kAffine, 3, 4}));
  const auto each = of("GRU", {{"activations", Names{"Tanh", "HardSigmoid"}}, {"activation_alpha", Numbers{1, 0.5f}}});
  EXPECT_EQ(each.activations[1], (RecurrentActivation{kHardSigmoid, 0.5f, 0.5f}));

  // RNN's schema names two by default.
  EXPECT_EQ(of("RNN", {{"activations", Names{"Relu", "Tanh"}}}).activations.size(), 1u);
  EXPECT_THAT(ErrorOf([&] { of("LSTM", {{"activations", Names{"Sigmoid"}}}); }), HasSubstr("1 activations are named, 3"));
  EXPECT_THAT(ErrorOf([&] { of("RNN", {{"activations", Names{"Sine"}}}); }), HasSubstr("activation 'sine' is unknown"));
}

}  // namespace
}  // namespace tessera::testing
