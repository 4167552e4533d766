// GEMM of float32 on the OpenCL device that sessions pick, by Tessera and by CLBlast: build/bin/bench_clblast.
// Operands and results stay on the device; CLBlast chooses its parameters from its own table of devices. Built where
// CLBlast is installed (Debian's libclblast-dev).

#include <CL/cl.h>
#include <benchmark/benchmark.h>
#include <clblast_c.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "model_builder.h"
#include "opencl/device/device.h"
#include "opencl/device/memory.h"

namespace tessera {
namespace {

struct GemmCase {
  const char* name;
  int64_t m, n, k;
};

constexpr GemmCase kGemms[] = {
    {"square 256", 256, 256, 256},   {"square 1024", 1024, 1024, 1024}, {"square 2048", 2048, 2048, 2048},
    {"bert qkv", 128, 768, 768},     {"bert up", 384, 3072, 768},       {"bert down", 128, 768, 3072},
    {"vit", 197, 768, 768},          {"resnet 1x1 56", 64, 3136, 256},  {"resnet 1x1 14", 256, 196, 1024},
    {"resnet 1x1 7", 2048, 49, 512}, {"decode", 1, 4096, 4096},         {"decode 4", 4, 4096, 4096},
};

void CountOperations(benchmark::State& state, const GemmCase& p) {
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  state.counters["FLOP"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

Tensor Halves(int64_t rows, int64_t columns) {
  const std::vector<float> values(static_cast<size_t>(rows * columns), 0.5f);
  return Tensor::Of<float>(Shape{rows, columns}, std::span<const float>(values));
}

/// B is a constant, as weights are, or comes in each run.
void ByTessera(benchmark::State& state, const GemmCase& p, bool constant_b) {
  const std::vector<int64_t> shape_b = {p.k, p.n};
  testing::ModelBuilder model;
  model.Input("a", ElementType::kFloat, {p.m, p.k}).Output("y", ElementType::kFloat, {p.m, p.n});
  const Tensor b = Halves(p.k, p.n);
  if (constant_b) model.Constant("b", shape_b, b.values<float>());
  if (!constant_b) model.Input("b", ElementType::kFloat, shape_b);
  model.Node("MatMul", {"a", "b"}, {"y"});
  SessionOptions options;
  options.providers = {{"opencl", {}}};
  options.error_on_failure = true;
  options.config["session.min_island_nodes"] = "0";
  const Session session = model.Session(options);
  IoBinding binding(session);
  binding.BindInput("a", Halves(p.m, p.k));
  if (!constant_b) binding.BindInput("b", b);
  binding.BindOutput("y", opencl::kDeviceMemory);
  session.Run(binding);
  for (auto _ : state) session.Run(binding);
  CountOperations(state, p);
}

void ByClblast(benchmark::State& state, const GemmCase& p) {
  const auto device = opencl::Device::Open({});
  const opencl::Queue queue = device->CreateQueue();
  const auto buffer = [&](int64_t rows, int64_t columns) {
    const Tensor values = Halves(rows, columns);
    opencl::Buffer made = device->NewBuffer(values.byte_size());
    opencl::Check(
        clEnqueueWriteBuffer(queue.get(), made.get(), CL_TRUE, 0, values.byte_size(), values.raw(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
    return made;
  };
  const opencl::Buffer a = buffer(p.m, p.k), b = buffer(p.k, p.n), y = buffer(p.m, p.n);
  const auto m = static_cast<size_t>(p.m), n = static_cast<size_t>(p.n), k = static_cast<size_t>(p.k);
  cl_command_queue handle = queue.get();
  const auto run = [&] {
    const CLBlastStatusCode status =
        CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, m, n, k, 1.0f, a.get(), 0, k, b.get(),
                     0, n, 0.0f, y.get(), 0, n, &handle, nullptr);
    if (status != CLBlastSuccess)
      state.SkipWithError(fmt::format("CLBlast fails with {}", static_cast<int>(status)).c_str());
    opencl::Finish(handle);
  };
  run();
  for (auto _ : state) run();
  CountOperations(state, p);
  CLBlastClearCache();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  using namespace tessera;
  for (const GemmCase& gemm : kGemms) {
    const auto add = [&](const char* who, auto run) {
      benchmark::RegisterBenchmark(fmt::format("{}/{}", gemm.name, who).c_str(), run)
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    };
    add("Tessera", [=](benchmark::State& state) { ByTessera(state, gemm, false); });
    add("Tessera, constant B", [=](benchmark::State& state) { ByTessera(state, gemm, true); });
    add("CLBlast", [=](benchmark::State& state) { ByClblast(state, gemm); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
