#include "test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <regex>
#include <thread>

#include "base/regular_file.h"
#include "case_json.h"
#include "compare.h"
#include "small_stack.h"
#include "tessera/serialization.h"

namespace tessera::runner {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Operators whose output the specification leaves to the generator: their cases are compared by type and shape.
constexpr std::array<std::string_view, 6> kRandomOperators = {"Bernoulli",     "Multinomial",       "RandomNormal",
                                                              "RandomUniform", "RandomNormalLike", "RandomUniformLike"};

struct Failure {
  std::string cause;
  std::string message;
};

std::vector<std::byte> ReadFile(const fs::path& path) {
  try {
    return RegularFile(path).Read();
  } catch (const Error& error) {
    throw Failure{"data", error.what()};
  }
}

/// "input_12.pb" -> 12; -1 for other names.
int FileIndex(const fs::path& path, std::string_view role) {
  const std::string name = path.stem().string();
  if (path.extension() != ".pb" || name.size() <= role.size() + 1 || !name.starts_with(role) || name[role.size()] != '_') {
    return -1;
  }
  const std::string digits = name.substr(role.size() + 1);
  return digits.size() <= 6 && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })
             ? std::stoi(digits)
             : -1;
}

/// onnx before 1.13 stored bfloat16 test data as uint16; the bits are the same.
Value AsDeclared(Value value, const TypeInfo& declared) {
  const Tensor* tensor = value.tensor_if();
  if (tensor == nullptr || !tensor->is(ElementType::kUInt16) || declared.element != ElementType::kBFloat16) return value;
  return Tensor::Share(ElementType::kBFloat16, tensor->shape(), const_cast<void*>(tensor->raw()), tensor->owner());
}

