// A build without any optional part: it runs models as ever, and says what it has not.

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

ModelBuilder OnTexts(const std::string& op, ElementType result, const std::string& domain = "") {
  ModelBuilder model;
  model.Input("x", ElementType::kString, {2}).Output("y", result, {});
  model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  model.Node(op, {"x"}, {"y"}, "texts").set_domain(domain);
  if (!domain.empty()) {
    auto* import = model.proto().add_opset_import();
    import->set_domain(domain);
    import->set_version(1);
  }
  return model;
}

onnx::NodeProto& OnlyNode(ModelBuilder& model) { return *model.proto().mutable_graph()->mutable_node(0); }

TEST(Minimal, ComputesOnTheOneProvider) {
  EXPECT_EQ(RegisteredProviders().size(), 1u);
  std::vector<Value> results(1);
  AddModel().Session().Run(std::vector<Value>{Floats({2}, {1, 2}), Floats({2}, {3, 4})}, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(4, 6));
}

TEST(Minimal, OtherProvidersAreNotThere) {
  for (const char* provider : {"opencl", "dnnl"}) {
    SessionOptions options;
    options.providers = {{provider, {}}};
    EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }), HasSubstr("in this build (available: "));
  }
}

TEST(Minimal, NodesAreRefusedAtLoad) {
  ModelBuilder match = OnTexts("RegexFullMatch", ElementType::kBool);
  Text(OnlyNode(match), "pattern", "a+");
  EXPECT_THAT(ErrorOf([&] { match.Session(); }),
              AllOf(HasSubstr("'texts'"), HasSubstr("this build has no re2, which RegexFullMatch needs")));

  ModelBuilder normalize = OnTexts("StringNormalizer", ElementType::kString);
  Text(OnlyNode(normalize), "case_change_action", "LOWER");
  EXPECT_THAT(ErrorOf([&] { normalize.Session(); }),
              AllOf(HasSubstr("'texts'"), HasSubstr("this build has no utf8proc, which StringNormalizer needs")));

  ModelBuilder split = OnTexts("Tokenizer", ElementType::kString, "com.microsoft");
  Int(OnlyNode(split), "mark", 0);
  Int(OnlyNode(split), "mincharnum", 1);
  Text(OnlyNode(split), "pad_value", "");
  Text(OnlyNode(split), "tokenexp", "a+");
  EXPECT_THAT(ErrorOf([&] { split.Session(); }),
              AllOf(HasSubstr("'texts'"), HasSubstr("this build has no re2, which Tokenizer needs")));
}

/// Also where its result would be known at load: what cannot be folded is not dropped.
TEST(Minimal, NodesOnConstantsAreRefusedAtLoad) {
  ModelBuilder model;
  model.Output("y", ElementType::kBool, {1});
  auto* texts = model.proto().mutable_graph()->add_initializer();
  texts->set_name("x");
  texts->set_data_type(onnx::TensorProto::STRING);
  texts->add_dims(1);
  texts->add_string_data("aaa");
  Text(model.Node("RegexFullMatch", {"x"}, {"y"}, "texts"), "pattern", "a+");
  EXPECT_THAT(ErrorOf([&] { model.Session(); }), HasSubstr("this build has no re2"));
}

std::string ErrorOfDecoding(std::string_view bytes, std::vector<Value>& results) {
  ModelBuilder model;
  model.Input("x", ElementType::kUInt8, {-1}).Output("y", ElementType::kUInt8, {-1, -1, 3});
  model.Node("ImageDecoder", {"x"}, {"y"}, "image");
  const Session session = model.Session();
  const std::vector<uint8_t> encoded(bytes.begin(), bytes.end());
  return ErrorOf([&] {
    session.Run(std::vector<Value>{Tensor::Of<uint8_t>({static_cast<int64_t>(encoded.size())}, encoded)}, results);
  });
}

TEST(Minimal, ImagesAreRefusedByFormat) {
  const struct {
    std::string_view begin, needs;
  } formats[] = {
      {"\xff\xd8\xff\xe0"sv, "this build has no libjpeg, which a JPEG needs"},
      {"\x89PNG\r\n\x1a\n"sv, "this build has no libpng, which a PNG needs"},
      {"RIFF\0\0\0\0WEBP"sv, "this build has no libwebp, which a WebP image needs"},
      {"II*\0"sv, "this build has no libtiff, which a TIFF needs"},
      {"\0\0\0\x0cjP  \r\n\x87\n"sv, "this build has no OpenJPEG, which a JPEG 2000 image needs"},
  };
  for (const auto& format : formats) {
    std::vector<Value> results(1);
    EXPECT_THAT(ErrorOfDecoding(format.begin, results), AllOf(HasSubstr("'image'"), HasSubstr(std::string(format.needs))));
  }
}

TEST(Minimal, BitmapsNeedNoLibrary) {
  std::vector<Value> results(1);
  EXPECT_EQ(ErrorOfDecoding("P6 1 1 255 \x01\x02\x03"sv, results), "no error");
  EXPECT_THAT(results[0].tensor().values<uint8_t>(), ElementsAre(1, 2, 3));
}

/// Bytes of no image at all are an empty one, as ever.
TEST(Minimal, WhatIsNoImageIsEmpty) {
  std::vector<Value> results(1);
  EXPECT_EQ(ErrorOfDecoding("text"sv, results), "no error");
  EXPECT_EQ(results[0].tensor().num_elements(), 0);
}

}  // namespace
}  // namespace tessera::testing
