#pragma once

#include <map>
#include <string>

namespace tessera::testing {

/// What the scheduler has counted of each other thread of this process: whether it sleeps, how long it ran and waited for a
/// core, and how often it was given one. Two that are alike, with all asleep, tell that no thread ran in between. Empty
/// where the kernel does not count.
std::map<std::string, std::string> ThreadActivity();

/// Every other thread of the process is asleep, and stays so. Waits for those that are still on their way to it.
bool AllThreadsSleep();

}  // namespace tessera::testing
