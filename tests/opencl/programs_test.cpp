// Programs are compiled while a session is made, not while it runs; constants come to the device once for all sessions.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <functional>

#include "faulty_driver.h"
#include "model/loading.h"
#include "opencl/device/constants.h"
#include "providers/opencl_device.h"
#include "providers/opencl_models.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class OpenclPrograms : public ::testing::Test {
 protected:
  void SetUp() override { NeedDevice(); }
  void TearDown() override {
    FaultyDriver::Repair();
    FaultyDriver::SeparateMemory(false);
  }
  /// Devices are told apart by how the folder of their programs is written: each spelling opens one of its own, without
  /// programs.
  SessionOptions OnNewDevice(const char* kernels = "auto") {
    SessionOptions options = PlainOn(kOpencl, {{"program_cache_path", spelling_ += "/."}, {"kernels", kernels}});
    options.config["session.min_island_nodes"] = "0";
    return options;
  }
  static int Calls(const char* name) {
    const auto found = FaultyDriver::calls().find(name);
    return found == FaultyDriver::calls().end() ? 0 : found->second;
  }
  static std::vector<float> Result(const Session& session, const std::vector<Value>& inputs) {
    std::vector<Value> results(session.outputs().size());
    session.Run(inputs, results);
    return ToVector(results[0]);
  }

  TemporaryFolder folder_;
  std::string spelling_ = folder_.path().string();
};

Value RandomFloats(const std::vector<int64_t>& dims, unsigned seed) {
  return Floats(dims, Random(static_cast<size_t>(Shape(dims).num_elements()), seed, -0.5f, 0.5f));
}

struct Case {
  std::string name;
  ModelBuilder model;
  std::vector<Value> inputs;
};

/// One node on inputs of these shapes; `constant`: the second is an initializer.
Case One(std::string name, const std::string& op, const std::vector<std::vector<int64_t>>& shapes, bool constant = false,
         const std::function<void(onnx::NodeProto&)>& attributes = {}, int opset = 23) {
  Case made{std::move(name), ModelBuilder(opset), {}};
  auto& node = made.model.Node(op, {}, {"y"});
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string input = fmt::format("x{}", i);
    node.add_input(input);
    const Value value = RandomFloats(shapes[i], static_cast<unsigned>(i + 1));
    if (i == 1 && constant) {
      made.model.Floats(input, shapes[i], ToVector(value));
    } else {
      made.model.Input(input, ElementType::kFloat, shapes[i]);
      made.inputs.push_back(value);
    }
  }
  if (attributes) attributes(node);
  made.model.Output("y", ElementType::kFloat, {});
  made.model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  return made;
}

/// A matmul of so many rows with weights of 4 bits.
Case FewBits(int64_t rows) {
  Case made{fmt::format("{} rows, weights of 4 bits", rows), ModelBuilder(), {RandomFloats({rows, 32}, 1)}};
  auto* import = made.model.proto().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  std::vector<int> quantized(24 * 16);
  for (size_t i = 0; i < quantized.size(); ++i) quantized[i] = static_cast<int>(i * 37 % 256);
  made.model.Input("x", ElementType::kFloat, {rows, 32}).Output("y", ElementType::kFloat, {rows, 24});
  made.model.Quantized("b", ElementType::kUInt8, {24, 1, 16}, quantized).Floats("s", {24}, Random(24, 2, 0.01f, 0.1f));
  auto& node = made.model.Node("MatMulNBits", {"x", "b", "s"}, {"y"});
  node.set_domain("com.microsoft");
  for (const auto& [name, value] :
       {std::pair("K", 32), std::pair("N", 24), std::pair("bits", 4), std::pair("block_size", 32)})
    Int(node, name, value);
  return made;
}

