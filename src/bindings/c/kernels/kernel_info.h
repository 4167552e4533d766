#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/value.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"
#include "tessera/provider/kernel.h"

namespace tessera::c_abi {

/// What kernels of clients are told that a KernelInfo does not have. All of it lives as long as the session.
struct KernelServices {
  const OrtLogger* logger = nullptr;
  const std::map<std::string, std::string, std::less<>>* config = nullptr;  // the session's entries
  Allocator* device = nullptr;                                              // null: the provider's memory is the host's
  const OrtEp* ep = nullptr;                                                // null: the kernel is of no library's provider
  int since_version = 0;  // of the operator, where it is a client's; 0: as the node says
  /// A constant input where the kernel reads it; null: where it is. Only for the kernel's creation.
  std::function<Tensor(size_t input, const Tensor& constant)> place = nullptr;
};

/// What a kernel's node is, in terms that outlive the graph.
struct KernelNode {
  struct Value {
    std::string name;   // empty: omitted
    TypeInfo type;      // of kind kNone where it is not known
    OrtValue constant;  // none: it is computed in runs
  };

  std::string name, domain, op_type;
  int since_version = 0;
  std::vector<Attribute> attributes;  // defaults included, nested graphs not
  std::vector<Value> inputs, outputs;
};

}  // namespace tessera::c_abi

struct OrtKernelInfo {
  OrtKernelInfo(const tessera::KernelInfo& info, const tessera::c_abi::KernelServices& its_services);
  /// Outlives the kernel's creation.
  OrtKernelInfo(const OrtKernelInfo& other)
      : node(other.node), services(other.services), host(other.host), creation(nullptr) {}
  OrtKernelInfo& operator=(const OrtKernelInfo&) = delete;

  tessera::c_abi::Mark<OrtKernelInfo> mark;
  const std::shared_ptr<const tessera::c_abi::KernelNode> node;
  const tessera::c_abi::KernelServices services;
  tessera::Allocator& host;
  const tessera::KernelInfo* const creation;  // null in copies
};
