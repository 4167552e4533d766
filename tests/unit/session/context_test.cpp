#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "attributes.h"
#include "model/loading.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

namespace fs = std::filesystem;

std::vector<float> SeededNumbers(size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 24) - 0.5f;
  }
  return values;
}

onnx::GraphProto Branch(const std::string& op, const std::string& output) {
  onnx::GraphProto graph;
  graph.set_name(op);
  ModelBuilder::AddNode(graph, op, {"sum", "b"}, {output});
  ModelBuilder::Declare(graph.add_output(), output, ElementType::kFloat, {8, 160});
  return graph;
}

/// Weights that are packed, a table that is only gathered from, a folded convolution, branches that capture values. `pad`
/// shifts the weights in the file.
std::string ContextModelBytes(size_t pad = 0, unsigned seed = 1) {
  ModelBuilder model;
  model.proto().set_producer_name(std::string(pad + 1, 'p'));
  model.Input("x", ElementType::kFloat, {8, 64}).Input("image", ElementType::kFloat, {1, 32, 12, 12});
  model.Input("rows", ElementType::kInt64, {3}).Input("which", ElementType::kBool, {});
  model.Output("y", ElementType::kFloat, {8, 160}).Output("taken", ElementType::kFloat, {3, 16});
  model.Output("features", ElementType::kFloat, {1, 32, 12, 12});
  model.Constant("w", {64, 160}, SeededNumbers(64 * 160, seed)).Constant("b", {160}, SeededNumbers(160, 2));
  model.Constant("table", {1000, 16}, SeededNumbers(16000, 3))
      .Constant("kernel", {32, 32, 3, 3}, SeededNumbers(32 * 32 * 9, 4));
  model.Constant("scale", {1, 32, 1, 1}, SeededNumbers(32, 5));
  model.Node("MatMul", {"x", "w"}, {"product"});
  model.Node("Add", {"product", "b"}, {"sum"});
  model.Node("Gather", {"table", "rows"}, {"taken"});
  auto* pads = model.Node("Conv", {"image", "kernel"}, {"convolved"}).add_attribute();
  pads->set_name("pads");
  pads->set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads->add_ints(1);
  model.Node("Mul", {"convolved", "scale"}, {"features"});
  auto& branches = model.Node("If", {"which"}, {"y"});
  for (const auto& [name, op] : {std::pair("then_branch", "Mul"), std::pair("else_branch", "Sub")}) {
    auto* attribute = branches.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = Branch(op, std::string("of_") + op);
  }
  return model.bytes();
}

