#include "onednn/program/implementations.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/log.h"

namespace tessera::onednn {

using Clock = std::chrono::steady_clock;

std::string_view NamedImplementation(const Node& node) {
  const std::string_view name = node.hints.algorithm;
  return name.starts_with(kImplementationPrefix) ? name.substr(kImplementationPrefix.size()) : std::string_view();
}

double TimeOf(const dnnl::primitive& primitive, const std::vector<std::pair<int, Desc>>& arguments) {
  constexpr int kFewest = 3, kMost = 20;
  constexpr double kEnoughNs = 10e6;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> list;
  for (const auto& [argument, desc] : arguments) {
    memories.emplace_back(desc, CpuEngine());
    if (desc.get_size() > 0) std::memset(memories.back().get_data_handle(), 0, desc.get_size());
    list.push_back({argument, memories.back().get()});
  }
  dnnl::stream stream(CpuEngine());
  double fastest = std::numeric_limits<double>::infinity(), total = 0;
  for (int run = 0; run < kMost && (run < kFewest || total < kEnoughNs); ++run) {
    const auto start = Clock::now();
    if (dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(list.size()), list.data()) != dnnl_success) {
      return std::numeric_limits<double>::infinity();
    }
    stream.wait();
    const double taken = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    fastest = std::min(fastest, taken);
    total += taken;
  }
  return fastest;
}

double TimeOfReorder(const Desc& from, const Desc& to) {
  if (from == to) return 0;
  const dnnl::reorder::primitive_desc pd(CpuEngine(), from, CpuEngine(), to);
  return TimeOf(dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void TellMissing(const ProgramBuilder& builder, const Node& node, std::string_view wanted, std::string_view usual) {
  const std::string& value = builder.region().value(node.outputs[0]).name;
  Logger()(LogLevel::kWarning,
           "oneDNN has no implementation '{}' of the {} that makes '{}', which timing chose: '{}' computes it", wanted,
           node.op_type, value, usual);
}

}  // namespace tessera::onednn
