// EmbedLayerNormalization, com.microsoft, version 1: BERT's embeddings of words, positions and segments, summed and
// normalized.

#include "cpu/engine/slots.h"
#include "cpu/ops/microsoft/normalize_row.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// A table of embeddings and who is looked up in it.
struct Table {
  const Tensor* rows = nullptr;
  const int32_t* ids = nullptr;

  bool Holds(int64_t id) const { return id >= 0 && id < rows->shape()[0]; }
};

class EmbedLayerNormalization final : public Kernel {
 public:
  explicit EmbedLayerNormalization(const KernelInfo& info) : epsilon_(info.attribute<float>("epsilon", 1e-12f)) {}

  void Compute(KernelContext& context) override {
    const Shape& ids = context.required_input(0).shape();
    Require(ids.rank() == 2, "input_ids is {}; [batch, sequence] is expected", ids);
    const int64_t batch = ids[0], steps = ids[1], tokens = ids.num_elements();
    const Shape& embedding = context.required_input(2).shape();
    Require(embedding.rank() == 2, "word_embedding is {}; 2 dimensions are expected", embedding);
    const int64_t width = embedding[1];
    const Table words = MakeTable(context, 2, context.input(0), width, ids);
    const Tensor* positions = context.input(8);
    const bool shared_positions = positions != nullptr && positions->shape()[0] == 1;
    const Table position_table = MakeTable(context, 3, positions, width, shared_positions ? Shape{1, steps} : ids);
    const Table segments = context.input(4) == nullptr ? Table{} : MakeTable(context, 4, context.input(1), width, ids);
    Require(segments.rows == nullptr || segments.ids != nullptr, "segment_embedding is given without segment_ids");
    const RowScale<float> scale = {RowParameter<float>(context, context.required_input(5), width, "gamma"),
                                   RowParameter<float>(context, context.required_input(6), width, "beta")};
    Tensor* y = context.output(0, {batch, steps, width});
    if (context.has_output(1)) CountMask(context, ids, context.output(1, {batch}));
    Tensor* sum = context.has_output(2) ? context.output(2, {batch, steps, width}) : nullptr;
    for (int64_t i = 0; i < tokens; ++i) {
      const int64_t position = PositionOf(position_table, shared_positions, i, steps);
      Require(words.Holds(words.ids[i]), "word {} is outside the embedding's {} rows", words.ids[i],
              words.rows->shape()[0]);
      Require(position_table.Holds(position), "position {} is outside the embedding's {} rows", position,
              position_table.rows->shape()[0]);
      if (segments.rows == nullptr) continue;
      Require(segments.Holds(segments.ids[i]), "segment {} is outside the embedding's {} rows", segments.ids[i],
              segments.rows->shape()[0]);
    }
    if (y == nullptr || tokens == 0 || width == 0) return;
    const RowReader<float> word_rows(*words.rows), position_rows(*position_table.rows),
        segment_rows(segments.rows == nullptr ? *words.rows : *segments.rows);
    const RowWriter<float> out(*y);
    const double cost = 1.2 * static_cast<double>(width) + 50;
    const int64_t slots = SlotCount(context.threads(), tokens, cost);
    const auto buffers = context.scratch<float>(static_cast<size_t>(slots * width * 4));
    ParallelSlots(context.threads(), slots, tokens, cost, [&](int64_t slot, int64_t begin, int64_t end) {
      float* total = buffers.data() + slot * width * 4;
      for (int64_t i = begin; i < end; ++i) {
        const float* word = word_rows.Read(words.ids[i] * width, width, total + width);
        const float* position =
            position_rows.Read(PositionOf(position_table, shared_positions, i, steps) * width, width, total + 2 * width);
        const float* segment =
            segments.rows == nullptr ? nullptr : segment_rows.Read(segments.ids[i] * width, width, total + 3 * width);
        SumRows(word, position, segment, width, total);
        if (sum != nullptr) StoreRow(total, i * width, width, *sum);
        NormalizeRow<float, true>(total, width, epsilon_, scale, out.At(i * width, total + width));
        out.Flush(i * width, width, total + width);
      }
    });
  }

 private:
  static int64_t PositionOf(const Table& position_table, bool shared, int64_t token, int64_t steps) {
    if (position_table.ids == nullptr) return token % steps;
    return position_table.ids[shared ? token % steps : token];
  }

  static Table MakeTable(KernelContext& context, size_t input, const Tensor* ids, int64_t width, const Shape& shape) {
    const Tensor& rows = context.required_input(input);
    Require(rows.shape().rank() == 2 && rows.shape()[1] == width, "embedding table {} is {}; [*,{}] is expected", input,
            rows.shape(), width);
    Require(ids == nullptr || ids->shape() == shape, "ids are {} where {} is expected", OptionalShape{ids}, shape);
    return {&rows, ids == nullptr ? nullptr : ids->data<int32_t>()};
  }

  /// How many words of each sentence are no padding.
  static void CountMask(KernelContext& context, const Shape& ids, Tensor* counts) {
    const Tensor* mask = context.input(7);
    Require(mask == nullptr || mask->shape() == ids, "mask is {}, input_ids {}", OptionalShape{mask}, ids);
    if (counts == nullptr) return;
    for (int64_t b = 0; b < ids[0]; ++b) {
      int32_t count = 0;
      for (int64_t i = 0; mask != nullptr && i < ids[1]; ++i) count += mask->data<int32_t>()[b * ids[1] + i] == 1 ? 1 : 0;
      counts->mutable_data<int32_t>()[b] = count;
    }
  }

  double epsilon_;
};

}  // namespace

void RegisterEmbedLayerNormalization(KernelRegistry& registry) {
  registry.Add(Op("EmbedLayerNormalization", "com.microsoft")
                   .Types(2, {ElementType::kFloat, ElementType::kFloat16})
                   .Make<EmbedLayerNormalization>());
}

}  // namespace tessera::cpu
