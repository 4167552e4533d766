#include "test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <mutex>
#include <regex>
#include <thread>

#include "case_json.h"
#include "compare.h"
#include "data_set/data_set.h"
#include "small_stack.h"
#include "special_values.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::runner {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Operators whose output the specification leaves to the generator: their cases are compared by type and shape.
constexpr std::array<std::string_view, 6> kRandomOperators = {"Bernoulli",     "Multinomial",      "RandomNormal",
                                                              "RandomUniform", "RandomNormalLike", "RandomUniformLike"};

/// Operators of which no text says whether NaN is larger than a number, or whether a key that a mask hides may spoil a sum.
constexpr std::array<std::string_view, 3> kOpenOperators = {"MaxPool", "GlobalMaxPool", "Attention"};

struct Failure {
  std::string cause;
  std::string message;
};

/// What the data set holds of these.
NamedValues Load(const fs::path& data_set, std::string_view role, std::span<const NamedType> declared,
                 std::span<const NamedType> more = {}) {
  try {
    return ReadDataSet(data_set, role, declared, more);
  } catch (const std::exception& error) {
    throw Failure{"data", error.what()};
  }
}

/// What a case's data sets are run on, and what their results are compared with.
struct Runs {
  const Session& session;
  const Session* reference;  // with --special-values; else null
  const Options& options;
  Tolerance tolerance;
  bool numbers_only;  // with --special-values: NaN and infinities are left out
  std::vector<double> times = {};
  double largest_error = 0;

  void Run(const fs::path& data_set);

 private:
  void RunSpecial(const fs::path& data_set, const NamedValues& inputs);
  std::optional<Failure> CompareAll(const std::string& where, std::span<const std::string> names,
                                    std::span<const Value> actual, std::span<const Value> expected);
};

std::optional<Failure> Runs::CompareAll(const std::string& where, std::span<const std::string> names,
                                        std::span<const Value> actual, std::span<const Value> expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto difference = Compare(actual[i], expected[i], tolerance, largest_error);
    if (difference)
      return Failure{difference->cause, fmt::format("{}, output {} '{}': {}", where, i, names[i], difference->message)};
  }
  return std::nullopt;
}

/// Runs one data set as often as asked for on each of the threads and compares every result.
void Runs::Run(const fs::path& data_set) {
  const NamedValues inputs = Load(data_set, "input", session.inputs(), session.overridable_initializers());
  if (reference != nullptr) return RunSpecial(data_set, inputs);
  const NamedValues expected = Load(data_set, "output", session.outputs());
  for (size_t i = 0; i < session.outputs().size(); ++i) {
    if (i < expected.names.size() && expected.names[i] == session.outputs()[i].name) continue;
    throw Failure{"data", fmt::format("{} holds {} outputs, the model has {}: output_{}.pb is missing", data_set.string(),
                                      expected.values.size(), session.outputs().size(), i)};
  }
  std::mutex mutex;
  std::optional<Failure> failure;
  const auto run = [&] {
    try {
      for (int i = 0; i < options.repeat; ++i) {
        const auto start = Clock::now();
        std::vector<Value> actual;
        OnStackOf(options.stack, [&] { actual = session.Run(inputs.names, inputs.values, expected.names); });
        const double time = MillisecondsSince(start);
        const std::lock_guard lock(mutex);
        times.push_back(time);
        failure = CompareAll(data_set.filename().string(), expected.names, actual, expected.values);
        if (failure) return;
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

/// Compares with what the CPU provider makes of the same inputs, among which stand numbers that formulas were not made for.
/// Where that refuses them, anything goes.
void Runs::RunSpecial(const fs::path& data_set, const NamedValues& inputs) {
  std::vector<std::string> names;
  for (const NamedType& output : session.outputs()) names.push_back(output.name);
  for (const SpecialValue& special : kSpecialValues) {
    if (numbers_only && !std::isfinite(special.number)) continue;
    const std::vector<Value> changed = WithSpecialValue(inputs.values, special);
    if (changed.empty()) continue;
    std::vector<Value> expected, actual;
    try {
      expected = reference->Run(inputs.names, changed);
    } catch (const Error&) {
      continue;
    }
    try {
      actual = session.Run(inputs.names, changed);
    } catch (const std::exception& error) {
      throw Failure{"run", fmt::format("with {}: {}", special.name, error.what())};
    }
    if (auto failure =
            CompareAll(fmt::format("{} with {}", data_set.filename().string(), special.name), names, actual, expected))
      throw *failure;
  }
}

void DescribePlacement(const Session& session, const Options& options, CaseResult& result) {
  const ProviderFactory* factory = FindProvider(options.provider);  // null: a library's
  const std::string_view provider = factory == nullptr ? std::string_view(options.provider) : factory->name;
  for (const auto& node : session.placement().nodes) {
    const std::string name = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    result.operators.insert(name);
    if (node.provider == provider) result.on_provider.insert(name);
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
      throw Error(ErrorCode::kNoSuchFile,
                  fmt::format("{} is not a folder; give folders that hold test cases", root.string()));
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
    DescribePlacement(*session, options, result);
    result.warnings = session->warnings();
    Tolerance tolerance{.rtol = test.rtol, .atol = test.atol, .strict = test.states_tolerance};
    for (std::string_view op : kRandomOperators) {
      tolerance.values_unspecified = tolerance.values_unspecified || result.operators.contains(std::string(op));
    }
    std::optional<Session> reference;
    SessionOptions on_cpu = options.session;
    on_cpu.providers = {{"cpu", {}}};
    if (options.special_values) reference.emplace(test.model, on_cpu);
    const bool is_open = std::ranges::any_of(
        kOpenOperators, [&](std::string_view op) { return result.operators.contains(std::string(op)); });
    Runs runs{*session, reference ? &*reference : nullptr, options, tolerance, is_open};
    for (const fs::path& data_set : test.data_sets) runs.Run(data_set);
    OnStackOf(options.stack, [&] { session.reset(); });
    result.run_ms = Median(std::move(runs.times));
    result.largest_error = runs.largest_error;
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
