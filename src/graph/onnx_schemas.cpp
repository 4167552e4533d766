#include "graph/onnx_schemas.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/fork.h"
#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"
#include "onnx/defs/operator_sets_preview.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

/// Domains as the names of the schemas' classes have them; the preview's schemas are of several.
enum class SchemaSet { Onnx, OnnxML, OnnxPreview };

struct SchemaEntry {
  SchemaSet set;
  std::string_view op_type;
  int version;
  onnx::OpSchema (*make)();

  friend constexpr bool operator<(const SchemaEntry& a, const SchemaEntry& b) {
    if (a.op_type != b.op_type) return a.op_type < b.op_type;
    return a.version < b.version;
  }
};

constexpr auto kEntries = [] {
  auto entries = std::to_array<SchemaEntry>({
#define ONNX_SCHEMA(set, version, op_type)       \
  SchemaEntry{SchemaSet::set, #op_type, version, \
              &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(set, version, op_type)>},
#include "onnx_schemas.inc"
#undef ONNX_SCHEMA
  });
  std::sort(entries.begin(), entries.end());
  return entries;
}();

/// The entry's schema, which is made when it is asked for the first time.
const onnx::OpSchema& SchemaOf(const SchemaEntry& entry) {
  static std::array<std::atomic<const onnx::OpSchema*>, kEntries.size()> made;
  static ForkMutex& mutex = *new ForkMutex;
  std::atomic<const onnx::OpSchema*>& slot = made[static_cast<size_t>(&entry - kEntries.data())];
  if (const onnx::OpSchema* known = slot.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(mutex);
  if (slot.load(std::memory_order_relaxed) == nullptr) {
    auto schema = std::make_unique<onnx::OpSchema>(entry.make());
    schema->Finalize();
    slot.store(schema.release(), std::memory_order_release);
  }
  return *slot.load(std::memory_order_relaxed);
}

bool MayDefine(SchemaSet set, std::string_view domain) noexcept {
  switch (set) {
    case SchemaSet::Onnx: return domain.empty();
    case SchemaSet::OnnxML: return domain == "ai.onnx.ml";
    default: return domain.starts_with("ai.onnx.preview");
  }
}

}  // namespace

const onnx::OpSchema* FindOnnxSchema(std::string_view op_type, int opset, std::string_view domain) {
  const auto by_name = [](const SchemaEntry& entry, std::string_view name) { return entry.op_type < name; };
  const SchemaEntry* newest = nullptr;
  for (auto entry = std::lower_bound(kEntries.begin(), kEntries.end(), op_type, by_name);
       entry != kEntries.end() && entry->op_type == op_type && entry->version <= opset; ++entry) {
    if (MayDefine(entry->set, domain)) newest = &*entry;
  }
  if (newest == nullptr) return nullptr;
  const onnx::OpSchema& schema = SchemaOf(*newest);
  return schema.domain() == domain ? &schema : nullptr;
}

}  // namespace tessera
