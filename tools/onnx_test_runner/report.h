#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "test_case.h"

namespace tessera::runner {

/// What the results lack of --expect-passed and --least-share, in sentences: that no case failed says little when too few
/// ran, or when CPU ran them all.
std::vector<std::string> Shortfalls(std::span<const CaseResult> results, const Options& options);

/// Failures by cause and by operator, skips with their reasons, how many nodes each provider ran, then `remarks`; with
/// `statistics` also times. The last line is exactly "N passed, N failed, N skipped".
void PrintSummary(std::span<const CaseResult> results, const Options& options, std::span<const std::string> remarks);

/// JUnit XML, as CI systems read it. False when the file cannot be written.
bool WriteJUnit(std::span<const CaseResult> results, const std::filesystem::path& path);

}  // namespace tessera::runner
