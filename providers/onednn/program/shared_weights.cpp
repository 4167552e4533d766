#include "onednn/program/shared_weights.h"

#include <algorithm>
#include <utility>

#include "base/live_cache.h"
#include "base/mapped_file.h"
#include "base/weight_memory.h"
#include "onednn/program/program.h"
#include "onednn/program/team_size.h"
#include "runtime/memory/packed_store.h"
#include "runtime/threads/openmp.h"

namespace tessera::onednn {
namespace {

using Weights = std::shared_ptr<const dnnl::memory>;

/// A memory that keeps something alive with it.
template <class Owner>
Weights Keep(dnnl::memory memory, Owner owner) {
  struct Holder {
    dnnl::memory memory;
    Owner owner;
  };
  auto holder = std::make_shared<Holder>(Holder{std::move(memory), std::move(owner)});
  return Weights(holder, &holder->memory);
}

std::span<float> Floats(const dnnl::memory& memory) {
  return {static_cast<float*>(memory.get_data_handle()), memory.get_desc().get_size() / sizeof(float)};
}

Shape BytesOf(const Desc& desc) { return Shape{static_cast<int64_t>(desc.get_size())}; }

/// A memory over a tensor of bytes, which lives as long.
Weights Over(const Desc& desc, std::shared_ptr<const Tensor> bytes) {
  dnnl::memory memory(desc, CpuEngine(), const_cast<void*>(bytes->raw()));
  return Keep(std::move(memory), std::move(bytes));
}

}  // namespace

/// Bytes for a form of a weight, counted before they are taken.
std::shared_ptr<Tensor> SharedWeights::NewBytes(const Desc& desc) const {
  struct Counted {
    MemoryCharge charge;
    Tensor bytes;
  };
  auto counted = std::make_shared<Counted>();
  counted->charge = MemoryCharge(memory_, desc.get_size());
  counted->bytes = Tensor(ElementType::kUInt8, BytesOf(desc), WeightMemory());
  return {counted, &counted->bytes};
}

/// The memory that `make` writes: from the context, or anew and then for the context. `source` is a constant as the model
/// has it, else the context knows nothing of it.
template <class Make>
Weights SharedWeights::FromContext(const Weights& source, const std::string& what, const Desc& desc,
                                   const Make& make) const {
  const auto constant =
      Tensor::ShareUnaligned(ElementType::kUInt8, BytesOf(source->get_desc()), source->get_data_handle(), source);
  if (packed_ != nullptr) {
    constexpr ElementType kBytes[] = {ElementType::kUInt8};
    if (auto held = packed_->Find(constant, what, kBytes, BytesOf(desc))) return Over(desc, std::move(held));
  }
  auto bytes = NewBytes(desc);
  dnnl::memory target(desc, CpuEngine(), bytes->mutable_raw());
  make(target);
  ForgetPages(source->get_data_handle(), source->get_desc().get_size());
  if (packed_ != nullptr) packed_->Add(constant, what, bytes);
  return Over(desc, std::move(bytes));
}

/// What `make` writes from `source`, made once per key while it lives.
template <class Make>
Weights SharedWeights::MadeOnce(const Weights& source, const std::string& what, const Desc& desc, const Make& make) const {
  // While a value lives it holds its source, so that the source's address names one weight only.
  using Key = std::pair<const void*, std::string>;
  static LiveCache<Key>& cache = *new LiveCache<Key>;
  return std::static_pointer_cast<const dnnl::memory>(cache.GetOrMake({source->get_data_handle(), what}, nullptr, [&] {
    const Weights content = FromContext(source, what, desc, make);
    return Keep(*content, std::pair(source, content));
  }));
}

Weights SharedWeights::Plain(const Tensor& tensor, const Desc& desc) {
  return Keep(dnnl::memory(desc, CpuEngine(), const_cast<void*>(tensor.unaligned_raw())), tensor);
}

Weights SharedWeights::Aligned(const Weights& source) const {
  const bool aligned = reinterpret_cast<uintptr_t>(source->get_data_handle()) % alignof(float) == 0;
  return aligned ? source : InLayout(source, source->get_desc());
}

Weights SharedWeights::InLayout(const Weights& source, const Desc& desc) const {
  return MadeOnce(source, LayoutKey(source->get_desc()) + LayoutKey(desc), desc, [&](dnnl::memory& target) {
    dnnl::stream stream(CpuEngine());
    dnnl::memory from = *source;
    // Starting a team takes longer than a small weight.
    constexpr size_t kParallelBytes = 1 << 20;
    const TeamSize team(desc.get_size() < kParallelBytes ? 1 : omp_get_max_threads());
    dnnl::reorder(from, target).execute(stream, from, target);
    stream.wait();
  });
}

Weights SharedWeights::Converted(std::string_view operation, const Weights& source, const Desc& desc,
                                 const std::function<void(std::span<const float>, std::span<float>)>& make) const {
  return ConvertedBytes(operation, source, desc, [&](const std::byte* from, std::byte* to) {
    make({reinterpret_cast<const float*>(from), source->get_desc().get_size() / sizeof(float)},
         {reinterpret_cast<float*>(to), desc.get_size() / sizeof(float)});
  });
}

Weights SharedWeights::ConvertedBytes(std::string_view operation, const Weights& source, const Desc& desc,
                                      const std::function<void(const std::byte*, std::byte*)>& make) const {
  const std::string key = LayoutKey(source->get_desc()) + LayoutKey(desc) + std::string(operation);
  return MadeOnce(source, key, desc, [&](dnnl::memory& target) {
    make(static_cast<const std::byte*>(source->get_data_handle()), static_cast<std::byte*>(target.get_data_handle()));
  });
}

Weights SharedWeights::Viewed(const Weights& source, const Desc& desc) {
  return Keep(dnnl::memory(desc, CpuEngine(), source->get_data_handle()), source);
}

Weights SharedWeights::Derived(const std::string& key, std::vector<Tensor> sources, const Desc& desc,
                               const std::function<void(std::span<float>)>& make) const {
  static LiveCache<std::string>& cache = *new LiveCache<std::string>;
  return std::static_pointer_cast<const dnnl::memory>(cache.GetOrMake(key, nullptr, [&] {
    auto bytes = NewBytes(desc);
    const dnnl::memory memory(desc, CpuEngine(), bytes->mutable_raw());
    make(Floats(memory));
    for (const Tensor& source : sources) ForgetPages(source.unaligned_raw(), source.byte_size());
    return Keep(memory, std::pair(std::move(sources), std::move(bytes)));
  }));
}

}  // namespace tessera::onednn
