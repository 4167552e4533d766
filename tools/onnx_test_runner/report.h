#pragma once

#include <filesystem>
#include <span>

#include "test_case.h"

namespace tessera::runner {

/// Failures by cause and by operator, skips with their reasons, how many nodes each provider ran; with `statistics` also
/// times. The last line is exactly "N passed, N failed, N skipped".
void PrintSummary(std::span<const CaseResult> results, const Options& options);

/// JUnit XML, as CI systems read it.
void WriteJUnit(std::span<const CaseResult> results, const std::filesystem::path& path);

}  // namespace tessera::runner
