// Texts so long that what is done with one of them must be linear, and be over when a run is stopped.

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Int;
using testing::ModelBuilder;
using testing::Text;
using testing::Texts;

/// RE2 makes an automaton of it that has too many states, and looks at thousands of instructions for each character.
const std::string kSlow = "(?:(a|b|ab)*)(a(a|b){900})(b(a|b){900})c";

std::string Repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

Value OneText(const std::string& text) { return Tensor::Of<std::string>(Shape{1}, std::vector<std::string>{text}); }

/// A model of one node over one text, whose attributes `set` sets.
ModelBuilder OfOneText(const std::string& op, ElementType result, size_t rank,
                       const std::function<void(onnx::NodeProto&)>& set) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  model.Input("x", ElementType::kString, {1}).Output("y", result, std::vector<int64_t>(rank, -1));
  set(model.Node(op, {"x"}, {"y"}, "node"));
  return model;
}

ModelBuilder FullMatch(const std::string& pattern) {
  return OfOneText("RegexFullMatch", ElementType::kBool, 1, [&](auto& node) { Text(node, "pattern", pattern); });
}

ModelBuilder Tokens(const char* attribute, const std::string& pattern) {
  return OfOneText("Tokenizer", ElementType::kString, 2, [&](auto& node) {
    node.set_domain("com.microsoft");
    Int(node, "mark", 0);
    Int(node, "mincharnum", 1);
    Text(node, "pad_value", "#");
    if (attribute == std::string_view("separators")) {
      Texts(node, attribute, {pattern});
    } else {
      Text(node, attribute, pattern);
    }
  });
}

std::string ErrorFor(const ModelBuilder& model, const std::string& text) {
  const Session session = model.Session();
  std::vector<Value> inputs = {OneText(text)}, results(1);
  return ErrorOf([&] { session.Run(inputs, results); });
}

TEST(LongTexts, OfSlowExpressionsAreRefused) {
  const std::string longer = Repeated("ab", 1 << 19), shorter = "abc";
  for (const ModelBuilder& model : {FullMatch(kSlow), Tokens("separators", kSlow), Tokens("tokenexp", kSlow)}) {
    EXPECT_THAT(ErrorFor(model, longer),
                AllOf(HasSubstr("'node'"), HasSubstr("1048576 bytes"), HasSubstr("split texts into parts of at most")));
    EXPECT_EQ(ErrorFor(model, shorter), "no error");
  }
}

TEST(LongTexts, OfUsualExpressionsAreMatched) {
  const std::string longer = Repeated("word, ", 1 << 19);
  for (const ModelBuilder& model : {FullMatch("[a-z, ]+"), Tokens("separators", "[, ]+"), Tokens("tokenexp", "[a-z]+")})
    EXPECT_EQ(ErrorFor(model, longer), "no error");
}

TEST(LongTexts, AreSplitInLinearTime) {
  // The delimiter begins everywhere and is nowhere but once, across pieces of any size.
  const std::string delimiter = std::string(1 << 18, 'a') + "b", before = std::string((1 << 22) - 5, 'a');
  const ModelBuilder model =
      OfOneText("StringSplit", ElementType::kString, 2, [&](auto& node) { Text(node, "delimiter", delimiter); });
  ModelBuilder counted = model;
  counted.Output("n", ElementType::kInt64, {1});
  counted.proto().mutable_graph()->mutable_node(0)->add_output("n");
  const std::vector<Value> inputs = {OneText(before + delimiter + "after")};
  std::vector<Value> results(2);
  counted.Session().Run(inputs, results);
  EXPECT_THAT(results[0].tensor().values<std::string>(), ElementsAre(before, "after"));
  EXPECT_THAT(results[1].tensor().values<int64_t>(), ElementsAre(2));
}

}  // namespace
}  // namespace tessera
