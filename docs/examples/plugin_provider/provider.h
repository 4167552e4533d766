#pragma once

#include <atomic>
#include <string>

#include "api.h"
#include "registry.h"

namespace teaching {

/// The provider of one session: says what it takes of the session's graphs, and compiles that.
class Provider : public OrtEp {
 public:
  Provider(const Api& api, const OrtSessionOptions& options, const OrtLogger& logger);

 private:
  bool Chosen(const OrtSessionOptions& options, const std::string& option) const;
  void Claim(const OrtGraph& graph, OrtEpGraphSupportInfo& support);
  void CompileGroups(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count, OrtNodeComputeInfo** infos);
  void SetOption(const std::string& key, const std::string& value);
  void Log(const std::string& text) const;

  const Api api_;
  const OrtLogger& logger_;  // the session's
  const bool compiles_, has_kernels_;
  const Registry registry_;
  std::atomic<bool> log_runs_{false};
  std::atomic<uint64_t> runs_{0};
};

}  // namespace teaching
