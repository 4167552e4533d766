#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "terminal.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::runner {
namespace {

int64_t Count(std::span<const CaseResult> results, Outcome outcome) {
  return std::count_if(results.begin(), results.end(), [&](const CaseResult& r) { return r.outcome == outcome; });
}

void PrintFailures(std::span<const CaseResult> results) {
  std::map<std::string, std::vector<std::string>> by_cause;
  std::map<std::string, int> by_operator;
  for (const CaseResult& result : results) {
    if (result.outcome != Outcome::kFailed) continue;
    by_cause[result.cause].push_back(result.name);
    for (const std::string& op : result.operators) ++by_operator[op];
  }
  if (by_cause.empty()) return;
  Print("\nFailures by cause:\n");
  constexpr size_t kMostNames = 8;
  for (const auto& [cause, names] : by_cause) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames));
    Print("  {:<8} {:>5}  {}{}\n", cause, names.size(), fmt::format("{}", fmt::join(names.begin(), end, " ")),
          end == names.end() ? "" : " ...");
  }
  Print("Failed cases by operator in the model:\n");
  for (const auto& [op, count] : by_operator) Print("  {:<32} {:>5}\n", op, count);
}

void PrintPlacement(std::span<const CaseResult> results) {
  std::map<std::string, size_t> nodes, cases, whole;
  for (const CaseResult& result : results) {
    for (const auto& [provider, count] : result.nodes_per_provider) {
      nodes[provider] += count;
      ++cases[provider];
      whole[provider] += result.nodes_per_provider.size() == 1 ? 1 : 0;
    }
  }
  if (nodes.empty()) return;
  Print("\nPlacement:\n");
  for (const auto& [provider, count] : nodes) {
    Print("  {:<28} {:>6} nodes in {} of {} cases, {} of them whole\n", provider, count, cases[provider], results.size(),
          whole[provider]);
  }
}

void PrintSkips(std::span<const CaseResult> results) {
  for (const CaseResult& result : results) {
    if (result.outcome == Outcome::kSkipped) Print("skipped {}: {}\n", result.name, result.cause);
  }
}

void PrintTimes(std::span<const CaseResult> results) {
  std::vector<const CaseResult*> slowest;
  double load = 0, run = 0;
  for (const CaseResult& result : results) {
    slowest.push_back(&result);
    load += result.load_ms;
    run += result.run_ms;
  }
  std::sort(slowest.begin(), slowest.end(), [](auto* a, auto* b) { return a->run_ms > b->run_ms; });
  Print("\nTimes: {:.1f} ms loading, {:.1f} ms running (medians added up); slowest runs:\n", load, run);
  for (size_t i = 0; i < std::min<size_t>(slowest.size(), 10); ++i) {
    Print("  {:<56} load {:>9.3f} ms  run {:>9.3f} ms\n", slowest[i]->name, slowest[i]->load_ms, slowest[i]->run_ms);
  }
}

/// The name that placements give the provider of -e.
std::string PlacementName(std::string_view asked) {
  const ProviderFactory* factory = FindProvider(asked);
  return std::string(factory == nullptr ? asked : factory->name);
}

/// What the provider has a kernel for, or compiles, and ran in no case. The optimizer's own operators stand in no model.
std::set<std::string> OperatorsThatNeverRan(std::span<const CaseResult> results, const Options& options) {
  std::set<std::string> left;
  const auto add = [&](std::string_view domain, std::string_view op_type) {
    if (domain != "ai.tessera") left.insert(domain.empty() ? std::string(op_type) : fmt::format("{}.{}", domain, op_type));
  };
  const ProviderFactory* factory = FindProvider(options.provider);
  if (factory == nullptr) return left;  // a library's: nobody knows what it takes before it is asked
  ProviderOptions defaults;
  for (const OptionSchema& option : factory->options) defaults.emplace(option.name, option.default_value);
  const std::unique_ptr<ExecutionProvider> provider = factory->create(defaults);
  for (const KernelDef* kernel : provider->kernels().definitions()) add(kernel->domain(), kernel->op_type());
  for (const CompiledOperator& compiled : provider->CompiledOperators()) add(compiled.domain, compiled.op_type);
  for (const CaseResult& result : results) {
    for (const std::string& op : result.on_provider) left.erase(op);
  }
  return left;
}

}  // namespace

std::vector<std::string> Shortfalls(std::span<const CaseResult> results, const Options& options) {
  std::vector<std::string> shortfalls;
  const int64_t passed = Count(results, Outcome::kPassed);
  if (options.expect_passed && passed != *options.expect_passed) {
    shortfalls.push_back(fmt::format("{} cases passed, --expect-passed says {}", passed, *options.expect_passed));
  }
  const std::string provider = PlacementName(options.provider);
  const int64_t run = std::ssize(results) - Count(results, Outcome::kSkipped);
  const int64_t took_part = std::count_if(results.begin(), results.end(),
                                          [&](const CaseResult& r) { return r.nodes_per_provider.contains(provider); });
  const double share = run == 0 ? 0 : 100.0 * static_cast<double>(took_part) / static_cast<double>(run);
  if (share < options.least_share) {
    shortfalls.push_back(fmt::format("{} ran nodes in {} of {} cases ({:.1f} %), --least-share asks for {} %", provider,
                                     took_part, run, share, options.least_share));
  }
  if (options.every_operator) {
    const std::set<std::string> left = OperatorsThatNeverRan(results, options);
    if (!left.empty())
      shortfalls.push_back(fmt::format("{} ran no {} (--every-operator)", provider, fmt::join(left, ", no ")));
  }
  return shortfalls;
}

void PrintSummary(std::span<const CaseResult> results, const Options& options, std::span<const std::string> remarks) {
  PrintPlacement(results);
  if (options.statistics) PrintTimes(results);
  PrintSkips(results);
  PrintFailures(results);
  for (const std::string& remark : remarks) Print("{}\n", remark);
  Print("{} passed, {} failed, {} skipped\n", Count(results, Outcome::kPassed), Count(results, Outcome::kFailed),
        Count(results, Outcome::kSkipped));
}

bool WriteJUnit(std::span<const CaseResult> results, const std::filesystem::path& path) {
  pugi::xml_document document;
  std::map<std::string, std::vector<const CaseResult*>> groups;
  for (const CaseResult& result : results) groups[result.group].push_back(&result);
  pugi::xml_node root = document.append_child("testsuites");
  for (const auto& [group, members] : groups) {
    pugi::xml_node suite = root.append_child("testsuite");
    suite.append_attribute("name") = group.c_str();
    suite.append_attribute("tests") = static_cast<unsigned long long>(members.size());
    const auto count = [&](Outcome outcome) {
      return static_cast<unsigned long long>(
          std::count_if(members.begin(), members.end(), [&](const CaseResult* r) { return r->outcome == outcome; }));
    };
    suite.append_attribute("failures") = count(Outcome::kFailed);
    suite.append_attribute("skipped") = count(Outcome::kSkipped);
    for (const CaseResult* result : members) {
      pugi::xml_node test = suite.append_child("testcase");
      test.append_attribute("classname") = group.c_str();
      test.append_attribute("name") = Printable(result->name).c_str();
      test.append_attribute("time") = (result->load_ms + result->run_ms) / 1000;
      if (result->outcome == Outcome::kPassed) continue;
      pugi::xml_node child = test.append_child(result->outcome == Outcome::kFailed ? "failure" : "skipped");
      child.append_attribute("message") = Printable(result->cause).c_str();
      child.text() = PrintableLines(result->message).c_str();
    }
  }
  return document.save_file(path.c_str());
}

}  // namespace tessera::runner
