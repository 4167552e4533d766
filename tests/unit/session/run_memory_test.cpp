// Whatever a kernel makes counts against "session.run_memory_limit": a run that asks for more ends in an Error that names
// the node and the option before much of it is made, and the session works on.

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Int;
using testing::Ints;
using testing::ModelBuilder;
using testing::Text;
using testing::Texts;

constexpr std::string_view kLimit = "2M";

/// A model of one node "large", and its inputs for a size: few bytes for a small one, more than the limit for a large one.
struct Case {
  std::string name;
  std::function<ModelBuilder()> model;
  std::function<std::vector<Value>(int64_t size)> inputs;
  int64_t small, large;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

std::string Long(int64_t size) { return std::string(static_cast<size_t>(size), 'x'); }

Tensor Texts(const Shape& shape, const std::string& text) {
  return Tensor::Of<std::string>(shape, std::vector<std::string>(static_cast<size_t>(shape.num_elements()), text));
}

Tensor Ints(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(Shape{static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
}

Tensor Zeros(ElementType type, const Shape& shape) {
  Tensor tensor(type, shape);
  std::memset(tensor.mutable_raw(), 0, tensor.byte_size());
  return tensor;
}

Tensor Bytes(std::vector<uint8_t> bytes) {
  return Tensor::Of<uint8_t>(Shape{static_cast<int64_t>(bytes.size())}, std::span<const uint8_t>(bytes));
}

ModelBuilder InDomain(const char* domain, int version) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
  return model;
}

/// One node over inputs a, b, ... of these types and ranks.
ModelBuilder OneNode(const std::string& op, const std::vector<std::pair<ElementType, size_t>>& inputs, ElementType result,
                     size_t rank, const std::function<void(onnx::NodeProto&)>& more = {}, const char* domain = "",
                     int version = 0) {
  ModelBuilder model = *domain == 0 ? ModelBuilder() : InDomain(domain, version);
  std::vector<std::string> names;
  for (const auto& [type, dims] : inputs) {
    names.push_back(std::string(1, static_cast<char>('a' + names.size())));
    model.Input(names.back(), type, std::vector<int64_t>(dims, -1));
  }
  auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op, names, {"y"}, "large");
  node.set_domain(domain);
  if (more) more(node);
  model.Output("y", result, std::vector<int64_t>(rank, -1));
  return model;
}

constexpr ElementType kText = ElementType::kString, kInt = ElementType::kInt64, kReal = ElementType::kFloat,
                      kByte = ElementType::kUInt8;

std::vector<Case> TextCases() {
  return {
      {"StringConcat", [] { return OneNode("StringConcat", {{kText, 2}, {kText, 2}}, kText, 2); },
       [](int64_t n) -> std::vector<Value> { return {Texts({n, 1}, Long(150)), Texts({1, n}, Long(70))}; }, 3, 120},
      {"Doubling",
       [] {
         ModelBuilder model;
         model.Input("v0", kText, {1}).Output("v12", kText, {1});
         for (int i = 0; i < 12; ++i)
           model.Node("StringConcat", {"v" + std::to_string(i), "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)},
                      "large");
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Texts({1}, Long(n))}; }, 20, 1000},
      {"StringSplit",
       [] {
         ModelBuilder model;
         model.Input("a", kText, {-1}).Output("y", kText, {-1, -1}).Output("n", kInt, {-1});
         Text(model.Node("StringSplit", {"a"}, {"y", "n"}, "large"), "delimiter", ",");
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Texts({1}, std::string(static_cast<size_t>(n), ','))}; }, 40, 500'000},
      {"StringNormalizer",
       [] {
         return OneNode("StringNormalizer", {{kText, 1}}, kText, 1,
                        [](auto& node) { Text(node, "case_change_action", "UPPER"); });
       },
       [](int64_t n) -> std::vector<Value> { return {Texts({3}, Long(n))}; }, 30, 700'000},
      {"Tokenizer",
       [] {
         return OneNode(
             "Tokenizer", {{kText, 1}}, kText, 2,
             [](auto& node) {
               Int(node, "mark", 1);
               Int(node, "mincharnum", 1);
               Text(node, "pad_value", Long(1000));
               Texts(node, "separators", {" "});
             },
             "com.microsoft", 1);
       },
       [](int64_t n) -> std::vector<Value> {
         std::vector<std::string> texts(2000, "a");
         texts[0].clear();
         for (int64_t i = 0; i < n; ++i) texts[0] += "b ";
         if (n < 3) texts.resize(2);
         return {Tensor::Of<std::string>(Shape{static_cast<int64_t>(texts.size())}, texts)};
       },
       2, 6},
      {"Cast",
       [] {
         return OneNode("Cast", {{kInt, 1}}, kText, 1, [](auto& node) { Int(node, "to", onnx::TensorProto::STRING); });
       },
       [](int64_t n) -> std::vector<Value> { return {Zeros(kInt, {n})}; }, 10, 40'000},
  };
}

/// Texts that ai.onnx.ml's operators give: labels and features.
std::vector<Case> LabelCases() {
  return {
      {"LabelEncoder",
       [] {
         return OneNode(
             "LabelEncoder", {{kInt, 1}}, kText, 1,
             [](auto& node) {
               Ints(node, "keys_int64s", {0, 1});
               Texts(node, "values_strings", {Long(900), "short"});
             },
             "ai.onnx.ml", 2);
       },
       [](int64_t n) -> std::vector<Value> { return {Zeros(kInt, {n})}; }, 7, 5000},
      {"ArrayFeatureExtractor",
       [] { return OneNode("ArrayFeatureExtractor", {{kText, 2}, {kInt, 1}}, kText, 2, {}, "ai.onnx.ml", 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({1, 2}, Long(800)), Zeros(kInt, {n})}; }, 4, 6000},
      {"LinearClassifier",
       [] {
         ModelBuilder model = InDomain("ai.onnx.ml", 1);
         model.Input("a", kReal, {-1, 2}).Output("y", kText, {-1}).Output("s", kReal, {-1, 2});
         auto& node = model.Node("LinearClassifier", {"a"}, {"y", "s"}, "large");
         node.set_domain("ai.onnx.ml");
         Floats(node, "coefficients", {1, 2, 3, 4});
         Texts(node, "classlabels_strings", {"no", Long(700)});
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Zeros(kReal, {n, 2})}; }, 5, 4000},
  };
}

constexpr size_t kManyDims = 32;  // lie outside of the value

std::vector<Case> SequenceCases() {
  const auto ones = [](int64_t n) {
    Shape shape(kManyDims, 1);
    shape[0] = n;
    return std::vector<Value>{Zeros(kReal, shape)};
  };
  return {
      {"SplitToSequence",
       [] {
         ModelBuilder model;
         model.Input("a", kReal, std::vector<int64_t>(kManyDims, -1)).Output("y", kInt, {});
         model.Node("SplitToSequence", {"a"}, {"parts"}, "large");
         model.Node("SequenceLength", {"parts"}, {"y"});
         return model;
       },
       ones, 3, 5000},
      {"SequenceInsert",
       [] {
         ModelBuilder model;
         model.Input("a", kReal, std::vector<int64_t>(kManyDims, -1)).Input("n", kInt, {}).Output("y", kInt, {});
         model.Node("SequenceConstruct", {"a"}, {"first"});
         onnx::GraphProto body;
         body.set_name("body");
         ModelBuilder::Declare(body.add_input(), "i", kInt, {});
         ModelBuilder::Declare(body.add_input(), "go", ElementType::kBool, {});
         body.add_input()->set_name("before");
         auto& sequence = *body.mutable_input(2)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
         sequence.mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
         ModelBuilder::AddNode(body, "Identity", {"go"}, {"goes"});
         ModelBuilder::AddNode(body, "SequenceInsert", {"before", "a"}, {"after"}, "large");
         ModelBuilder::Declare(body.add_output(), "goes", ElementType::kBool, {});
         body.add_output()->set_name("after");
         *body.mutable_output(1)->mutable_type() = body.input(2).type();
         auto& attribute = *model.Node("Loop", {"n", "", "first"}, {"all"}).add_attribute();
         attribute.set_name("body");
         attribute.set_type(onnx::AttributeProto::GRAPH);
         *attribute.mutable_g() = body;
         model.Node("SequenceLength", {"all"}, {"y"});
         return model;
       },
       [ones](int64_t n) {
         std::vector<Value> inputs = ones(1);
         inputs.emplace_back(Tensor::Of<int64_t>(Shape{}, std::vector<int64_t>{n}));
         return inputs;
       },
       3, 5000},
  };
}

std::vector<Case> IndexedTextCases() {
  return {
      {"Gather", [] { return OneNode("Gather", {{kText, 1}, {kInt, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({2}, Long(1500)), Zeros(kInt, {n})}; }, 3, 3000},
      {"GatherElements", [] { return OneNode("GatherElements", {{kText, 1}, {kInt, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({2}, Long(1500)), Zeros(kInt, {n})}; }, 3, 3000},
      {"GatherND", [] { return OneNode("GatherND", {{kText, 1}, {kInt, 2}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({2}, Long(1500)), Zeros(kInt, {n, 1})}; }, 3, 3000},
      {"Compress", [] { return OneNode("Compress", {{kText, 1}, {ElementType::kBool, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> {
         Tensor wanted(ElementType::kBool, Shape{n});
         std::ranges::fill(wanted.mutable_values<bool>(), true);
         return {Texts({n}, Long(1000)), wanted};
       },
       3, 3000},
      {"OneHot", [] { return OneNode("OneHot", {{kInt, 1}, {kInt, 0}, {kText, 1}}, kText, 2); },
       [](int64_t n) -> std::vector<Value> {
         return {Zeros(kInt, {n}), Tensor::Of<int64_t>(Shape{}, std::vector<int64_t>{10}), Texts({2}, Long(400))};
       },
       2, 700},
      {"ScatterElements", [] { return OneNode("ScatterElements", {{kText, 1}, {kInt, 1}, {kText, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({n}, "a"), Zeros(kInt, {n}), Texts({n}, Long(900))}; }, 2,
       40'000},
      {"ScatterAdd",
       [] {
         return OneNode("ScatterElements", {{kText, 1}, {kInt, 1}, {kText, 1}}, kText, 1,
                        [](auto& node) { Text(node, "reduction", "add"); });
       },
       [](int64_t n) -> std::vector<Value> { return {Texts({n}, "a"), Zeros(kInt, {n}), Texts({n}, Long(900))}; }, 2, 3000},
      {"Unique", [] { return OneNode("Unique", {{kText, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({3}, Long(n))}; }, 20, 2'500'000},
  };
}

std::vector<Case> MovedTextCases() {
  const auto pads = [](int64_t n) { return Ints({0, n}); };
  return {
      {"Expand", [] { return OneNode("Expand", {{kText, 1}, {kInt, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({1}, Long(1100)), Ints({n})}; }, 4, 4000},
      {"Tile", [] { return OneNode("Tile", {{kText, 1}, {kInt, 1}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> { return {Texts({1}, Long(1100)), Ints({n})}; }, 4, 4000},
      {"Pad", [] { return OneNode("Pad", {{kText, 1}, {kInt, 1}, {kText, 0}}, kText, 1); },
       [pads](int64_t n) -> std::vector<Value> { return {Texts({1}, "a"), pads(n), Texts({}, Long(1300))}; }, 2, 3000},
      {"PadEdge",
       [] { return OneNode("Pad", {{kText, 1}, {kInt, 1}}, kText, 1, [](auto& node) { Text(node, "mode", "edge"); }); },
       [pads](int64_t n) -> std::vector<Value> { return {Texts({1}, Long(1300)), pads(n)}; }, 2, 3000},
      {"Where", [] { return OneNode("Where", {{ElementType::kBool, 1}, {kText, 0}, {kText, 0}}, kText, 1); },
       [](int64_t n) -> std::vector<Value> {
         return {Zeros(ElementType::kBool, {n}), Texts({}, "a"), Texts({}, Long(1200))};
       },
       5, 4000},
      {"Concat",
       [] { return OneNode("Concat", {{kText, 1}, {kText, 1}}, kText, 1, [](auto& node) { Int(node, "axis", 0); }); },
       [](int64_t n) -> std::vector<Value> { return {Texts({n}, Long(1000)), Texts({1}, Long(5))}; }, 3, 2500},
      {"Transpose", [] { return OneNode("Transpose", {{kText, 2}}, kText, 2); },
       [](int64_t n) -> std::vector<Value> { return {Texts({n, 2}, Long(1000))}; }, 3, 2000},
      {"ResizeNearest",
       [] {
         ModelBuilder model;
         model.Input("a", kText, {-1}).Input("s", kInt, {1}).Output("y", kText, {-1});
         model.Node("Resize", {"a", "", "", "s"}, {"y"}, "large");
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Texts({1}, Long(1000)), Ints({n})}; }, 3, 5000},
  };
}

/// The headers of a picture of 16,000 x 16,000 pixels, of which nothing follows.
std::vector<uint8_t> HeaderOf(const std::string& format) {
  if (format == "jpeg") {  // one of three colours, whose scans follow one another
    return {0xff, 0xd8, 0xff, 0xc2, 0,    17,   8, 0x3e, 0x80, 0x3e, 0x80, 3, 1, 0x11, 0,    2,   0x11,
            0,    3,    0x11, 0,    0xff, 0xda, 0, 8,    1,    1,    0,    0, 0, 0,    0xff, 0xd9};
  }
  if (format == "png") {
    return {0x89, 'P',  'N',  'G',  '\r', '\n', 0x1a, '\n', 0,    0,   0,   13,   'I',  'H',  'D',
            'R',  0,    0,    0x3e, 0x80, 0,    0,    0x3e, 0x80, 8,   2,   0,    0,    0,    0xce,
            0x1c, 0x48, 0x89, 0,    0,    0,    0,    'I',  'D',  'A', 'T', 0x35, 0xaf, 0x06, 0x1e};
  }
  if (format == "bmp") {  // packed
    std::vector<uint8_t> bytes(54 + 1024 + 2, 0);
    bytes[0] = 'B', bytes[1] = 'M', bytes[10] = 0x36, bytes[11] = 4, bytes[14] = 40, bytes[18] = bytes[22] = 0x80,
    bytes[19] = bytes[23] = 0x3e;
    bytes[26] = 1, bytes[28] = 8, bytes[30] = 1;
    return bytes;
  }
  if (format == "webp") {  // lossless, of 16384 x 16384
    return {'R', 'I', 'F', 'F', 18, 0, 0, 0,    'W',  'E',  'B',  'P',  'V',
            'P', '8', 'L', 6,   0,  0, 0, 0x2f, 0xff, 0xff, 0xff, 0x0f, 0};
  }
  if (format == "tiff") {  // one strip
    std::vector<uint8_t> bytes = {'I', 'I', '*', 0, 8, 0, 0, 0, 8, 0};
    const auto entry = [&](uint8_t tag, uint8_t high, uint32_t value) {
      for (const uint8_t byte : {tag, high, uint8_t{4}, uint8_t{0}, uint8_t{1}, uint8_t{0}, uint8_t{0}, uint8_t{0}})
        bytes.push_back(byte);
      for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
    };
    entry(0, 1, 16'000);     // width
    entry(1, 1, 16'000);     // length
    entry(2, 1, 8);          // bits
    entry(3, 1, 1);          // not compressed
    entry(6, 1, 1);          // black is 0
    entry(0x11, 1, 8);       // the strip's place
    entry(0x16, 1, 16'000);  // its rows
    entry(0x17, 1, 100);     // its bytes
    bytes.insert(bytes.end(), 4, 0);
    return bytes;
  }
  // A bare codestream of JPEG 2000 with one tile.
  std::vector<uint8_t> bytes = {0xff, 0x4f, 0xff, 0x51, 0, 41, 0, 0};
  for (const uint32_t number : {16'000u, 16'000u, 0u, 0u, 16'000u, 16'000u, 0u, 0u}) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(number >> shift));
  }
  for (const uint8_t byte : {0, 1, 7, 1, 1, 0xff, 0x52, 0, 12, 0, 0, 0, 1, 0, 5, 4, 4, 0, 1}) bytes.push_back(byte);
  for (const uint8_t byte :
       {0xff, 0x5c, 0, 4, 0x40, 0x40, 0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x93, 0, 0, 0xff, 0xd9})
    bytes.push_back(byte);
  return bytes;
}

std::vector<Case> TableCases() {
  std::vector<Case> cases = {
      {"ResizeLinear",
       [] {
         ModelBuilder model;
         model.Input("a", kReal, {-1}).Input("s", kInt, {1}).Output("y", kReal, {-1});
         Text(model.Node("Resize", {"a", "", "", "s"}, {"y"}, "large"), "mode", "linear");
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Zeros(kReal, {2}), Ints({n})}; }, 40, 90'000},
      {"Dft",
       [] {
         ModelBuilder model;
         model.Input("a", kReal, {1, -1, 1}).Input("n", kInt, {}).Output("y", kReal, {1, -1, 2});
         model.Node("DFT", {"a", "n"}, {"y"}, "large");
         return model;
       },
       [](int64_t n) -> std::vector<Value> {
         return {Zeros(kReal, {1, 3, 1}), Tensor::Of<int64_t>(Shape{}, std::vector<int64_t>{n})};
       },
       13, 40'009},
      {"SplitToSequence",
       [] {
         ModelBuilder model;
         model.Input("a", kReal, {-1, 0}).Output("y", kInt, {});
         model.Node("SplitToSequence", {"a"}, {"s"}, "large");
         model.Node("SequenceLength", {"s"}, {"y"});
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Zeros(kReal, {n, 0})}; }, 30, 20'000'000},
      {"ZipMap",
       [] {
         ModelBuilder model = InDomain("ai.onnx.ml", 1);
         model.Input("a", kReal, {-1, 2});
         auto& node = model.Node("ZipMap", {"a"}, {"y"}, "large");
         node.set_domain("ai.onnx.ml");
         Ints(node, "classlabels_int64s", {7, 9});
         auto* output = model.proto().mutable_graph()->add_output();
         output->set_name("y");
         auto* map = output->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
         map->set_key_type(onnx::TensorProto::INT64);
         map->mutable_value_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
         return model;
       },
       [](int64_t n) -> std::vector<Value> { return {Zeros(kReal, {n, 2})}; }, 20, 5000},
  };
  for (const char* format : {"jpeg", "png", "bmp", "webp", "tiff", "j2k"}) {
    cases.push_back({format,
                     [] {
                       ModelBuilder model = OneNode("ImageDecoder", {{kByte, 1}}, kByte, 3);
                       return model;
                     },
                     [format](int64_t n) -> std::vector<Value> {
                       return {Bytes(n == 0 ? std::vector<uint8_t>{'?'} : HeaderOf(format))};
                     },
                     0, 1});
  }
  return cases;
}

std::string ErrorOfRun(const Session& session, const std::vector<Value>& inputs, std::vector<Value>& results) {
  return ErrorOf([&] { session.Run(inputs, results); });
}

class RunMemory : public ::testing::TestWithParam<Case> {};

TEST_P(RunMemory, EndsInAnErrorAndTheSessionWorksOn) {
  const Case& of = GetParam();
  const Environment environment;
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  options.config["session.run_memory_limit"] = kLimit;
  const ModelBuilder model = of.model();
  const Session session = model.Session(options, environment);
  const std::vector<Value> small = of.inputs(of.small), large = of.inputs(of.large);
  for (int i = 0; i < 3; ++i) {
    std::vector<Value> results(session.outputs().size()), others(session.outputs().size());
    EXPECT_EQ(ErrorOfRun(session, small, results), "no error") << i;
    EXPECT_THAT(ErrorOfRun(session, large, others),
                AllOf(HasSubstr("'large'"), HasSubstr("session.run_memory_limit exceeded")))
        << i;
  }
  // Without a limit there are no pictures behind these headers, but all else can be done.
  options.config["session.run_memory_limit"] = "0";
  if (of.name.size() > 4 && of.large < 1'000'000) {
    std::vector<Value> results(session.outputs().size());
    EXPECT_EQ(ErrorOfRun(model.Session(options, environment), large, results), "no error");
  }
}

const auto kNameOfCase = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Texts, RunMemory, ::testing::ValuesIn(TextCases()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Labels, RunMemory, ::testing::ValuesIn(LabelCases()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Sequences, RunMemory, ::testing::ValuesIn(SequenceCases()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(IndexedTexts, RunMemory, ::testing::ValuesIn(IndexedTextCases()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(MovedTexts, RunMemory, ::testing::ValuesIn(MovedTextCases()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Tables, RunMemory, ::testing::ValuesIn(TableCases()), kNameOfCase);

TEST(HeldResults, CountUntilTheyAreGone) {
  SessionOptions options;
  options.config["session.run_memory_limit"] = kLimit;
  const Session session = OneNode("Expand", {{kText, 1}, {kInt, 1}}, kText, 1).Session(options);
  std::vector<std::vector<Value>> held;
  std::string error = "no error";
  while (held.size() < 100 && error == "no error") {
    held.emplace_back(1);
    error = ErrorOfRun(session, {Texts({1}, Long(1000)), Ints({200})}, held.back());
  }
  EXPECT_THAT(error, HasSubstr("session.run_memory_limit exceeded"));
  EXPECT_GE(held.size(), 6u);
  held.clear();
  std::vector<Value> results(1);
  EXPECT_EQ(ErrorOfRun(session, {Texts({1}, Long(1000)), Ints({200})}, results), "no error");
  EXPECT_EQ(results[0].tensor().data<std::string>()[199], Long(1000));
}

TEST(Maps, OfScalarsShareOneTensor) {
  const Case zip = TableCases()[3];
  const Session session = zip.model().Session();
  std::vector<Value> results(1);
  const std::vector<Value> inputs = {Floats({2, 2}, {1, 2, 3, 4})};
  session.Run(inputs, results);
  const auto& maps = results[0].sequence().elements;
  ASSERT_EQ(maps.size(), 2u);
  const Map& second = maps[1].map();
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second.keys.data<int64_t>()[1], 9);
  EXPECT_EQ(*second.at(1).tensor().data<float>(), 4);
  EXPECT_EQ(second.at(0).tensor().shape(), Shape{});
  EXPECT_EQ(second.keys.raw(), maps[0].map().keys.raw());
}

}  // namespace
}  // namespace tessera
