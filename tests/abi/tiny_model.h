#pragma once

// ONNX models of a few nodes, written byte by byte: tests of the C ABI know of no library but the one that they test.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

/// A protobuf message under construction.
class Message {
 public:
  Message& Number(int field, uint64_t value) {
    Varint(static_cast<uint64_t>(field) << 3);
    Varint(value);
    return *this;
  }
  Message& Bytes(int field, std::string_view bytes) {
    Varint(static_cast<uint64_t>(field) << 3 | 2);
    Varint(bytes.size());
    text_.append(bytes);
    return *this;
  }
  Message& Add(int field, const Message& message) { return Bytes(field, message.text_); }
  const std::string& text() const { return text_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 128; value >>= 7) text_.push_back(static_cast<char>(value | 128));
    text_.push_back(static_cast<char>(value));
  }
  std::string text_;
};

/// A dimension that is a number, or a name.
struct Dim {
  int64_t size = 0;
  std::string_view symbol = {};
};

inline Message TensorValue(std::string_view name, int type, const std::vector<Dim>& dims) {
  Message shape;
  for (const Dim& dim : dims) {
    Message one;
    if (dim.symbol.empty()) {
      one.Number(1, static_cast<uint64_t>(dim.size));
    } else {
      one.Bytes(2, dim.symbol);
    }
    shape.Add(1, one);
  }
  return Message().Bytes(1, name).Add(2, Message().Add(1, Message().Number(1, static_cast<uint64_t>(type)).Add(2, shape)));
}

/// The same, of a type that the model says stands for something.
inline Message Denoted(std::string_view name, int type, int64_t size, std::string_view denotation) {
  const Message shape = Message().Add(1, Message().Number(1, static_cast<uint64_t>(size)));
  const Message tensor = Message().Number(1, static_cast<uint64_t>(type)).Add(2, shape);
  return Message().Bytes(1, name).Add(2, Message().Add(1, tensor).Bytes(6, denotation));
}

inline Message Node(std::string_view op, const std::vector<std::string_view>& inputs,
                    const std::vector<std::string_view>& outputs, std::string_view name = {}) {
  Message node;
  for (const std::string_view input : inputs) node.Bytes(1, input);
  for (const std::string_view output : outputs) node.Bytes(2, output);
  if (!name.empty()) node.Bytes(3, name);
  return node.Bytes(4, op);
}

/// What is there once for each model.
inline std::string Model(const Message& graph, bool with_metadata = false) {
  Message model;
  model.Number(1, 8).Add(7, graph).Add(8, Message().Bytes(1, "").Number(2, 17));
  if (with_metadata) {
    model.Bytes(2, "maker").Bytes(4, "some.domain").Number(5, 7).Bytes(6, "about it");
    model.Add(14, Message().Bytes(1, "key").Bytes(2, "value"));
  }
  return model.text();
}

/// A model whose metadata have the entry.
inline std::string WithEntry(std::string_view key, std::string_view value) {
  Message graph;
  graph.Add(1, Node("Identity", {"X"}, {"Y"}, "same")).Bytes(2, "same");
  graph.Add(11, TensorValue("X", 1, {{3}})).Add(12, TensorValue("Y", 1, {{3}}));
  Message model;
  model.Number(1, 8).Add(7, graph).Add(8, Message().Bytes(1, "").Number(2, 17));
  return model.Add(14, Message().Bytes(1, key).Bytes(2, value)).text();
}

/// C = A + B, [2,3] floats; D = A - B besides, when asked for.
inline std::string Add(bool with_metadata = false, bool two_outputs = false) {
  Message graph;
  graph.Add(1, Node("Add", {"A", "B"}, {"C"}, "add"));
  if (two_outputs) graph.Add(1, Node("Sub", {"A", "B"}, {"D"}, "sub"));
  graph.Bytes(2, "adds");
  graph.Add(11, TensorValue("A", 1, {{2}, {3}})).Add(11, TensorValue("B", 1, {{2}, {3}}));
  graph.Add(12, TensorValue("C", 1, {{2}, {3}}));
  if (two_outputs) graph.Add(12, TensorValue("D", 1, {{2}, {3}}));
  return Model(graph, with_metadata);
}

/// Y = X of any first dimension, of the given type.
inline std::string Identity(int type) {
  Message graph;
  graph.Add(1, Node("Identity", {"X"}, {"Y"}, "same")).Bytes(2, "same");
  graph.Add(11, TensorValue("X", type, {{0, "batch"}, {3}})).Add(12, TensorValue("Y", type, {{0, "batch"}, {3}}));
  return Model(graph);
}

/// Y = X, where X is an image, and Y nothing that has a name.
inline std::string DenotedIdentity() {
  Message graph;
  graph.Add(1, Node("Identity", {"X"}, {"Y"}, "same")).Bytes(2, "same");
  graph.Add(11, Denoted("X", 1, 3, "IMAGE")).Add(12, TensorValue("Y", 1, {{3}}));
  return Model(graph);
}

/// Y = X + W, whose weight is 1, 2, 3 or external data in "w.bin". X has a first dimension that the model calls a batch.
inline std::string AddWeight(bool external) {
  Message batch, three;
  batch.Bytes(2, "n").Bytes(3, "DATA_BATCH");
  three.Number(1, 3);
  const Message type = Message().Number(1, 1).Add(2, Message().Add(1, batch).Add(1, three));
  Message weight;
  weight.Number(1, 3).Number(2, 1).Bytes(8, "W");
  if (external) {
    weight.Add(13, Message().Bytes(1, "location").Bytes(2, "w.bin")).Number(14, 1);
  } else {
    const float values[] = {1, 2, 3};
    weight.Bytes(9, {reinterpret_cast<const char*>(values), sizeof(values)});
  }
  Message graph;
  graph.Add(1, Node("Add", {"X", "W"}, {"Y"}, "add")).Bytes(2, "adds").Add(5, weight);
  graph.Add(11, Message().Bytes(1, "X").Add(2, Message().Add(1, type)));
  graph.Add(12, TensorValue("Y", 1, {{0, "n"}, {3}}));
  return Model(graph);
}

}  // namespace tiny
