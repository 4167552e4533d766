#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "options.h"

namespace tessera::runner {

/// One model with its data sets: FOLDER/model.onnx (or the only *.onnx there) and FOLDER/test_data_set_*/.
struct TestCase {
  std::string name;          // the folder's name
  std::string folder_group;  // the folder that was asked for, to tell equal names apart
  std::filesystem::path model;
  std::vector<std::filesystem::path> data_sets;
  double rtol = 1e-3;
  double atol = 1e-7;
  bool states_tolerance = false;  // its tolerance.json or the command line does
};

enum class Outcome { kPassed, kFailed, kSkipped };

struct CaseResult {
  std::string name;
  std::string group;
  Outcome outcome = Outcome::kFailed;
  std::string cause;    // one of a few words: "load", "run", "shape", "type", "values", "crash", "timeout", "data", or a
                        // skip's reason
  std::string message;  // whole
  std::vector<std::string> warnings;  // the session's
  std::set<std::string> operators;
  std::set<std::string> on_provider;  // those that ran on the provider of -e
  std::map<std::string, size_t> nodes_per_provider;
  double load_ms = 0;
  double run_ms = 0;         // median of the runs
  double largest_error = 0;  // of a number beside the expected one
};

/// Every case below the folders, sorted by path. Throws Error when a folder does not exist.
std::vector<TestCase> FindCases(const Options& options);

/// Loads, runs and compares; never throws.
CaseResult RunCase(const TestCase& test, const Options& options);

}  // namespace tessera::runner
