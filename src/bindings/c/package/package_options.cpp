#include "bindings/c/package/package_options.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "base/check.h"
#include "bindings/c/context_keys.h"
#include "runtime/threads/thread_pools.h"
#include "session/provider_options.h"
#include "tessera/providers/names.h"

namespace tessera::c_abi {
namespace {

constexpr std::string_view kWeightsFolder = "session.model_external_initializers_file_folder_path";
constexpr std::string_view kThreads = "session.intra_op_num_threads";

/// They write nothing, name no file, lift no limit and start no threads.
constexpr std::string_view kTaken[] = {
    "session.graph_optimization_level",
    "session.enable_mem_pattern",
    "session.enable_cpu_mem_arena",
    "session.use_per_session_threads",
    "session.use_deterministic_compute",
    "session.load_model_format",
    "session.disable_prepacking",
    "session.set_denormal_as_zero",
    "session.disable_cpu_ep_fallback",
    "session.disable_model_compile",
    "session.intra_op.allow_spinning",
    "session.force_spinning_stop",
    "session.record_ep_graph_assignment_info",
    "session.qdq_matmulnbits_accuracy_level",
    "session.precision",
    "session.round_halves",
    "session.min_island_nodes",
    "session.strict_attributes",
    "session.ignore_unknown_dimensions",
    "session.ignore_unknown_initializers",
    "session.map_files",
};

/// Left out they would be missed, or harm who takes the package elsewhere.
constexpr std::string_view kRefused[] = {
    "session.enable_profiling",
    "session.optimized_model_filepath",
    "session.debug_layout_transformation",
    "session.collect_node_memory_stats_to_file",
    "session.load_memory_limit",
    "session.run_memory_limit",
    "session.log_id",
};
constexpr std::string_view kContextPrefix = "session.context_";  // what a context holds is believed

/// Of providers that are built in, those by which they compute.
constexpr std::string_view kOfOpencl[] = {"arena_extend_strategy", "enable_fp16", "kernels", "winograd"};
constexpr std::string_view kOfOnednn[] = {"claims", "precision"};

template <class Names>
bool Has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

bool IsRefused(std::string_view key) { return Has(kRefused, key) || key.starts_with(kContextPrefix); }

/// Nothing for providers whose options are not known here. The CPU provider has none, and gets none.
std::optional<std::span<const std::string_view>> KnownOf(const std::optional<std::string>& provider) {
  if (provider == kOpenclProvider) return kOfOpencl;
  if (provider == kOnednnProvider) return kOfOnednn;
  return std::nullopt;
}

/// Whether a provider may take the option for a place in the file system, which need not be the package's.
bool LooksLikePath(std::string_view key, std::string_view value) {
  const std::string name = AsciiLower(key);
  for (const std::string_view end : {"path", "paths", "dir", "dirs", "directory", "folder", "file", "files", "filename",
                                     "library", "libraries", "lib"}) {
    if (name.ends_with(end)) return true;
  }
  return value.find_first_of("/\\") != value.npos || value.ends_with(".so");
}

void CheckOfProvider(const PackageVariant& variant, std::string_view where) {
  const auto known = KnownOf(variant.provider);
  for (const auto& [key, value] : variant.provider_options) {
    if (LooksLikePath(key, value)) {
      Fail(ErrorCode::kFail,
           "the provider's option '{}' in {} names a file, a folder or a library, which is for the program to do: take it "
           "out of "
           "the package, and set it where the provider is appended",
           key, where);
    }
    if (known && !Has(*known, key)) {
      Fail(ErrorCode::kFail,
           "the option '{}' of {} in {} is for the program to set (packages may set: {}): take it out of the package", key,
           *variant.provider, where, JoinNames(*known, [](std::string_view name) { return name; }));
    }
  }
}

}  // namespace

bool IsPathOption(std::string_view key) { return key == kWeightsFolder || key == kCompiledPath; }

bool IsTaken(std::string_view key, std::string_view value) {
  if (key == kThreads) {
    const std::optional<int64_t> threads = ParseInt(value);
    return threads && *threads >= 0 && *threads <= UsableCores();
  }
  return Has(kTaken, key) || IsPathOption(key);
}

void TakePackageOptions(PackageVariant& variant, const PackagePlaces& places, const std::filesystem::path& base,
                        std::string_view where) {
  for (auto& [key, value] : variant.session_options) {
    if (IsRefused(key)) {
      Fail(ErrorCode::kFail,
           "'{}' is set by {}, which is for the program to do: take it out of the package, and set it in the session's "
           "options",
           key, where);
    }
    if (value.empty()) continue;
    if (IsPathOption(key)) value = places.Resolve(base, value, false).string();
    // It is left out, but tells that the package is not as it should be.
    if (key == kCompiledWeights) places.Resolve(base, value, false);
  }
  CheckOfProvider(variant, where);
}

}  // namespace tessera::c_abi
