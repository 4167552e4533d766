#pragma once

// Cases and results as lines of JSON, how runner and workers exchange them, and the cases' own JSON files.

#include <filesystem>
#include <string>

#include "test_case.h"

namespace tessera::runner {

/// Takes over what the file says, when there is one.
void ReadTolerance(const std::filesystem::path& path, TestCase& test);

std::string ToJson(const TestCase& test);
TestCase TestCaseFromJson(const std::string& line);
/// Messages may quote bytes of hostile models: invalid UTF-8 is replaced.
std::string ToJson(const CaseResult& result);
CaseResult CaseResultFromJson(const std::string& line);

}  // namespace tessera::runner
