#pragma once

// What a session found out about a model, kept for the next one: the optimized graph and the packed weights.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "runtime/memory/packed_store.h"
#include "session/context/context_file.h"
#include "tessera/session.h"

namespace tessera {

/// What a context depends on, by name: a session uses one only when all of it is equal.
using ContextConditions = std::vector<std::pair<std::string, std::string>>;

/// Version and build of this library and what the processor can do.
void AddBuildConditions(ContextConditions& conditions);

/// The context of one session: read or recorded while it loads, written once it has.
class ContextCache final : public PackedStore {
 public:
  /// `model`: the file it comes from, empty for bytes. `conditions` must tell what is in it. `embed`: constants are written
  /// into it even where they lie in the model's files.
  /// `copy_to`: where its file is copied when it is read; null: it is mapped.
  ContextCache(std::filesystem::path path, std::filesystem::path model, ContextConditions conditions, bool embed = false,
               Allocator* copy_to = nullptr)
      : path_(std::move(path)),
        model_(std::move(model)),
        conditions_(std::move(conditions)),
        embed_(embed),
        copy_to_(copy_to) {}

  /// What was found out, but for the packed weights.
  struct Content {
    Model model;
    std::vector<std::pair<std::string, std::string>> left_out;  // providers, and why
  };
  /// The optimized model, its constants mapped, when the file holds it; else nothing, and report() says why.
  std::optional<Content> Read(ThreadPool& threads, const LoadOptions& options, OptimizationReport& optimization);
  /// Nothing that was read is used after all.
  void Reject(const std::string& why);

  /// Remembers an optimized model, to be written.
  void Record(const Model& model, const OptimizationReport& optimization,
              std::span<const std::pair<std::string, std::string>> left_out = {});
  /// Writes what was recorded; report() says where, or why not.
  void Write(ThreadPool& threads, const LoadLimits& limits);

  const ContextReport& report() const noexcept { return report_; }
  const std::filesystem::path& path() const noexcept { return path_; }

  std::shared_ptr<const Tensor> Find(const Tensor& constant, std::string_view key, std::span<const ElementType> types,
                                     const std::optional<Shape>& shape) override;
  bool keeps() const override { return report_.written; }
  void Add(const Tensor& constant, std::string_view key, std::shared_ptr<const Tensor> packed) override;
  void NoteAligned(const Tensor& constant) override;

 private:
  using PackedKey = std::pair<uint32_t, std::string>;  // number of the constant, kernel's key
  void CheckExternalFiles(ByteReader& in) const;
  Content ReadContent(ByteReader& in, const ContextFile& file, const LoadOptions& options,
                      OptimizationReport& optimization);
  std::vector<Tensor> ReadTensors(ByteReader& in, const ContextFile& file, const LoadOptions& options);
  void CheckConditions(ByteReader& in) const;
  void NumberConstants(std::span<const Tensor> tensors);
  /// Their bytes go into `data`, or stay in a file of the model's, which is added to `files`.
  void WriteTensors(ByteWriter& out, ContextLayout& data, std::vector<std::filesystem::path>& files) const;
  void WritePacked(ByteWriter& out, ContextLayout& data) const;

  const std::filesystem::path path_;
  const std::filesystem::path model_;
  const ContextConditions conditions_;
  const bool embed_;
  Allocator* const copy_to_;
  ContextReport report_;

  std::mutex mutex_;
  std::map<std::pair<const void*, size_t>, uint32_t> numbers_;  // of constants, by place
  std::map<PackedKey, std::shared_ptr<const Tensor>> packed_;
  std::vector<bool> aligned_;  // by number
  // To be written.
  std::vector<std::pair<std::string, std::string>> external_files_;  // where they are, their stamps
  std::vector<Tensor> tensors_;
  ByteWriter model_bytes_;
};

}  // namespace tessera
