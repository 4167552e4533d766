// Registers the toy provider and runs test cases of ONNX on it: those in the folders that the command line names.
#include <tessera/serialization.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "toy_provider.h"

namespace {

using tessera::Value;

std::vector<Value> Read(const std::filesystem::path& folder, const std::string& role,
                        const std::vector<tessera::NamedType>& declared) {
  std::vector<Value> values;
  for (const tessera::NamedType& one : declared) {
    std::ifstream file(folder / (role + "_" + std::to_string(values.size()) + ".pb"), std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    values.push_back(tessera::ParseValue(std::as_bytes(std::span(bytes)), one.type));
  }
  return values;
}

bool Equal(const tessera::Tensor& a, const tessera::Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.is(tessera::ElementType::kInt64)) return std::ranges::equal(a.values<int64_t>(), b.values<int64_t>());
  return std::ranges::equal(a.values<float>(), b.values<float>(),
                            [](float x, float y) { return std::abs(x - y) <= 1e-5f * (1 + std::abs(y)); });
}

/// Why the case fails; empty: it passes.
std::string Run(const std::filesystem::path& folder, const tessera::ProviderOptions& toy) {
  tessera::SessionOptions options = tessera::testing::OnToy(toy);
  options.error_on_failure = true;
  const tessera::Session session(folder / "model.onnx", options);
  for (const auto& node : session.placement().model_nodes) {
    if (node.provider != tessera::testing::Toy().name) return node.Label() + " runs on " + node.provider;
  }
  const std::filesystem::path data = folder / "test_data_set_0";
  std::vector<Value> results(session.outputs().size());
  session.Run(Read(data, "input", session.inputs()), results);
  const std::vector<Value> expected = Read(data, "output", session.outputs());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!Equal(results[i].tensor(), expected[i].tensor())) return "output " + std::to_string(i) + " differs";
  }
  return {};
}

/// What AddProvider must refuse.
bool RefusesAnotherOfTheName() {
  static tessera::ProviderFactory other = tessera::testing::Toy();
  try {
    tessera::AddProvider(other);
  } catch (const tessera::Error& error) {
    return std::string(error.what()).find("is a name of ToyExecutionProvider") != std::string::npos;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  size_t failed = 0;
  try {
    tessera::testing::Toy();  // adds the provider
    if (tessera::available_providers().front() != "ToyExecutionProvider" || !RefusesAnotherOfTheName()) return 1;
    for (int i = 1; i < argc; ++i) {
      for (const char* device : {"0", "1"}) {
        const std::string why = Run(argv[i], {{"device", device}});
        if (!why.empty()) std::fprintf(stderr, "%s, device=%s: %s\n", argv[i], device, why.c_str());
        failed += why.empty() ? 0 : 1;
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("%d cases, %zu failures\n", 2 * (argc - 1), failed);
  return failed == 0 && argc > 1 ? 0 : 1;
}
