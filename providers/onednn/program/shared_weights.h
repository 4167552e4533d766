#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onednn/program/program.h"
#include "tessera/value.h"

namespace tessera {
class PackedStore;
}

namespace tessera::onednn {

/// Constants as oneDNN memories. A weight in one layout exists once in the process, however many sessions and programs use
/// it, and goes with the last of them. What is made from a model's constants while a session loads comes from its context,
/// or is added to it.
class SharedWeights {
 public:
  /// `memory`: what is made counts there, for as long as anybody has it. `packed`: null without a context.
  SharedWeights(Allocator& memory, PackedStore* packed) noexcept : memory_(memory), packed_(packed) {}

  /// Looks at the tensor's own bytes, which need not be aligned, and keeps them alive.
  static std::shared_ptr<const dnnl::memory> Plain(const Tensor& tensor, const Desc& desc);
  /// `source` reordered; made once per layout.
  std::shared_ptr<const dnnl::memory> InLayout(const std::shared_ptr<const dnnl::memory>& source, const Desc& desc) const;
  /// What `make` writes from the source's elements, which need not be aligned; made once per operation while it lives.
  std::shared_ptr<const dnnl::memory> Converted(
      std::string_view operation, const std::shared_ptr<const dnnl::memory>& source, const Desc& desc,
      const std::function<void(std::span<const float>, std::span<float>)>& make) const;
  /// The same for elements of any type, as bytes.
  std::shared_ptr<const dnnl::memory> ConvertedBytes(std::string_view operation,
                                                     const std::shared_ptr<const dnnl::memory>& source, const Desc& desc,
                                                     const std::function<void(const std::byte*, std::byte*)>& make) const;
  /// `source` where it is aligned to its elements, else a copy that is; made once.
  std::shared_ptr<const dnnl::memory> Aligned(const std::shared_ptr<const dnnl::memory>& source) const;
  /// The same bytes under another description.
  static std::shared_ptr<const dnnl::memory> Viewed(const std::shared_ptr<const dnnl::memory>& source, const Desc& desc);
  /// A copy of `values`, which are of the description's type.
  template <class T>
  static std::shared_ptr<const dnnl::memory> Made(const Desc& desc, std::span<const T> values) {
    dnnl::memory memory(desc, CpuEngine());
    std::copy(values.begin(), values.end(), static_cast<T*>(memory.get_data_handle()));
    return std::make_shared<const dnnl::memory>(std::move(memory));
  }
  /// What `make` writes, in plain layout, from `sources`; made once per key while it lives. The key names the operation
  /// and, by address, the sources, which are kept alive.
  std::shared_ptr<const dnnl::memory> Derived(const std::string& key, std::vector<Tensor> sources, const Desc& desc,
                                              const std::function<void(std::span<float>)>& make) const;

 private:
  std::shared_ptr<Tensor> NewBytes(const Desc& desc) const;
  template <class Make>
  std::shared_ptr<const dnnl::memory> FromContext(const std::shared_ptr<const dnnl::memory>& source,
                                                  const std::string& what, const Desc& desc, const Make& make) const;
  template <class Make>
  std::shared_ptr<const dnnl::memory> MadeOnce(const std::shared_ptr<const dnnl::memory>& source, const std::string& what,
                                               const Desc& desc, const Make& make) const;

  Allocator& memory_;
  PackedStore* const packed_;
};

}  // namespace tessera::onednn
