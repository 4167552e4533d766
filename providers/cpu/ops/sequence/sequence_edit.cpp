// SequenceInsert, SequenceErase, SequenceAt, SequenceLength (11).

#include <algorithm>
#include <iterator>

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

/// Input 0, to be changed, with room for one more element; what another value still shares is copied.
Sequence EditableSequence(KernelContext& context) {
  Value taken = context.TakeInput(0);
  Sequence* own = taken.unshared_sequence();
  const Sequence& given = taken.sequence();
  const size_t size = given.elements.size();
  if (own != nullptr && own->charge != nullptr && own->elements.capacity() > size) return std::move(*own);
  // Twice as many: a chain of insertions moves each element a few times in all.
  Sequence larger = MakeSequence(context, given.element_type, std::max<size_t>(2 * size, 4));
  if (own != nullptr) {
    std::move(own->elements.begin(), own->elements.end(), std::back_inserter(larger.elements));
  } else {
    larger.elements.assign(given.elements.begin(), given.elements.end());
  }
  larger.num_owned = given.num_owned;
  size_t shapes = 0;
  for (const Value& element : larger.elements) shapes += ShapeBytes(element);
  ChargeMore(larger, shapes);
  return larger;
}

class SequenceInsert final : public Kernel {
 public:
  explicit SequenceInsert(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr && context.input_value(1) != nullptr,
            "a sequence and an element are required");
    const size_t size = context.input_value(0)->sequence().elements.size();
    size_t at = size;
    if (const Tensor* position = context.input(2)) {
      // The end is a valid place to insert at: [-n, n].
      const int64_t given = ScalarIndex(*position), n = static_cast<int64_t>(size);
      Require(given >= -n && given <= n, "position {} is outside [-{}, {}]", given, n, n);
      at = static_cast<size_t>(given < 0 ? given + n : given);
    }
    Value element = OwnedElement(context, *context.input_value(1));
    Sequence sequence = EditableSequence(context);
    // All that were there already fit.
    RequireFits(sequence, element);
    ChargeMore(sequence, ShapeBytes(element));
    sequence.elements.insert(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at), std::move(element));
    if (sequence.num_owned >= at) ++sequence.num_owned;
    context.set_output(0, std::move(sequence));
  }
};

class SequenceErase final : public Kernel {
 public:
  explicit SequenceErase(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const Tensor* position = context.input(1);
    const size_t at = ResolvePosition(position != nullptr ? ScalarIndex(*position) : -1,
                                      context.input_value(0)->sequence().elements.size());
    Sequence sequence = EditableSequence(context);
    if (const size_t shape = ShapeBytes(sequence.elements[at]); shape > 0) {
      const size_t others = sequence.charge->bytes() - shape;
      sequence.charge = nullptr;  // both at once may be more than the limit
      sequence.charge = std::make_shared<MemoryCharge>(context.allocator(), others);
    }
    sequence.elements.erase(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at));
    if (sequence.num_owned > at) --sequence.num_owned;
    context.set_output(0, std::move(sequence));
  }
};

class SequenceAt final : public Kernel {
 public:
  explicit SequenceAt(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const Sequence& sequence = context.input_value(0)->sequence();
    context.set_output(
        0, sequence.elements[ResolvePosition(ScalarIndex(context.required_input(1)), sequence.elements.size())]);
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
