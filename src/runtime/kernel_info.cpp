#include "runtime/kernel_info.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/memory/packed_store.h"
#include "runtime/memory/prepack_cache.h"
#include "runtime/subgraph.h"

namespace tessera {

SubgraphRunner& NodeKernelInfo::subgraph(std::string_view attribute) const {
  for (const Plan::Nested& nested : nested_) {
    if (nested.node == node_.index && nested.attribute == attribute) return *nested.runner;
  }
  Fail(ErrorCode::kInvalidGraph, "attribute '{}' must be a graph", attribute);
}

std::shared_ptr<const void> NodeKernelInfo::SharedPrepack(const Tensor& constant, std::string_view key,
                                                          const std::function<std::shared_ptr<const void>()>& make) const {
  if (!resources_.share_prepacked) return make();
  return PrepackCache::Process().GetOrMake(constant, key, make);
}

PackedStore* StoreOf(const KernelInfo& info) {
  const auto* of_node = dynamic_cast<const NodeKernelInfo*>(&info);
  return of_node == nullptr ? nullptr : of_node->packed_store();
}

std::string FormKey(const Tensor& constant, std::string_view key) {
  return fmt::format("{} of {}[{}]", key, ElementTypeName(constant.type()), fmt::join(constant.shape(), ","));
}

namespace {

/// A form that counts against the limit of the load that made it for as long as any session has it.
struct CountedForm {
  MemoryCharge charge;
  std::shared_ptr<const Tensor> form;
};

/// What `make` gives; `most` bytes are counted before it is made.
std::shared_ptr<const Tensor> MakeCounted(Allocator& memory, size_t most,
                                          const std::function<std::shared_ptr<const Tensor>()>& make) {
  auto counted = std::make_shared<CountedForm>();
  counted->charge = MemoryCharge(memory, most);
  counted->form = make();
  if (counted->form == nullptr) return nullptr;
  if (const size_t bytes = counted->form->byte_size(); bytes != most) {
    counted->charge = MemoryCharge();
    counted->charge = MemoryCharge(memory, bytes);
  }
  return {counted, counted->form.get()};
}

}  // namespace

std::shared_ptr<const Tensor> SharedTensor(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                           std::span<const ElementType> types, const Shape& shape,
                                           const std::function<std::shared_ptr<const Tensor>()>& make) {
  PackedStore* store = StoreOf(info);
  // One kernel's form may be of a type that another cannot read.
  std::string form = fmt::format("{} as [{}]", FormKey(constant, key), fmt::join(shape, ","));
  for (const ElementType type : types) fmt::format_to(std::back_inserter(form), " {}", ElementTypeName(type));
  if (store != nullptr) {
    if (auto held = store->Find(constant, form, types, shape)) return held;
  }
  size_t most = 0;
  for (const ElementType type : types) most = std::max(most, ByteSize(type, shape.num_elements()));
  auto made = std::static_pointer_cast<const Tensor>(info.SharedPrepack(
      constant, form, [&]() -> std::shared_ptr<const void> { return MakeCounted(info.allocator(), most, make); }));
  const bool fits =
      made != nullptr && made->shape() == shape && std::find(types.begin(), types.end(), made->type()) != types.end();
  if (store != nullptr && fits) store->Add(constant, form, made);
  return made;
}

}  // namespace tessera
