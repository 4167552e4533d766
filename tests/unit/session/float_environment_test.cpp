// The caller's floating-point environment: it changes no result, kills nothing, and is the caller's again afterwards.

#include <gmock/gmock.h>

#include <cfenv>
#include <cstring>
#include <functional>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "providers_here.h"
#include "waves.h"

#if defined(__x86_64__)
#include <fpu_control.h>
#include <immintrin.h>

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::OnProvider;
using testing::Waves;

constexpr int64_t kRows = 64, kInner = 96;

/// Matmuls, exponentials, rounding to integers and back, text, tiny numbers, and what is folded when it is loaded.
ModelBuilder MixedModel() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kRows, kInner}).Input("tiny", ElementType::kFloat, {4});
  model.Output("y", ElementType::kFloat, {kRows, kRows}).Output("quantized", ElementType::kUInt8, {kRows, kRows});
  model.Output("less", ElementType::kFloat, {4}).Output("text", ElementType::kString, {kRows, kRows});
  model.Output("folded", ElementType::kFloat, {kRows, kInner}).Output("wide", ElementType::kDouble, {kRows, kRows});
  model.Floats("w", {kInner, kRows}, Waves(kInner * kRows, 0.3f, 1))
      .Floats("c", {kRows, kInner}, Waves(kRows * kInner, 0.1f, 1));
  model.Floats("third", {}, {1.0f / 3}).Floats("scale", {}, {0.007f}).Floats("small", {}, {1e-3f});
  model.Quantized("zero", ElementType::kUInt8, {}, {128});
  model.Node("MatMul", {"x", "w"}, {"product"});
  model.Node("Softmax", {"product"}, {"soft"});
  model.Node("Add", {"soft", "product"}, {"y"});
  model.Node("QuantizeLinear", {"y", "scale", "zero"}, {"quantized"});
  model.Node("Mul", {"tiny", "small"}, {"less"});
  testing::Int(model.Node("Cast", {"y"}, {"text"}), "to", onnx::TensorProto::STRING);
  testing::Int(model.Node("Cast", {"text"}, {"wide"}), "to", onnx::TensorProto::DOUBLE);
  model.Node("Exp", {"c"}, {"e"});
  model.Node("Mul", {"e", "third"}, {"scaled"});
  model.Node("Identity", {"scaled"}, {"folded"});
  return model;
}

std::vector<Value> Inputs() {
  return {Floats({kRows, kInner}, Waves(kRows * kInner, 0.2f, 1)), Floats({4}, {1e-36f, -3e-37f, 5e-40f, 1.2e-38f})};
}

/// Everything that a model of the kind gives, as bytes and texts.
std::string Bits(const std::vector<Value>& results) {
  std::string bits;
  for (const Value& value : results) {
    const Tensor& tensor = value.tensor();
    if (tensor.is(ElementType::kString)) {
      for (const std::string& text : tensor.values<std::string>()) bits += text + ";";
    } else {
      bits.append(static_cast<const char*>(tensor.raw()), tensor.byte_size());
    }
  }
  return bits;
}

std::string LoadAndRun(const std::string& bytes, const SessionOptions& options, const std::vector<Value>& inputs) {
  const Session session(std::as_bytes(std::span(bytes)), options);
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return Bits(results);
}

struct Settings {
  unsigned vector;
  fpu_control_t x87;
  bool operator==(const Settings&) const = default;
};

Settings Current() {
  Settings settings{_mm_getcsr(), 0};
  _FPU_GETCW(settings.x87);
  return settings;
}

/// Calls `body` in settings of the caller's; what they are after it.
template <class Body>
Settings In(const Settings& settings, Body body) {
  std::fenv_t before;
  std::fegetenv(&before);
  fpu_control_t control = settings.x87;
  _FPU_SETCW(control);
  _mm_setcsr(settings.vector);
  body();
  const Settings after = Current();
  std::fesetenv(&before);
  return after;
}

constexpr unsigned kPlain = 0x1F80, kUp = 0x4000, kDown = 0x2000, kToZero = 0x6000, kNoDenormals = 0x8040, kFlags = 0x3f,
                   kMasks = 0x1F80;
constexpr fpu_control_t kPlainX87 = 0x37f;
constexpr Settings kHostile[] = {
    {kPlain | kUp, kPlainX87 | 0x0800},
    {kPlain | kDown, kPlainX87 | 0x0400},
    {kPlain | kToZero | kNoDenormals, kPlainX87 | 0x0c00},
    {kPlain | kNoDenormals, kPlainX87},
    {kPlain | kFlags, kPlainX87},           // flags of past exceptions
    {kPlain & ~kMasks, kPlainX87 & ~0x3f},  // every exception traps
    {(kPlain & ~kMasks) | kUp | kNoDenormals, 0x0040},
    {kPlain, 0x007f},  // the x87 unit computes in single precision
};

class FloatEnvironment : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

INSTANTIATE_TEST_SUITE_P(Providers, FloatEnvironment,
                         ::testing::Combine(::testing::Values("cpu", "dnnl", "opencl"), ::testing::Values(1, 4)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

TEST_P(FloatEnvironment, ChangesNothingAndComesBack) {
  const auto& [provider, threads] = GetParam();
  if (!testing::IsCompiledIn(provider)) GTEST_SKIP() << provider << " is not in this build";
  const std::string bytes = MixedModel().bytes();
  const std::vector<Value> inputs = Inputs();
  SessionOptions options = OnProvider(provider, threads);
  std::string expected;
  try {
    expected = LoadAndRun(bytes, options, inputs);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    options.execution_mode = mode;
    for (const Settings& settings : kHostile) {
      std::string given;
      const Settings after = In(settings, [&] { given = LoadAndRun(bytes, options, inputs); });
      EXPECT_TRUE(given == expected) << std::hex << settings.vector << " " << settings.x87;
      EXPECT_EQ(after, settings) << std::hex << settings.vector << " became " << after.vector << ", " << settings.x87 << " "
                                 << after.x87;
    }
  }
}

TEST(FloatEnvironmentErrors, ItComesBackAfterErrors) {
  const Session session = MixedModel().Session();
  std::vector<Value> results(session.outputs().size());
  const std::vector<Value> wrong = {Floats({1}, {1}), Floats({4}, {1, 2, 3, 4})};
  const std::string no_model = "no model";
  for (const Settings& settings : kHostile) {
    std::string run_error, load_error;
    const Settings after = In(settings, [&] {
      run_error = ErrorOf([&] { session.Run(wrong, results); });
      load_error = ErrorOf([&] { Session{std::as_bytes(std::span(no_model))}; });
    });
    EXPECT_THAT(run_error, HasSubstr("input 'x'"));
    EXPECT_NE(load_error, "no error");
    EXPECT_EQ(after, settings);
  }
}

TEST(FloatEnvironmentDenormals, CountAsZeroWhereTheSessionSaysSoWhateverTheCallerHas) {
  SessionOptions options;
  options.config["session.set_denormal_as_zero"] = "1";
  const Session plain = MixedModel().Session(), flushing = MixedModel().Session(options);
  const std::vector<Value> inputs = Inputs();
  for (const Settings& settings : kHostile) {
    std::vector<Value> kept(plain.outputs().size()), flushed(plain.outputs().size());
    const Settings after = In(settings, [&] {
      plain.Run(inputs, kept);
      flushing.Run(inputs, flushed);
    });
    EXPECT_EQ(after, settings);
    EXPECT_NE(testing::ToVector(kept[2])[0], 0);
    EXPECT_EQ(testing::ToVector(flushed[2])[0], 0);
  }
}

}  // namespace
}  // namespace tessera

#endif