std::vector<Value> LoadValues(const fs::path& data_set, std::string_view role, const std::vector<NamedType>& types) {
  std::vector<std::pair<int, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(data_set)) {
    if (const int index = FileIndex(entry.path(), role); index >= 0) files.emplace_back(index, entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Value> values;
  for (const auto& [index, path] : files) {
    if (static_cast<size_t>(index) != values.size()) throw Failure{"data", fmt::format("{} is missing before {}", role, path.string())};
    if (values.size() >= types.size()) throw Failure{"data", fmt::format("{} has no {} of the model beside it", path.string(), role)};
    const std::vector<std::byte> bytes = ReadFile(path);
    try {
      const TypeInfo& type = types[values.size()].type;
      values.push_back(AsDeclared(ParseValue(bytes, type), type));
    } catch (const Error& error) {
      throw Failure{"data", fmt::format("{}: {}", path.string(), error.what())};
    }
  }
  return values;
}

/// Runs one data set `repeat` times on each of `concurrent` threads and compares every result.
void RunDataSet(const Session& session, const fs::path& data_set, const Tolerance& tolerance, const Options& options,
                std::vector<double>& times) {
  const std::vector<Value> inputs = LoadValues(data_set, "input", session.inputs());
  const std::vector<Value> expected = LoadValues(data_set, "output", session.outputs());
  if (expected.size() < session.outputs().size()) {
    throw Failure{"data", fmt::format("{} holds {} outputs, the model has {}: output_{}.pb is missing", data_set.string(), expected.size(),
                                      session.outputs().size(), expected.size())};
  }
  std::vector<std::string> input_names, output_names;
  for (size_t i = 0; i < inputs.size(); ++i) input_names.push_back(session.inputs()[i].name);
  for (size_t i = 0; i < expected.size(); ++i) output_names.push_back(session.outputs()[i].name);

  std::mutex mutex;
  std::optional<Failure> failure;
  const auto run = [&] {
    try {
      for (int i = 0; i < options.repeat; ++i) {
        const auto start = Clock::now();
        std::vector<Value> actual;
        OnStackOf(options.stack, [&] { actual = session.Run(input_names, inputs, output_names); });
        const double time = MillisecondsSince(start);
        std::optional<Difference> difference;
        size_t at = 0;
        for (; at < expected.size() && !difference; ++at) difference = Compare(actual[at], expected[at], tolerance);
        const std::lock_guard lock(mutex);
        times.push_back(time);
        if (difference) {
          failure = Failure{difference->cause, fmt::format("{}, output {} '{}': {}", data_set.filename().string(), at - 1,
                                                           output_names[at - 1], difference->message)};
          return;
        }
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      failure = Failure{"run", error.what()};
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < options.concurrent; ++i) threads.emplace_back(run);
  run();
  threads.clear();  // waits for them
  if (failure) throw *failure;
}

void DescribePlacement(const Session& session, CaseResult& result) {
  for (const auto& node : session.placement().nodes) {
    result.operators.insert(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
    ++result.nodes_per_provider[node.provider];
  }
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// The case that a folder holds, if it is one.
std::optional<TestCase> CaseIn(const fs::path& folder, const fs::path& group, const Options& options) {
  TestCase test;
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".onnx") models.push_back(entry.path());
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set")) {
      test.data_sets.push_back(entry.path());
    }
  }
  if (models.empty() || test.data_sets.empty()) return std::nullopt;
  std::sort(models.begin(), models.end());
  std::sort(test.data_sets.begin(), test.data_sets.end());
  const auto named = std::find(models.begin(), models.end(), folder / "model.onnx");
  test.model = named != models.end() ? *named : models.front();
  test.name = folder.filename().string();
  test.folder_group = group.string();
  ReadTolerance(folder / "tolerance.json", test);
  test.rtol = options.rtol.value_or(test.rtol);
  test.atol = options.atol.value_or(test.atol);
  test.states_tolerance = test.states_tolerance || options.rtol || options.atol;
  return test;
}

}  // namespace

std::vector<TestCase> FindCases(const Options& options) {
  const std::regex pattern(options.name_pattern);
  std::vector<TestCase> cases;
  for (const fs::path& root : options.folders) {
    if (!fs::is_directory(root)) {
      throw Error(ErrorCode::kNoSuchFile, fmt::format("{} is not a folder; give folders that hold test cases", root.string()));
    }
    std::vector<fs::path> folders = {fs::canonical(root)};
    for (const auto& entry : fs::recursive_directory_iterator(folders[0])) {
      if (entry.is_directory()) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
      auto test = CaseIn(folder, root, options);
      if (test && std::regex_search(test->name, pattern)) cases.push_back(std::move(*test));
    }
  }
  return cases;
}

CaseResult RunCase(const TestCase& test, const Options& options) {
  CaseResult result{.name = test.name, .group = test.folder_group};
  try {
    const auto start = Clock::now();
    std::optional<Session> session;
    try {
      OnStackOf(options.stack, [&] { session.emplace(test.model, options.session); });
    } catch (const std::exception& error) {
      throw Failure{"load", error.what()};
    }
    result.load_ms = MillisecondsSince(start);
    DescribePlacement(*session, result);
    result.warnings = session->warnings();
    Tolerance tolerance{.rtol = test.rtol, .atol = test.atol, .strict = test.states_tolerance};
    for (std::string_view op : kRandomOperators) {
      tolerance.values_unspecified = tolerance.values_unspecified || result.operators.contains(std::string(op));
    }
    std::vector<double> times;
    for (const fs::path& data_set : test.data_sets) RunDataSet(*session, data_set, tolerance, options, times);
    OnStackOf(options.stack, [&] { session.reset(); });
    result.run_ms = Median(std::move(times));
    result.outcome = Outcome::kPassed;
  } catch (const Failure& failure) {
    result.cause = failure.cause;
    result.message = failure.message;
  } catch (const std::exception& error) {
    result.cause = "data";
    result.message = error.what();
  }
  return result;
}

}  // namespace tessera::runner