/// Quantized values from floats to floats, by way of a convolution and a matmul of integers.
Case Quantized() {
  Case made{"quantized", ModelBuilder(), {RandomFloats({1, 4, 6, 6}, 1)}};
  ModelBuilder& model = made.model;
  std::vector<int> filters(16 * 4 * 9), weights(4 * 20);
  for (size_t i = 0; i < filters.size(); ++i) filters[i] = static_cast<int>(i * 37 % 255) - 127;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int>(i * 29 % 255) - 127;
  model.Input("x", ElementType::kFloat, {1, 4, 6, 6}).Output("y", ElementType::kFloat, {1, 16, 4, 20});
  model.Floats("s", {}, {0.01f})
      .Quantized("z", ElementType::kUInt8, {}, {120})
      .Quantized("zw", ElementType::kInt8, {}, {0});
  model.Quantized("f", ElementType::kInt8, {16, 4, 3, 3}, filters).Quantized("w", ElementType::kInt8, {4, 20}, weights);
  model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.Node("QLinearConv", {"q", "s", "z", "f", "s", "zw", "s", "z"}, {"c"});
  model.Node("QLinearMatMul", {"c", "s", "z", "w", "s", "zw", "s", "z"}, {"p"});
  model.Node("DequantizeLinear", {"p", "s", "z"}, {"y"});
  return made;
}

std::vector<Case> StaticCases() {
  std::vector<Case> cases;
  const auto group = [](int64_t groups) { return [groups](onnx::NodeProto& node) { Int(node, "group", groups); }; };
  for (const bool constant : {false, true}) {
    const std::string suffix = constant ? ", constant filters" : ", filters as an input";
    cases.push_back(One("few filters" + suffix, "Conv", {{1, 3, 9, 9}, {2, 3, 3, 3}}, constant));
    cases.push_back(One("one filter of each group" + suffix, "Conv", {{1, 4, 3, 3}, {4, 1, 2, 2}}, constant, group(4)));
    cases.push_back(One("depthwise" + suffix, "Conv", {{1, 4, 9, 9}, {4, 1, 3, 3}}, constant, group(4)));
    cases.push_back(
        One("several filters of each channel" + suffix, "Conv", {{1, 2, 4, 4}, {8, 1, 3, 3}}, constant, group(2)));
    cases.push_back(One("many filters" + suffix, "Conv", {{1, 4, 9, 9}, {16, 4, 3, 3}}, constant));
    cases.push_back(One("pointwise" + suffix, "Conv", {{2, 4, 4, 8}, {16, 4, 1, 1}}, constant));
    cases.push_back(One("pointwise on odd images" + suffix, "Conv", {{2, 4, 5, 7}, {16, 4, 1, 1}}, constant));
    cases.push_back(One("Winograd" + suffix, "Conv", {{1, 32, 16, 16}, {32, 32, 3, 3}}, constant));
    cases.push_back(One("volumes" + suffix, "Conv", {{1, 4, 5, 5, 5}, {16, 4, 3, 3, 3}}, constant));
    cases.push_back(One("lines" + suffix, "Conv", {{1, 4, 20}, {16, 4, 3}}, constant));
    cases.push_back(One("matmul" + suffix, "MatMul", {{5, 33}, {33, 17}}, constant));
    cases.push_back(One("stack of matmuls" + suffix, "MatMul", {{2, 5, 33}, {2, 33, 17}}, constant));
    cases.push_back(One("few rows" + suffix, "MatMul", {{1, 33}, {33, 17}}, constant));
    cases.push_back(
        One("Gemm" + suffix, "Gemm", {{5, 33}, {17, 33}}, constant, [](onnx::NodeProto& node) { Int(node, "transB", 1); }));
  }
  for (const int64_t queries : {1, 3, 9}) {
    for (const int64_t width : {8, 300}) {
      cases.push_back(One(fmt::format("attention of {} queries to values of {}", queries, width), "Attention",
                          {{1, 2, queries, 8}, {1, 2, 6, 8}, {1, 2, 6, width}}));
    }
  }
  const auto window = [](onnx::NodeProto& node) { Ints(node, "kernel_shape", {2, 2}); };
  for (const int64_t width : {4, 40})
    cases.push_back(One(fmt::format("pooling of {} columns", width), "MaxPool", {{1, 2, 4, width}}, false, window));
  cases.push_back(One("LSTM", "LSTM", {{3, 2, 5}, {1, 32, 5}, {1, 32, 8}}, false,
                      [](onnx::NodeProto& node) { Int(node, "hidden_size", 8); }));
  for (const int64_t rows : {1, 4, 9}) cases.push_back(FewBits(rows));
  cases.push_back(Quantized());
  cases.push_back(One("global pooling", "GlobalAveragePool", {{1, 2, 4, 5}}));
  cases.push_back({"cnn", Cnn(), {RandomFloats({2, 3, 17, 15}, 3)}});
  return cases;
}

