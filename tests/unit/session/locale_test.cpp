// Numbers are written and read the same in every locale.

#include <gmock/gmock.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <locale>
#include <string>

#include "attributes.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

/// Of C++ streams: a comma for the point, points between thousands.
class GermanNumbers : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// The process's locale while a test runs: of C++ in any case, of C where de_DE is installed or can be made.
class LocaleTest : public ::testing::Test {
 protected:
  LocaleTest() : before_(std::locale::global(std::locale(std::locale::classic(), new GermanNumbers))) {}
  ~LocaleTest() override {
    std::setlocale(LC_ALL, "C");
    std::locale::global(before_);
    unsetenv("LOCPATH");
  }

  /// False where the system cannot have it.
  bool SetGerman() {
    if (std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr) return true;
    const std::string command =
        "localedef -i de_DE -f UTF-8 " + (folder_.path() / "de_DE.UTF-8").string() + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return false;
    setenv("LOCPATH", folder_.path().c_str(), 1);
    return std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  }

  void ExpectNumbersAsEver();

 private:
  const testing::TemporaryFolder folder_;
  const std::locale before_;
};

std::vector<std::string> Texts(const Value& value) {
  const auto texts = value.tensor().values<std::string>();
  return {texts.begin(), texts.end()};
}

Value MapOf(std::vector<Value> values) {
  Map map;
  std::vector<int64_t> keys(values.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i);
  map.keys = Tensor::Of<int64_t>({static_cast<int64_t>(keys.size())}, keys);
  map.values = std::move(values);
  return Value(std::move(map));
}

/// CastMap of a map from numbers to `from`.
Value CastMap(ElementType from, const std::string& to, ElementType result, std::vector<Value> values) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(1);
  onnx::ValueInfoProto& input = *model.proto().mutable_graph()->add_input();
  input.set_name("map");
  auto& type = *input.mutable_type()->mutable_map_type();
  type.set_key_type(onnx::TensorProto::INT64);
  type.mutable_value_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(from));
  model.Output("y", result, {1, -1});
  onnx::NodeProto& node = model.Node("CastMap", {"map"}, {"y"});
  node.set_domain("ai.onnx.ml");
  auto& attribute = *node.add_attribute();
  attribute.set_name("cast_to");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(to);
  const Session session = model.Session();
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{MapOf(std::move(values))}, results);
  return results[0];
}

Value Text(const std::string& text) { return Tensor::Of<std::string>({}, std::span(&text, 1)); }
Value Number(float number) { return Tensor::Of<float>({}, std::span(&number, 1)); }

Value Cast(const Value& from, ElementType type) {
  ModelBuilder model;
  model.Input("x", from.tensor().type(), {-1}).Output("y", type, {-1});
  testing::Int(model.Node("Cast", {"x"}, {"y"}), "to", static_cast<int64_t>(type));
  const Session session = model.Session();
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{from}, results);
  return results[0];
}

void LocaleTest::ExpectNumbersAsEver() {
  EXPECT_THAT(ToVector(CastMap(ElementType::kString, "TO_FLOAT", ElementType::kFloat,
                               {Text("1.5"), Text("-2.25e2"), Text("1e-50")})),
              ElementsAre(1.5f, -225.0f, 0.0f));
  EXPECT_THAT(Texts(CastMap(ElementType::kFloat, "TO_STRING", ElementType::kString, {Number(1.5f), Number(12345.25f)})),
              ElementsAre("1.500000", "12345.250000"));
  const std::vector<std::string> texts = {"1.5", "1.5e-400", "-1.5e400", "1234.5"};
  const Value cast = Cast(Tensor::Of<std::string>({4}, texts), ElementType::kDouble);
  const auto numbers = cast.tensor().values<double>();
  EXPECT_THAT(std::vector<double>(numbers.begin(), numbers.end()), ElementsAre(1.5, 0.0, -HUGE_VAL, 1234.5));
  EXPECT_THAT(Texts(Cast(testing::Floats({2}, {0.5f, 12345.25f}), ElementType::kString)), ElementsAre("0.5", "12345.25"));
  const Session session = testing::AddModel().Session();
  EXPECT_THAT(session.optimization().ToText(), ::testing::Not(HasSubstr(",")));
  EXPECT_THAT(session.optimization().ToJson(), ::testing::ContainsRegex("\"milliseconds\": [0-9]+[.][0-9]"));
}

TEST_F(LocaleTest, OfCPlusPlus) { ExpectNumbersAsEver(); }

TEST_F(LocaleTest, OfC) {
  if (!SetGerman())
    GTEST_SKIP() << "de_DE.UTF-8 is not installed, and localedef or its sources (package locales) are missing";
  char* end = nullptr;
  ASSERT_EQ(std::strtod("1,5", &end), 1.5);  // the locale is at work
  ExpectNumbersAsEver();
}

TEST_F(LocaleTest, NamesOfProvidersAndOptionsAreAscii) {
  EXPECT_NE(std::setlocale(LC_ALL, "C"), nullptr);
  SessionOptions options;
  options.providers = {{"CPUEXECUTIONPROVIDER", {}}};
  EXPECT_EQ(testing::AddModel().Session(options).providers().front(), "CPUExecutionProvider");
}

}  // namespace
}  // namespace tessera
