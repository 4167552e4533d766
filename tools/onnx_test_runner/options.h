#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tessera/session.h"

namespace tessera::runner {

struct Options {
  std::vector<std::filesystem::path> folders;
  SessionOptions session;
  std::string provider = "cpu";
  int jobs = 1;        // cases at a time
  int concurrent = 1;  // threads that call Run on one session
  int repeat = 1;      // runs of each data set
  int stack = 0;       // KiB of the threads that load models, run and unload them; 0: the system's
  std::optional<double> rtol;
  std::optional<double> atol;
  std::string name_pattern;  // ECMAScript regular expression that a case's name must contain
  std::filesystem::path skip_list;
  std::filesystem::path junit;
  int timeout_seconds = 0;  // per case, in isolation
  std::optional<int> expect_passed;
  bool every_operator = false;  // the provider must run each of its operators in some case
  double least_share = 0;       // percent of the cases in which the provider must run a node
  bool special_values = false;  // compare with the CPU provider on inputs with NaN, infinities and the like
  bool isolate = false;
  bool worker = false;
  bool statistics = false;
  int verbosity = 0;
};

}  // namespace tessera::runner