TEST_F(OpenclPrograms, NothingIsCompiledInARunWhereShapesAreKnown) {
  for (Case& one : StaticCases()) {
    const std::vector<float> expected = Result(one.model.Session(PlainOn("cpu")), one.inputs);
    for (const char* kernels : {"panels", "tiles"}) {
      SCOPED_TRACE(fmt::format("{} by {}", one.name, kernels));
      const Session session = one.model.Session(OnNewDevice(kernels));
      for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, kOpencl) << node.op_type;
      FaultyDriver::Reset();
      for (int run = 0; run < 2; ++run) EXPECT_THAT(Result(session, one.inputs), Pointwise(FloatNear(1e-3f), expected));
      EXPECT_EQ(Calls("clBuildProgram"), 0);
    }
  }
}

/// Sizes that the graph leaves open: of images, of filters, of both.
TEST_F(OpenclPrograms, UnknownShapesCompileFewPrograms) {
  struct Filters {
    std::vector<int64_t> dims;
    int64_t group;
  };
  const std::vector<Filters> filters = {
      {{2, 4, 3, 3}, 1}, {{16, 4, 3, 3}, 1}, {{4, 1, 3, 3}, 4}, {{12, 1, 2, 2}, 4}, {{16, 4, 1, 1}, 1}};
  const std::vector<std::vector<int64_t>> images = {{1, 4, 3, 3}, {1, 4, 9, 9}, {2, 4, 16, 16}, {1, 4, 3, 40}};
  for (const Filters& each : filters) {
    for (const int known : {0, 1, 2}) {  // nothing; the filters' sizes; the filters
      ModelBuilder model;
      const Value w = RandomFloats(each.dims, 2);
      model.Input("x", ElementType::kFloat, {-1, 4, -1, -1}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
      if (known == 2) model.Floats("w", each.dims, ToVector(w));
      if (known < 2) model.Input("w", ElementType::kFloat, known == 1 ? each.dims : std::vector<int64_t>{-1, -1, -1, -1});
      Int(model.Node("Conv", {"x", "w"}, {"y"}), "group", each.group);
      const Session reference = model.Session(PlainOn("cpu"));
      for (const char* kernels : {"panels", "tiles"}) {
        const Session session = model.Session(OnNewDevice(kernels));
        const auto run_all = [&] {
          FaultyDriver::Reset();
          for (const auto& image : images) {
            SCOPED_TRACE(fmt::format("filters {}, {} known, images {}, {}", fmt::join(each.dims, "x"), known,
                                     fmt::join(image, "x"), kernels));
            std::vector<Value> inputs = {RandomFloats(image, 1)};
            if (known < 2) inputs.push_back(w);
            EXPECT_THAT(Result(session, inputs), Pointwise(FloatNear(1e-3f), Result(reference, inputs)));
          }
          return Calls("clBuildProgram");
        };
        // Tiles are chosen for each size; there are few of them.
        const int first = run_all();
        EXPECT_LE(first, kernels == std::string("panels") ? 0 : static_cast<int>(images.size()));
        EXPECT_EQ(run_all(), 0);
      }
    }
  }
}

constexpr int64_t kTable = 300 * 300 * 4;  // bytes

/// Two chains that read one table, a product with a constant, and a node by itself. `external`: constants lie in the file
/// "data"; else in the model's, as its other parts happen to align them.
ModelBuilder Weighted(bool external) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {300, 300})
      .Output("y", ElementType::kFloat, {300, 300})
      .Output("z", ElementType::kFloat, {300, 300});
  model.Output("p", ElementType::kFloat, {300, 300}).Output("c", ElementType::kFloat, {300, 300});
  int64_t offset = 0;
  for (const std::string name : {"table", "w", "base"}) {
    if (external) {
      ExternalFloats(model, name, {300, 300},
                     {{"location", "data"}, {"offset", std::to_string(offset)}, {"length", std::to_string(kTable)}});
    } else {
      model.Constant(name, {300, 300}, Random(90000, static_cast<unsigned>(offset + 1), -0.1f, 0.1f));
    }
    offset += kTable;
  }
  model.Node("Mul", {"x", "table"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Add", {"x", "table"}, {"b"});
  model.Node("Tanh", {"b"}, {"z"});
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Max", {"x", "base"}, {"c"});
  return model;
}

TEST_F(OpenclPrograms, ProcessorsPackWeightsWhereTheyLie) {
  const auto device = opencl::Device::Open({});
  if (!device->capabilities().is_cpu || !device->capabilities().shares_host_memory)
    GTEST_SKIP() << device->capabilities().name << " is no processor";
  const auto block = std::make_shared<std::array<float, 64>>();
  auto* const start = reinterpret_cast<std::byte*>(block->data());
  for (const size_t shift : {0, 1, 4, 63}) {
    const Tensor constant = Tensor::ShareUnaligned(ElementType::kFloat, Shape{32}, start + shift, block);
    const opencl::HostWeights weights(*device, constant);
    void* memory = nullptr;
    ASSERT_EQ(clGetMemObjectInfo(weights.range().buffer, CL_MEM_HOST_PTR, sizeof memory, &memory, nullptr), CL_SUCCESS);
    EXPECT_EQ(static_cast<std::byte*>(memory) + weights.range().offset, start + shift) << shift;
  }
}

/// In files of models, initializers begin anywhere: names of four lengths shift them by a byte each.
TEST_F(OpenclPrograms, WeightsMayLieAtAnyAddress) {
  for (const size_t length : {1, 2, 3, 4}) {
    const std::string b(length, 'b'), a(length, 'a'), filters(length, 'f');
    ModelBuilder model(18);
    model.Input("x", ElementType::kFloat, {1, 32, 32, 32}).Output("y", ElementType::kFloat, {1, 32, 32, 70});
    model.Constant(filters, {32, 32, 3, 3}, Random(9216, 1, -0.1f, 0.1f))
        .Constant(b, {32, 70}, Random(2240, 2))
        .Constant(a, {32, 32}, Random(1024, 3));
    Ints(model.Node("Conv", {"x", filters}, {"c"}), "pads", {1, 1, 1, 1});
    model.Node("MatMul", {a, "c"}, {"l"});
    model.Node("MatMul", {"l", b}, {"y"});
    const std::filesystem::path file = folder_.path() / fmt::format("{}.onnx", length);
    std::ofstream(file, std::ios::binary) << model.bytes();
    const std::vector<Value> inputs = {RandomFloats({1, 32, 32, 32}, 4)};
    const std::vector<float> expected = Result(Session(file, On("cpu")), inputs);
    for (const char* winograd : {"0", "1"}) {
      SCOPED_TRACE(fmt::format("{}, winograd {}", length, winograd));
      SessionOptions options = On(kOpencl, {{"kernels", "panels"}, {"winograd", winograd}});
      options.config["session.min_island_nodes"] = "0";
      EXPECT_THAT(Result(Session(file, options), inputs), Pointwise(FloatNear(2e-3f), expected));
    }
  }
}

TEST_F(OpenclPrograms, SessionsShareConstants) {
  const std::vector<float> data = Random(3 * 90000, 1, -0.1f, 0.1f);
  std::ofstream(folder_.path() / "data", std::ios::binary).write(reinterpret_cast<const char*>(data.data()), 3 * kTable);
  const std::vector<Value> inputs = {RandomFloats({300, 300}, 4)};
  for (const auto& [kernels, external] :
       {std::pair("panels", true), std::pair("panels", false), std::pair("tiles", true)}) {
    SCOPED_TRACE(fmt::format("{}, {}", kernels, external));
    const std::filesystem::path file = folder_.path() / fmt::format("{}_{}.onnx", kernels, external);
    std::ofstream(file, std::ios::binary) << Weighted(external).bytes();
    FaultyDriver::SeparateMemory(true);
    SessionOptions options = On(kOpencl, {{"program_cache_path", spelling_ += "/."}, {"kernels", kernels}});
    options.config["session.min_island_nodes"] = "0";
    const auto uploads = [&](const SessionOptions& wanted, std::vector<Session>& sessions) {
      FaultyDriver::Reset();
      sessions.emplace_back(file, wanted);
      return Calls("clEnqueueWriteBuffer") + Calls("clCreateBuffer");
    };
    std::vector<Session> sessions;
    const std::vector<float> expected = Result(Session(file, On("cpu")), inputs);
    AddModel().Session(options);  // opens the device; later sessions ask whether it works
    FaultyDriver::Reset();
    AddModel().Session(options);
    const int none = Calls("clEnqueueWriteBuffer") + Calls("clCreateBuffer");
    EXPECT_GE(uploads(options, sessions), none + 6) << "a buffer and a copy for each of three";
    EXPECT_EQ(uploads(options, sessions), none) << "of what another session has on the device";
    // What a session reads counts towards its limit, whoever brought it there: the table once.
    options.providers[0].options["gpu_mem_limit"] = std::to_string(2 * kTable);
    options.error_on_failure = true;
    EXPECT_THROW(Session(file, options), Error);
    options.providers[0].options.erase("gpu_mem_limit");
    options.config["session.disable_prepacking"] = "1";
    EXPECT_GE(uploads(options, sessions), none + 6) << "of its own";
    for (const Session& session : sessions) EXPECT_THAT(Result(session, inputs), Pointwise(FloatNear(1e-3f), expected));
    sessions.erase(sessions.begin());  // the others' constants stay
    for (const Session& session : sessions) EXPECT_THAT(Result(session, inputs), Pointwise(FloatNear(1e-3f), expected));
    const int live = FaultyDriver::live_objects();
    sessions.clear();
    EXPECT_LT(FaultyDriver::live_objects(), live);
  }
}

/// Applications that take what suits the machine do not get a processor by way of OpenCL, and see why.
TEST_F(OpenclPrograms, ProcessorsAreNotChosenByDefault) {
  const auto session_of = [](const std::vector<std::string>& names) {
    SessionOptions options;
    for (const std::string& name : names) options.providers.push_back({name, {}});
    return AddModel().Session(options);
  };
  FaultyDriver::Answer(CL_DEVICE_TYPE, cl_device_type{CL_DEVICE_TYPE_CPU});
  std::vector<std::string> names = available_providers();
  EXPECT_THAT(names, ::testing::Not(::testing::Contains(kOpencl)));
  const PlacementReport placement = session_of(names).placement();
  EXPECT_EQ(placement.providers.back().name, kOpencl);
  EXPECT_THAT(placement.ToText(), HasSubstr("OpenCLExecutionProvider: skipped: its only device is a processor"));

  FaultyDriver::Answer(CL_DEVICE_TYPE, cl_device_type{CL_DEVICE_TYPE_GPU});
  names = available_providers();
  EXPECT_EQ(names.front(), kOpencl);
  EXPECT_THAT(AddModel().Session(On("cpu")).placement().ToText(), ::testing::Not(HasSubstr("OpenCL")))
      << "nobody left it out";
  FaultyDriver::Answer(CL_DEVICE_AVAILABLE, cl_bool{CL_FALSE});
  EXPECT_THAT(available_providers(), ::testing::Not(::testing::Contains(kOpencl)));
  FaultyDriver::Repair();

  const Session named = AddModel().Session(On(kOpencl));
  EXPECT_EQ(named.placement().providers.front().status, "active");
  EXPECT_FALSE(named.placement().providers.front().device.empty());
  EXPECT_THAT(named.placement().ToText(), HasSubstr(" nodes on " + named.placement().providers.front().device));
  available_providers();  // as it is
}

}  // namespace
}  // namespace tessera::testing
