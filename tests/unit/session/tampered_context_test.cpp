// Contexts whose checksums are right, and what they say is not, or not of this model.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "attributes.h"
#include "base/byte_stream.h"
#include "base/load_limits.h"
#include "error_of.h"
#include "model/loading.h"
#include "model_builder.h"
#include "runtime/threads/thread_pools.h"
#include "session/context/context_file.h"
#include "temporary_folder.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;

/// Where `what` stands in `bytes`, which must have it once.
size_t PlaceOf(const Bytes& bytes, std::span<const std::byte> what) {
  const auto found = std::search(bytes.begin(), bytes.end(), what.begin(), what.end());
  EXPECT_NE(found, bytes.end());
  EXPECT_EQ(std::search(found + 1, bytes.end(), what.begin(), what.end()), bytes.end());
  return static_cast<size_t>(found - bytes.begin());
}

/// As graph_bytes.cpp writes a tensor of the graph's own.
Bytes Declaration(const std::string& name, ElementType type) {
  ByteWriter out;
  out.Put<uint8_t>(0);
  out.PutText(name);
  out.Put(ValueKind::kTensor);
  out.Put(type);
  return {out.bytes().begin(), out.bytes().end()};
}

class TamperedContext : public ::testing::Test {
 protected:
  fs::path model() const { return folder_.path() / "model.onnx"; }
  fs::path file() const { return folder_.path() / "model_ctx.tessera"; }

  static SessionOptions Options() {
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    options.intra_op_threads = 1;
    options.config["session.context_enable"] = "1";
    return options;
  }

  /// The bytes of all results.
  static std::string Run(const Session& session, const std::vector<Value>& inputs) {
    std::vector<Value> results(session.outputs().size());
    session.Run(inputs, results);
    std::string all;
    for (const Value& result : results)
      all.append(static_cast<const char*>(result.tensor().raw()), result.tensor().byte_size());
    return all;
  }

  /// Writes the model's context anew after `change` of its description and its data.
  template <class Change>
  void Rewrite(const Change& change) const {
    Bytes description, data;
    {
      const ContextFile whole(file());
      description.assign(whole.description().begin(), whole.description().end());
      data.assign(whole.data().begin(), whole.data().end());
    }
    change(description, data);
    ContextLayout layout;
    layout.Add(data.data(), data.size());
    WriteContextFile(file(), layout, description, *MakeSerialPool(), LoadLimits::None());
  }

  /// A context that declares `name` as `given` is used; one that declares it as `declared` is not, and says `why`.
  void ExpectRefused(ModelBuilder& builder, const std::vector<Value>& inputs, const std::string& name, ElementType given,
                     ElementType declared, const std::string& why) const {
    folder_.Write("model.onnx", builder.bytes());
    const std::string expected = Run(Session(model(), Options()), inputs);
    Rewrite([](const Bytes&, const Bytes&) {});
    EXPECT_TRUE(Session(model(), Options()).context().used);
    Rewrite([&](Bytes& description, const Bytes&) {
      const Bytes to = Declaration(name, declared);
      std::ranges::copy(to, description.begin() + static_cast<int64_t>(PlaceOf(description, Declaration(name, given))));
    });
    const Session session(model(), Options());
    EXPECT_FALSE(session.context().used);
    EXPECT_THAT(session.context().detail, HasSubstr(why));
    EXPECT_EQ(Run(session, inputs), expected);
  }

  const testing::TemporaryFolder folder_;
};

/// Memory is taken for what is declared: a sixteenth of what the kernel writes.
TEST_F(TamperedContext, TypesThatTheSchemaDoesNotAllow) {
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {1, 1000}).Output("y", ElementType::kFloat, {1, 1000});
  builder.Node("Sigmoid", {"x"}, {"e"});
  builder.Node("Add", {"x", "e"}, {"y"});
  const std::vector<Value> inputs = {Floats({1, 1000}, std::vector<float>(1000, 0.5f))};
  ExpectRefused(builder, inputs, "y", ElementType::kFloat, ElementType::kUInt2, "tensor(uint2)");
}

/// A cast's type is an attribute's, which no type of an input tells.
TEST_F(TamperedContext, TypesThatOnlyInferenceTells) {
  ModelBuilder builder;
  builder.Input("x", ElementType::kInt32, {1, 1000}).Output("y", ElementType::kFloat, {1, 1000});
  testing::Int(builder.Node("Cast", {"x"}, {"y"}), "to", onnx::TensorProto::FLOAT);
  const std::vector<Value> inputs = {Tensor::Of<int32_t>({1, 1000}, std::vector<int32_t>(1000, 5))};
  ExpectRefused(builder, inputs, "y", ElementType::kFloat, ElementType::kUInt8, "declared");
}