std::vector<float> RunAll(const Session& session) {
  const std::vector<int64_t> rows = {999, 0, 7};
  const bool which = true;
  const std::vector<Value> inputs = {Floats({8, 64}, SeededNumbers(512, 6)),
                                     Floats({1, 32, 12, 12}, SeededNumbers(32 * 144, 7)), Tensor::Of<int64_t>({3}, rows),
                                     Tensor::Of<bool>({}, std::span(&which, 1))};
  std::vector<Value> results(3);
  session.Run(inputs, results);
  std::vector<float> all;
  for (const Value& result : results) {
    const std::vector<float> values = ToVector(result);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

class Context : public ::testing::Test {
 protected:
  Context() { Write(model(), ContextModelBytes()); }

  static void Write(const fs::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  static std::string Read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path model() const { return folder_.path() / "model.onnx"; }
  fs::path file() const { return folder_.path() / "model_ctx.tessera"; }
  SessionOptions Options(bool enable = true) const {
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    options.intra_op_threads = 2;
    if (enable) options.config["session.context_enable"] = "1";
    return options;
  }
  std::vector<float> Expected() const { return RunAll(Session(model(), Options(false))); }

  const testing::TemporaryFolder folder_;
};

/// Matrices that are packed in 16 bits, as they came or as their numbers allow.
TEST_F(Context, KeepsMatricesOfHalves) {
  std::vector<float> rounded;
  std::vector<uint8_t> halves;
  for (const float value : SeededNumbers(64 * 160, 1)) rounded.push_back(static_cast<float>(BFloat16(value)));
  for (const float value : SeededNumbers(64 * 160, 2)) {
    const BFloat16 half(value);
    halves.push_back(static_cast<uint8_t>(half.bits & 0xff));
    halves.push_back(static_cast<uint8_t>(half.bits >> 8));
  }
  ModelBuilder model_of_both;
  model_of_both.Input("x", ElementType::kFloat, {8, 64})
      .Output("y", ElementType::kFloat, {8, 160})
      .Output("z", ElementType::kBFloat16, {8, 160});
  model_of_both.Floats("w", {64, 160}, rounded).Constant("v", {64, 160}, halves, onnx::TensorProto::BFLOAT16);
  model_of_both.Node("MatMul", {"x", "w"}, {"y"});
  auto* to = model_of_both.Node("Cast", {"x"}, {"narrow"}).add_attribute();
  to->set_name("to");
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(onnx::TensorProto::BFLOAT16);
  model_of_both.Node("MatMul", {"narrow", "v"}, {"z"});
  Write(model(), model_of_both.bytes());
  const std::vector<Value> inputs = {Floats({8, 64}, SeededNumbers(512, 6))};
  std::vector<Value> expected(2), given(2);
  Session(model(), Options()).Run(inputs, expected);
  const Session second(model(), Options());
  EXPECT_TRUE(second.context().used) << second.context().detail;
  EXPECT_EQ(second.context().packed, 2u);
  EXPECT_EQ(second.context().packed_anew, 0u);
  second.Run(inputs, given);
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor &e = expected[i].tensor(), &g = given[i].tensor();
    EXPECT_EQ(std::memcmp(e.raw(), g.raw(), e.byte_size()), 0) << i;
  }
}

TEST_F(Context, TheSecondSessionStartsFromIt) {
  const std::vector<float> expected = Expected();
  EXPECT_FALSE(Session(model(), Options(false)).context().enabled);
  const Session first(model(), Options());
  EXPECT_TRUE(first.context().written);
  EXPECT_FALSE(first.context().used);
  EXPECT_EQ(first.context().path, file());
  EXPECT_THAT(first.context().detail, HasSubstr("there is none yet"));
  EXPECT_EQ(RunAll(first), expected);
  const Session second(model(), Options());
  EXPECT_TRUE(second.context().used) << second.context().detail;
  EXPECT_FALSE(second.context().written);
  EXPECT_GE(second.context().packed, 2u);
  EXPECT_EQ(second.context().packed_anew, 0u);
  EXPECT_EQ(RunAll(second), expected);
  EXPECT_EQ(second.placement().nodes.size(), first.placement().nodes.size());
  const auto of_model = [](const Session& session) {
    std::vector<std::string> nodes;
    for (const auto& node : session.placement().model_nodes)
      nodes.push_back(fmt::format("{} {} {} {}", node.Label(), node.provider, node.pass, node.fused_into));
    return nodes;
  };
  EXPECT_FALSE(of_model(first).empty());
  EXPECT_EQ(of_model(second), of_model(first));
  EXPECT_EQ(second.inputs().size(), first.inputs().size());
  EXPECT_EQ(second.metadata().producer_name, first.metadata().producer_name);
}

TEST_F(Context, WeightsAtAnyAddress) {
  for (size_t pad = 0; pad < 8; ++pad) {
    Write(model(), ContextModelBytes(pad));
    const std::vector<float> expected = Expected();
    EXPECT_EQ(RunAll(Session(model(), Options())), expected) << pad;
    const Session second(model(), Options());
    EXPECT_TRUE(second.context().used) << second.context().detail;
    EXPECT_EQ(RunAll(second), expected) << pad;
  }
}

TEST_F(Context, AnotherModelOrOtherOptionsAreNoMatch) {
  Session(model(), Options());
  Write(model(), ContextModelBytes(1, 99));
  const std::vector<float> expected = Expected();
  const Session changed(model(), Options());
  EXPECT_FALSE(changed.context().used);
  EXPECT_TRUE(changed.context().written);
  EXPECT_THAT(changed.context().detail, HasSubstr("model"));
  EXPECT_EQ(RunAll(changed), expected);
  EXPECT_TRUE(Session(model(), Options()).context().used);
  SessionOptions basic = Options();
  basic.optimization_level = OptimizationLevel::kBasic;
  const Session other(model(), basic);
  EXPECT_FALSE(other.context().used);
  EXPECT_THAT(other.context().detail, HasSubstr("optimization level"));
}

TEST_F(Context, TruncatedOrForeignFiles) {
  const std::vector<float> expected = Expected();
  Session(model(), Options());
  const std::string whole = Read(file());
  for (const size_t size : {size_t{0}, size_t{7}, size_t{60}, size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    Write(file(), whole.substr(0, size));
    const Session session(model(), Options());
    EXPECT_FALSE(session.context().used) << size;
    EXPECT_TRUE(session.context().written) << size;
    EXPECT_EQ(RunAll(session), expected) << size;
  }
  Write(file(), ContextModelBytes());
  EXPECT_THAT(Session(model(), Options()).context().detail, HasSubstr("no context of Tessera"));
}

TEST_F(Context, FilesOfAnEarlierFormatAreMadeAgain) {
  const std::vector<float> expected = Expected();
  Session(model(), Options());
  std::string earlier = Read(file());
  constexpr size_t kFormat = 8;  // where it stands
  earlier[kFormat] = 3;
  Write(file(), earlier);
  const Session session(model(), Options());
  EXPECT_THAT(session.context().detail, HasSubstr("it has format 3, this build reads 6; written"));
  EXPECT_EQ(RunAll(session), expected);
  EXPECT_TRUE(Session(model(), Options()).context().used);
}

TEST_F(Context, EveryFlippedBitIsNoticed) {
  const std::vector<float> expected = Expected();
  Session(model(), Options());
  const std::string whole = Read(file());
  constexpr size_t kHeader = 80, kData = 4096;  // nothing lies between
  std::vector<size_t> places = {0, 8, 20, 40, 79, kData, whole.size() - 1};
  for (size_t place = kData + 1; place < whole.size(); place += whole.size() / 40) places.push_back(place);
  for (const size_t place : places) {
    ASSERT_TRUE(place < kHeader || place >= kData);
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 8));
    Write(file(), damaged);
    const Session session(model(), Options());
    EXPECT_FALSE(session.context().used) << place;
    EXPECT_EQ(RunAll(session), expected) << place;
  }
}

TEST_F(Context, FilesThatOthersMayWriteAreRefused) {
  Session(model(), Options());
  chmod(file().c_str(), 0666);
  const Session session(model(), Options());
  EXPECT_FALSE(session.context().used);
  EXPECT_THAT(session.context().detail, HasSubstr("other users"));
}

TEST_F(Context, WhereItCannotBeWrittenTheSessionStillStarts) {
  SessionOptions options = Options();
  options.config["session.context_file_path"] = (folder_.path() / "missing" / "file").string();
  const Session session(model(), options);
  EXPECT_FALSE(session.context().used);
  EXPECT_FALSE(session.context().written);
  EXPECT_THAT(session.context().detail, HasSubstr("cannot write"));
  EXPECT_EQ(RunAll(session), Expected());
}

TEST_F(Context, EmbeddedConstants) {
  const std::vector<float> expected = Expected();
  SessionOptions embedding = Options();
  embedding.config["session.context_embed_mode"] = "1";
  Session(model(), Options());
  const auto size = fs::file_size(file());
  const Session first(model(), embedding);
  EXPECT_FALSE(first.context().used);
  EXPECT_THAT(first.context().detail, HasSubstr("constants"));
  EXPECT_GE(fs::file_size(file()), size + 1000 * 16 * sizeof(float));  // the table
  const Session second(model(), embedding);
  EXPECT_TRUE(second.context().used) << second.context().detail;
  EXPECT_EQ(RunAll(second), expected);
  EXPECT_FALSE(Session(model(), Options()).context().used);
  EXPECT_EQ(fs::file_size(file()), size);
}

/// What comes of external data may be in the context, folded or embedded: a session must notice that the data changed.
TEST_F(Context, ExternalDataThatChanged) {
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {8, 64}).Output("y", ElementType::kFloat, {8, 160});
  testing::ExternalFloats(builder, "w", {160, 64}, {{"location", "w.bin"}});
  builder.Node("Transpose", {"w"}, {"turned"});
  builder.Node("MatMul", {"x", "turned"}, {"y"});
  Write(model(), builder.bytes());
  const auto write_weights = [&](unsigned seed) {
    const std::vector<float> values = SeededNumbers(64 * 160, seed);
    const fs::path file = folder_.path() / "w.bin";
    fs::remove(file);
    Write(file, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  };
  const std::vector<Value> inputs = {Floats({8, 64}, SeededNumbers(512, 6))};
  const auto run = [&](const SessionOptions& options, bool used) {
    const Session session(model(), options);
    EXPECT_EQ(session.context().used, used) << session.context().detail;
    std::vector<Value> results(1);
    session.Run(inputs, results);
    return ToVector(results[0]);
  };
  for (const bool embeds : {false, true}) {
    SessionOptions options = Options();
    options.config["session.context_embed_mode"] = embeds ? "1" : "0";
    write_weights(1);
    const std::vector<float> expected = run(options, false);
    EXPECT_EQ(run(options, true), expected);
    write_weights(2);
    const std::vector<float> changed = run(options, false);
    EXPECT_NE(changed, expected);
    EXPECT_EQ(run(options, true), changed);
  }
}

/// Weights of 8 bits whose pairs may saturate, too: matmuls, a convolution in groups, one between others that keeps
/// channels last.
TEST_F(Context, WeightsOfEightBits) {
  const auto quantized = [](size_t count, int step) {
    std::vector<int> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i) * step % 255 - 127;
    return values;
  };
  ModelBuilder builder;
  builder.Input("x", ElementType::kUInt8, {3, 70}).Output("y", ElementType::kUInt8, {3, 40});
  builder.Input("image", ElementType::kUInt8, {1, 16, 9, 9}).Output("z", ElementType::kUInt8, {1, 16, 9, 9});
  builder.Floats("scale", {}, {0.01f})
      .Quantized("zero", ElementType::kUInt8, {}, {3})
      .Quantized("middle", ElementType::kInt8, {}, {0});
  builder.Quantized("w", ElementType::kInt8, {70, 40}, quantized(70 * 40, 7));
  builder.Quantized("kernel", ElementType::kInt8, {16, 16, 3, 3}, quantized(16 * 16 * 9, 11))
      .Quantized("pairs", ElementType::kInt8, {16, 8, 1, 1}, quantized(16 * 8, 13));
  builder.Node("QLinearMatMul", {"x", "scale", "zero", "w", "scale", "middle", "scale", "zero"}, {"y"});
  auto& convolved =
      builder.Node("QLinearConv", {"image", "scale", "zero", "kernel", "scale", "middle", "scale", "zero"}, {"convolved"});
  testing::Ints(convolved, "pads", {1, 1, 1, 1});
  testing::Int(
      builder.Node("QLinearConv", {"convolved", "scale", "zero", "pairs", "scale", "middle", "scale", "zero"}, {"z"}),
      "group", 2);
  Write(model(), builder.bytes());
  const auto bytes = [](size_t count) {
    std::vector<uint8_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>(i * 5);
    return values;
  };
  const std::vector<Value> inputs = {Tensor::Of<uint8_t>({3, 70}, bytes(210)),
                                     Tensor::Of<uint8_t>({1, 16, 9, 9}, bytes(16 * 81))};
  const auto run = [&](const Session& session) {
    std::vector<Value> results(2);
    session.Run(inputs, results);
    std::vector<uint8_t> all;
    for (const Value& result : results) {
      const auto values = result.tensor().values<uint8_t>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const std::vector<uint8_t> expected = run(Session(model(), Options(false)));
  EXPECT_EQ(run(Session(model(), Options())), expected);
  const Session second(model(), Options());
  EXPECT_TRUE(second.context().used) << second.context().detail;
  EXPECT_EQ(second.context().packed_anew, 0u);
  EXPECT_GE(second.context().packed, 3u);
  EXPECT_EQ(run(second), expected);
}

TEST_F(Context, WhatAKilledWriterLeftIsRemoved) {
  const fs::path abandoned = file().string() + ".a1B2c3.tmp", recent = file().string() + ".d4E5f6.tmp",
                 other = file().string() + ".tmp";
  for (const fs::path& path : {abandoned, recent, other}) Write(path, "half a context");
  for (const fs::path& path : {abandoned, other})
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_TRUE(Session(model(), Options()).context().written);
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(recent));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(Context, WeightsOfRecurrentNetworks) {
  constexpr int64_t kSteps = 3, kInput = 5, kHidden = 7;
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {kSteps, 1, kInput}).Output("y", ElementType::kFloat, {kSteps, 1, 1, kHidden});
  builder.Constant("w", {1, 4 * kHidden, kInput}, SeededNumbers(4 * kHidden * kInput, 1));
  builder.Constant("r", {1, 4 * kHidden, kHidden}, SeededNumbers(4 * kHidden * kHidden, 2));
  auto* hidden = builder.Node("LSTM", {"x", "w", "r"}, {"y"}).add_attribute();
  hidden->set_name("hidden_size");
  hidden->set_type(onnx::AttributeProto::INT);
  hidden->set_i(kHidden);
  Write(model(), builder.bytes());
  const auto run = [&](const SessionOptions& options, size_t packed) {
    const Session session(model(), options);
    EXPECT_EQ(session.context().packed, packed) << session.context().detail;
    EXPECT_EQ(session.context().packed_anew, 0u);
    const std::vector<Value> inputs = {Floats({kSteps, 1, kInput}, SeededNumbers(kSteps * kInput, 3))};
    std::vector<Value> results(1);
    session.Run(inputs, results);
    return ToVector(results[0]);
  };
  const std::vector<float> expected = run(Options(false), 0);
  EXPECT_EQ(run(Options(), 0), expected);
  EXPECT_EQ(run(Options(), 2), expected);
}

TEST_F(Context, ModelsFromMemory) {
  const std::string bytes = ContextModelBytes();
  SessionOptions options = Options();
  EXPECT_THROW(Session(std::as_bytes(std::span(bytes)), options), Error);
  options.config["session.context_file_path"] = file().string();
  for (const bool used : {false, true}) {
    const Session session(std::as_bytes(std::span(bytes)), options);
    EXPECT_EQ(session.context().used, used) << session.context().detail;
    EXPECT_EQ(RunAll(session), Expected());
  }
  const std::string others = ContextModelBytes(0, 99);
  EXPECT_FALSE(Session(std::as_bytes(std::span(others)), options).context().used);
}

TEST_F(Context, ManyWriters) {
  const std::vector<float> expected = Expected();
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 4; ++k) {
        if (k % 2 == 1) fs::remove(file());
        EXPECT_EQ(RunAll(Session(model(), Options())), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Session(model(), Options());
  EXPECT_TRUE(Session(model(), Options()).context().used);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 2);  // no temporary file stays
}

}  // namespace
}  // namespace tessera
