#include "model/weight_writer.h"

#include <sys/stat.h>

#include <bit>
#include <fstream>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/rounding.h"

namespace tessera {
namespace {

mode_t UsualMode() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    unsigned mask = 0;
    if (key == "Umask:" && status >> std::oct >> mask) return 0666 & ~mask;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0600;
}

std::filesystem::path PathOfWeights(const ModelOutput& output) {
  const std::filesystem::path name(output.weights_file);
  Require(name.is_relative() && name.filename() == name && name != "." && name != "..",
          "the file for the written model's weights is '{}': give a name without a folder, as it lies beside the model",
          output.weights_file);
  return output.path.parent_path() / name;
}

}  // namespace

void GiveUsualMode(const std::filesystem::path& file) { chmod(file.c_str(), UsualMode()); }

WeightWriter::WeightWriter(const ModelOutput& output) : output_(output) {
  Require(std::has_single_bit(output.weight_alignment), "weights are to be aligned to {} bytes: give a power of two",
          output.weight_alignment);
  if (!output.place_weight && !output.weights_file.empty() && !output.write_weights) file_.emplace(PathOfWeights(output));
}

std::optional<WeightPlace> WeightWriter::Place(const std::string& name, const Tensor& weight) {
  const size_t bytes = weight.byte_size();
  if (output_.place_weight) {
    std::optional<WeightPlace> place = output_.place_weight(name, weight);
    Require(!place || (!place->file.empty() && place->offset >= 0 && place->bytes == bytes),
            "weight '{}' of {} bytes is said to lie in '{}', {} bytes from {}: give a file and all of its bytes", name,
            bytes, place ? place->file : "", place ? place->bytes : 0, place ? place->offset : 0);
    return place;
  }
  if (output_.weights_file.empty() || bytes == 0 || bytes < output_.least_weight) return std::nullopt;
  if (bytes >= output_.least_aligned) {
    const std::vector<std::byte> gap(RoundUp(at_, output_.weight_alignment) - at_);
    Write(gap.data(), gap.size());
  }
  WeightPlace place{output_.weights_file, static_cast<int64_t>(at_), bytes};
  Write(weight.unaligned_raw(), bytes);
  return place;
}

void WeightWriter::Write(const void* data, size_t bytes) {
  if (bytes == 0) return;
  if (file_) {
    file_->WriteAt(at_, data, bytes);
  } else {
    output_.write_weights({static_cast<const std::byte*>(data), bytes});
  }
  at_ += bytes;
}

void WeightWriter::Publish() {
  if (!file_ || at_ == 0) return;  // no empty file
  GiveUsualMode(file_->path());
  file_->Publish();
}

}  // namespace tessera
