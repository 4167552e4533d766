// SequenceInsert, SequenceErase, SequenceAt, SequenceLength (11).

#include "ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SequenceInsert final : public Kernel {
 public:
  explicit SequenceInsert(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr && context.input_value(1) != nullptr, "a sequence and an element are required");
    const Sequence& given_sequence = context.input_value(0)->sequence();
    size_t at = given_sequence.elements.size();
    if (const Tensor* position = context.input(2)) {
      // The end is a valid place to insert at: [-n, n].
      const int64_t given = ScalarIndex(*position), n = static_cast<int64_t>(given_sequence.elements.size());
      Require(given >= -n && given <= n, "position {} is outside [-{}, {}]", given, n, n);
      at = static_cast<size_t>(given < 0 ? given + n : given);
    }
    Sequence sequence = MakeSequence(context, given_sequence.element_type, given_sequence.elements.size() + 1);
    const auto place = given_sequence.elements.begin() + static_cast<std::ptrdiff_t>(at);
    sequence.elements.assign(given_sequence.elements.begin(), place);
    sequence.elements.push_back(OwnedElement(context, *context.input_value(1)));
    sequence.elements.insert(sequence.elements.end(), place, given_sequence.elements.end());
    // All that were there already fit.
    RequireFits(sequence, sequence.elements[at]);
    RequireFits(sequence, sequence.elements.back());
    context.set_output(0, std::move(sequence));
  }
};

class SequenceErase final : public Kernel {
 public:
  explicit SequenceErase(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const Sequence& given = context.input_value(0)->sequence();
    const Tensor* position = context.input(1);
    const size_t at = ResolvePosition(position != nullptr ? ScalarIndex(*position) : -1, given.elements.size());
    Sequence sequence = MakeSequence(context, given.element_type, given.elements.size() - 1);
    const auto place = given.elements.begin() + static_cast<std::ptrdiff_t>(at);
    sequence.elements.assign(given.elements.begin(), place);
    sequence.elements.insert(sequence.elements.end(), place + 1, given.elements.end());
    context.set_output(0, std::move(sequence));
  }
};

class SequenceAt final : public Kernel {
 public:
  explicit SequenceAt(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const Sequence& sequence = context.input_value(0)->sequence();
    context.set_output(0, sequence.elements[ResolvePosition(ScalarIndex(context.required_input(1)), sequence.elements.size())]);
  }
};

class SequenceLength final : public Kernel {
 public:
  explicit SequenceLength(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const auto length = static_cast<int64_t>(context.input_value(0)->sequence().elements.size());
    context.output(0, Shape{})->mutable_data<int64_t>()[0] = length;
  }
};

}  // namespace

void RegisterSequenceEdit(KernelRegistry& registry) {
  registry.Add(Op("SequenceInsert").Versions(11).Make<SequenceInsert>());
  registry.Add(Op("SequenceErase").Versions(11).Make<SequenceErase>());
  registry.Add(Op("SequenceAt").Versions(11).Make<SequenceAt>());
  registry.Add(Op("SequenceLength").Versions(11).Make<SequenceLength>());
}

}  // namespace tessera::cpu
