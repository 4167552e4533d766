// Nodes that clients make.

#include <span>

#include "bindings/c/entry.h"
#include "bindings/c/views/node.h"

namespace tessera::c_abi {
namespace {

/// A null among them is an omitted value.
std::vector<std::string> TextsOf(const char* const* texts, size_t count, std::string_view what) {
  std::vector<std::string> copied;
  if (count == 0) return copied;
  for (const char* text : std::span(&Given(texts, what), count)) copied.push_back(TextOf(text));
  return copied;
}

}  // namespace

// The attributes are the node's from then on, and null in the client's list.
OrtStatusPtr CreateNode(const char* operator_name, const char* domain_name, const char* node_name,
                        const char* const* input_names, size_t input_names_len, const char* const* output_names,
                        size_t output_names_len, OrtOpAttr** attributes, size_t attribs_len, OrtNode** node) noexcept {
  return Guarded([&] {
    OrtNode*& out = Given(node, "out");
    out = nullptr;
    auto made = std::make_unique<Node>();
    made->index = 0;  // until a graph takes it
    made->op_type = &Given(operator_name, "the operator's name");
    made->domain = TextOf(domain_name);
    if (made->domain == "ai.onnx") made->domain.clear();
    made->name = TextOf(node_name);
    const std::span<OrtOpAttr*> given(attributes, attributes == nullptr ? 0 : attribs_len);
    for (const OrtOpAttr* attribute : given) made->attributes.push_back(*Given(attribute, "an attribute").attribute);
    auto inputs = TextsOf(input_names, input_names_len, "the inputs' names");
    auto outputs = TextsOf(output_names, output_names_len, "the outputs' names");
    out = new OrtNode(std::move(made), std::move(inputs), std::move(outputs));
    for (OrtOpAttr*& attribute : given) ReleaseOpAttr(std::exchange(attribute, nullptr));
  });
}

}  // namespace tessera::c_abi
