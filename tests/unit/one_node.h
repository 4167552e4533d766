#pragma once

// One node of com.microsoft and what it says of inputs that do not fit.

#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera::testing {

/// One node of com.microsoft whose inputs are these values ("": none), of whatever shape.
class OneNode {
 public:
  explicit OneNode(const char* op) : op_(op) {}

  OneNode& In(Value value) {
    names_.push_back("x" + std::to_string(names_.size()));
    values_.push_back(std::move(value));
    return *this;
  }
  OneNode& None(int count = 1) {
    names_.insert(names_.end(), static_cast<size_t>(count), "");
    return *this;
  }
  OneNode& With(const char* attribute, int64_t value) {
    ints_.emplace_back(attribute, value);
    return *this;
  }
  OneNode& With(const char* attribute, std::vector<int64_t> values) {
    lists_.emplace_back(attribute, std::move(values));
    return *this;
  }
  OneNode& With(const char* attribute, const char* text) {
    texts_.emplace_back(attribute, text);
    return *this;
  }
  OneNode& Outputs(int count) {
    outputs_ = count;
    return *this;
  }

  /// What it says when it runs.
  std::string Error() const {
    ModelBuilder model(17);
    std::vector<std::string> given, outputs;
    for (size_t i = 0, next = 0; i < names_.size(); ++i) {
      if (names_[i].empty()) continue;
      const Tensor& tensor = values_[next++].tensor();
      model.Input(names_[i], tensor.type(), std::vector<int64_t>(tensor.shape().rank(), -1));
      given.push_back(names_[i]);
    }
    for (int i = 0; i < outputs_; ++i) {
      outputs.push_back("y" + std::to_string(i));
      model.proto().mutable_graph()->add_output()->set_name(outputs.back());
    }
    auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op_, names_, outputs);
    node.set_domain("com.microsoft");
    for (const auto& [name, value] : ints_) Int(node, name, value);
    for (const auto& [name, text] : texts_) Text(node, name, text);
    for (const auto& [name, list] : lists_) Ints(node, name, list);
    return ErrorOf([&] { model.Session().Run(given, values_); });
  }

 private:
  const char* op_;
  int outputs_ = 1;
  std::vector<std::string> names_;
  std::vector<Value> values_;
  std::vector<std::pair<const char*, int64_t>> ints_;
  std::vector<std::pair<const char*, const char*>> texts_;
  std::vector<std::pair<const char*, std::vector<int64_t>>> lists_;
};

template <class T>
inline Value Filled(const Shape& shape, T value) {
  return Tensor::Of<T>(shape, std::vector<T>(static_cast<size_t>(shape.num_elements()), value));
}

inline Value Numbers(const Shape& shape) { return Filled<float>(shape, 0.25f); }

}  // namespace tessera::testing
