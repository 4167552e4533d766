#pragma once

#include <functional>
#include <span>
#include <vector>

#include "test_case.h"

namespace tessera::runner {

/// Runs cases in worker processes (this program again, with --worker), options.jobs at a time: a case that crashes or hangs
/// fails alone. `arguments` are this program's own; `done` is called as each case ends, one call at a time.
void RunIsolated(std::span<const TestCase> cases, const Options& options, const std::vector<std::string>& arguments,
                 const std::function<void(CaseResult)>& done);

/// The worker's side: reads a case per line of standard input, writes a result per line of standard output.
int WorkerMain(const Options& options);

}  // namespace tessera::runner
