#include "case_json.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/regular_file.h"

namespace tessera::runner {

void ReadTolerance(const std::filesystem::path& path, TestCase& test) {
  if (!std::filesystem::exists(path)) return;
  const std::vector<std::byte> text = RegularFile(path).Read();
  const auto* begin = reinterpret_cast<const char*>(text.data());
  const auto json = nlohmann::json::parse(begin, begin + text.size());
  test.rtol = json.value("rtol", test.rtol);
  test.atol = json.value("atol", test.atol);
  test.states_tolerance = json.contains("rtol") || json.contains("atol");
}

std::string ToJson(const TestCase& test) {
  std::vector<std::string> data_sets;
  data_sets.reserve(test.data_sets.size());
  for (const std::filesystem::path& path : test.data_sets) data_sets.push_back(path.string());
  const nlohmann::json json = {{"name", test.name},
                               {"group", test.folder_group},
                               {"model", test.model.string()},
                               {"data_sets", data_sets},
                               {"rtol", test.rtol},
                               {"atol", test.atol},
                               {"states_tolerance", test.states_tolerance}};
  return json.dump();
}

TestCase TestCaseFromJson(const std::string& line) {
  const auto json = nlohmann::json::parse(line);
  TestCase test;
  test.name = json.at("name");
  test.folder_group = json.at("group");
  test.model = json.at("model").get<std::string>();
  for (const std::string path : json.at("data_sets")) test.data_sets.emplace_back(path);
  test.rtol = json.at("rtol");
  test.atol = json.at("atol");
  test.states_tolerance = json.at("states_tolerance");
  return test;
}

std::string ToJson(const CaseResult& result) {
  const nlohmann::json json = {{"name", result.name},
                               {"group", result.group},
                               {"outcome", static_cast<int>(result.outcome)},
                               {"cause", result.cause},
                               {"message", result.message},
                               {"operators", result.operators},
                               {"nodes", result.nodes_per_provider},
                               {"on_provider", result.on_provider},
                               {"warnings", result.warnings},
                               {"load_ms", result.load_ms},
                               {"run_ms", result.run_ms},
                               {"largest_error", result.largest_error}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CaseResult CaseResultFromJson(const std::string& line) {
  const auto json = nlohmann::json::parse(line);
  CaseResult result;
  result.name = json.at("name");
  result.group = json.at("group");
  result.outcome = static_cast<Outcome>(json.at("outcome").get<int>());
  result.cause = json.at("cause");
  result.message = json.at("message");
  result.warnings = json.at("warnings").get<std::vector<std::string>>();
  result.operators = json.at("operators").get<std::set<std::string>>();
  result.on_provider = json.at("on_provider").get<std::set<std::string>>();
  result.nodes_per_provider = json.at("nodes").get<std::map<std::string, size_t>>();
  result.load_ms = json.at("load_ms");
  result.run_ms = json.at("run_ms");
  result.largest_error =
      json.at("largest_error").is_null() ? std::numeric_limits<double>::infinity() : json.at("largest_error").get<double>();
  return result;
}

}  // namespace tessera::runner
