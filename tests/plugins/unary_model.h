#pragma once

// Models of operators with one input and one output, on x of three floats; written with the teaching provider's writer, so
// that the program needs no more of the library than its users have.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "protobuf.h"

namespace tessera::testing {

class UnaryModel {
 public:
  struct Node {
    const char *type, *input, *output;
  };

  UnaryModel(const std::vector<Node>& nodes, const std::vector<const char*>& outputs) {
    teaching::Message graph;
    for (const Node& node : nodes) {
      teaching::Message written;
      written.Text(1, node.input);
      written.Text(2, node.output);
      written.Text(4, node.type);
      graph.Nested(1, written);
    }
    graph.Text(2, "unary");
    graph.Nested(11, Floats("x"));
    for (const char* output : outputs) graph.Nested(12, Floats(output));
    teaching::Message operators;
    operators.Int(2, 21);
    model_.Int(1, 10);
    model_.Nested(7, graph);
    model_.Nested(8, operators);
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(model_.bytes())); }

 private:
  static teaching::Message Floats(const char* name) {
    teaching::Message three, shape, tensor, type, value;
    three.Int(1, 3);
    shape.Nested(1, three);
    tensor.Int(1, 1);
    tensor.Nested(2, shape);
    type.Nested(1, tensor);
    value.Text(1, name);
    value.Nested(2, type);
    return value;
  }

  teaching::Message model_;
};

}  // namespace tessera::testing