TEST_F(TamperedContext, PackedWeightsOfAnotherKind) {
  constexpr int64_t kK = 70, kN = 40;
  ModelBuilder builder;
  builder.Input("x", ElementType::kUInt8, {3, kK}).Output("y", ElementType::kUInt8, {3, kN});
  builder.Floats("scale", {}, {0.01f})
      .Quantized("zero", ElementType::kUInt8, {}, {3})
      .Quantized("middle", ElementType::kInt8, {}, {0});
  std::vector<int> weights(kK * kN);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int>(i * 7 % 255) - 127;
  builder.Quantized("w", ElementType::kInt8, {kK, kN}, weights);
  builder.Node("QLinearMatMul", {"x", "scale", "zero", "w", "scale", "middle", "scale", "zero"}, {"y"});
  folder_.Write("model.onnx", builder.bytes());
  const std::vector<Value> inputs = {Tensor::Of<uint8_t>({3, kK}, std::vector<uint8_t>(3 * kK, 9))};
  const std::string expected = Run(Session(model(), Options()), inputs);
  ASSERT_GE(Session(model(), Options()).context().packed, 1u);
  constexpr int64_t kNumbers[] = {kN, kK};  // of the flat form, in shared_weights.cpp; after them width, depth, ...
  constexpr const char* kFields[] = {"n", "k", "width", "depth", "segments", "block bytes"};
  for (size_t field = 0; field < std::size(kFields); ++field) {
    // Each session writes it anew.
    for (const int64_t change : {int64_t{-1}, int64_t{1}, int64_t{1} << 20, int64_t{1} << 62}) {
      Rewrite([&](const Bytes&, Bytes& data) {
        std::byte* place = data.data() + PlaceOf(data, std::as_bytes(std::span(kNumbers))) + field * sizeof(int64_t);
        int64_t number = 0;
        std::memcpy(&number, place, sizeof(number));
        number += change;
        std::memcpy(place, &number, sizeof(number));
      });
      const Session session(model(), Options());
      EXPECT_FALSE(session.context().used) << kFields[field] << " changed by " << change;
      EXPECT_TRUE(session.context().written) << kFields[field] << " changed by " << change;
      EXPECT_EQ(Run(session, inputs), expected) << kFields[field] << " changed by " << change;
    }
  }
}

/// Limits that follow sizes hear of a file only when it is the user's own, and then of what it stores.
TEST_F(TamperedContext, ForeignAndSparseFilesLiftNoLimit) {
  constexpr size_t kSize = size_t{64} << 20;
  const fs::path sparse = folder_.Write("sparse", "");
  fs::resize_file(sparse, kSize);
  std::vector<size_t> heard;
  const auto on_copy = [&](size_t bytes) { heard.push_back(bytes); };
  ASSERT_EQ(chmod(sparse.c_str(), 0666), 0);
  EXPECT_THAT(ErrorOf([&] { ContextFile(sparse, &HostAllocator(), on_copy); }), HasSubstr("other users"));
  EXPECT_TRUE(heard.empty());
  ASSERT_EQ(chmod(sparse.c_str(), 0600), 0);
  ErrorOf([&] { ContextFile(sparse, &HostAllocator(), on_copy); });
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_LT(heard[0], kSize / 64);
}

TEST_F(TamperedContext, OfAnotherModelOfTheSameSizeAndTime) {
  const auto write = [&](float weight) {
    ModelBuilder builder;
    builder.Input("x", ElementType::kFloat, {1, 64}).Output("y", ElementType::kFloat, {1, 64});
    builder.Floats("w", {64, 64}, std::vector<float>(64 * 64, weight));
    builder.Node("MatMul", {"x", "w"}, {"y"});
    folder_.Write("model.onnx", builder.bytes());
    fs::last_write_time(model(), fs::file_time_type());
  };
  const std::vector<Value> inputs = {Floats({1, 64}, std::vector<float>(64, 1))};
  write(1);
  const std::string first = Run(Session(model(), Options()), inputs);
  const Session again(model(), Options());
  EXPECT_TRUE(again.context().used) << again.context().detail;
  write(2);
  const Session second(model(), Options());
  EXPECT_FALSE(second.context().used);
  EXPECT_THAT(second.context().detail, HasSubstr("it was made for model"));
  EXPECT_NE(Run(second, inputs), first);
}

/// The same of weights that lie beside it.
TEST_F(TamperedContext, OfOtherWeightsOfTheSameSizeAndTime) {
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {1, 64}).Output("y", ElementType::kFloat, {1, 64});
  testing::ExternalFloats(builder, "w", {64, 64}, {{"location", "w.bin"}});
  builder.Node("MatMul", {"x", "w"}, {"y"});
  folder_.Write("model.onnx", builder.bytes());
  const auto write = [&](float weight) {
    const std::vector<float> values(64 * 64, weight);
    fs::remove(folder_.path() / "w.bin");
    folder_.Write("w.bin", {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    fs::last_write_time(folder_.path() / "w.bin", fs::file_time_type());
  };
  const std::vector<Value> inputs = {Floats({1, 64}, std::vector<float>(64, 1))};
  write(1);
  const std::string first = Run(Session(model(), Options()), inputs);
  const Session again(model(), Options());
  EXPECT_TRUE(again.context().used) << again.context().detail;
  write(2);
  const Session second(model(), Options());
  EXPECT_FALSE(second.context().used);
  EXPECT_THAT(second.context().detail, HasSubstr("w.bin has changed"));
  EXPECT_NE(Run(second, inputs), first);
}

}  // namespace
}  // namespace tessera
