#include "ops/recurrent/recurrent.h"

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

}  // namespace
}  // namespace tessera::testing
