// Attributes of nodes.

#include "bindings/c/views/op_attr.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/entry.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

const Attribute& AttributeOf(const OrtOpAttr* attribute) { return *Given(attribute, "the attribute").attribute; }

/// Throws Error for types that the C ABI has no name for.
struct TypeOfAttribute {
  OrtOpAttrType operator()(std::monostate) const { return ORT_OP_ATTR_UNDEFINED; }
  OrtOpAttrType operator()(int64_t) const { return ORT_OP_ATTR_INT; }
  OrtOpAttrType operator()(float) const { return ORT_OP_ATTR_FLOAT; }
  OrtOpAttrType operator()(const std::string&) const { return ORT_OP_ATTR_STRING; }
  OrtOpAttrType operator()(const Tensor&) const { return ORT_OP_ATTR_TENSOR; }
  OrtOpAttrType operator()(const std::shared_ptr<Graph>&) const { return ORT_OP_ATTR_GRAPH; }
  OrtOpAttrType operator()(const std::vector<int64_t>&) const { return ORT_OP_ATTR_INTS; }
  OrtOpAttrType operator()(const std::vector<float>&) const { return ORT_OP_ATTR_FLOATS; }
  OrtOpAttrType operator()(const std::vector<std::string>&) const { return ORT_OP_ATTR_STRINGS; }
  OrtOpAttrType operator()(const SparseTensor&) const { FailUnnamed("a sparse tensor"); }
  OrtOpAttrType operator()(const TypeInfo&) const { FailUnnamed("a type"); }
  OrtOpAttrType operator()(const std::vector<Tensor>&) const { FailUnnamed("a list of tensors"); }
  OrtOpAttrType operator()(const std::vector<TypeInfo>&) const { FailUnnamed("a list of types"); }

  [[noreturn]] static void FailUnnamed(std::string_view what) {
    Fail(ErrorCode::kInvalidArgument, "the attribute is {}, which OrtOpAttrType has no name for", what);
  }
};

template <class T>
const T& Typed(const Attribute& attribute, std::string_view type) {
  const T* typed = std::get_if<T>(&attribute.value);
  Require(typed != nullptr, "attribute '{}' is no {}", attribute.name, type);
  return *typed;
}

/// The size comes first: clients that give no room ask for it by the error.
void CopyBytes(const void* from, size_t bytes, void* to, size_t room, size_t& size) {
  size = bytes;
  Require(room >= bytes, "the attribute has {} bytes, and there is room for {}", bytes, room);
  if (bytes > 0) std::memcpy(&Given(static_cast<char*>(to), "the room for the attribute"), from, bytes);
}

template <class T>
std::vector<T> ListAt(const void* data, int count) {
  Require(count >= 0, "an attribute of {} elements", count);
  if (count == 0) return {};
  const T* first = &Given(static_cast<const T*>(data), "the attribute's data");
  return {first, first + count};
}

AttributeValue ValueAt(const void* data, int count, OrtOpAttrType type) {
  switch (type) {
    case ORT_OP_ATTR_INT: return Given(static_cast<const int64_t*>(data), "the attribute's data");
    case ORT_OP_ATTR_FLOAT: return Given(static_cast<const float*>(data), "the attribute's data");
    case ORT_OP_ATTR_STRING: {
      const std::vector<char> text = ListAt<char>(data, count);  // zeros included: providers keep bytes in them
      return std::string(text.begin(), text.end());
    }
    case ORT_OP_ATTR_INTS: return ListAt<int64_t>(data, count);
    case ORT_OP_ATTR_FLOATS: return ListAt<float>(data, count);
    case ORT_OP_ATTR_STRINGS: {
      std::vector<std::string> texts;
      for (const char* text : ListAt<const char*>(data, count)) texts.emplace_back(&Given(text, "a text"));
      return texts;
    }
    default:
      Fail(ErrorCode::kFail, "attributes of type {} are not made here; give numbers or texts", static_cast<int>(type));
  }
}

}  // namespace

OrtStatusPtr CreateOpAttr(const char* name, const void* data, int len, OrtOpAttrType type, OrtOpAttr** op_attr) noexcept {
  return Guarded([&] {
    OrtOpAttr*& out = Given(op_attr, "out");
    out = nullptr;
    out = new OrtOpAttr(Attribute{&Given(name, "the name"), ValueAt(data, len, type)});
  });
}

void ReleaseOpAttr(OrtOpAttr* input) { Release(input); }

OrtStatusPtr ReadOpAttr(const OrtOpAttr* op_attr, OrtOpAttrType type, void* data, size_t len, size_t* out) noexcept {
  return Guarded([&] {
    const Attribute& attribute = AttributeOf(op_attr);
    size_t& size = Given(out, "the size");
    size = 0;
    switch (type) {
      case ORT_OP_ATTR_INT: return CopyBytes(&Typed<int64_t>(attribute, "int"), sizeof(int64_t), data, len, size);
      case ORT_OP_ATTR_FLOAT: return CopyBytes(&Typed<float>(attribute, "float"), sizeof(float), data, len, size);
      case ORT_OP_ATTR_INTS: {
        const auto& values = Typed<std::vector<int64_t>>(attribute, "list of ints");
        return CopyBytes(values.data(), values.size() * sizeof(int64_t), data, len, size);
      }
      case ORT_OP_ATTR_FLOATS: {
        const auto& values = Typed<std::vector<float>>(attribute, "list of floats");
        return CopyBytes(values.data(), values.size() * sizeof(float), data, len, size);
      }
      case ORT_OP_ATTR_STRING: {
        const auto& text = Typed<std::string>(attribute, "string");
        return CopyBytes(text.data(), text.size(), data, len, size);  // without a zero at the end
      }
      case ORT_OP_ATTR_STRINGS: {
        std::string joined;
        for (const std::string& text : Typed<std::vector<std::string>>(attribute, "list of strings")) {
          joined += text;
          joined += '\0';
        }
        return CopyBytes(joined.data(), joined.size(), data, len, size);
      }
      default:
        Fail(ErrorCode::kInvalidArgument,
             "attributes of type {} are not read here; OpAttr_GetTensorAttributeAsOrtValue reads tensors",
             static_cast<int>(type));
    }
  });
}

OrtStatusPtr OpAttr_GetType(const OrtOpAttr* attribute, OrtOpAttrType* type) noexcept {
  return Guarded([&] {
    const AttributeVariant& value = AttributeOf(attribute).value;
    Given(type, "out") = std::visit(TypeOfAttribute(), value);
  });
}

OrtStatusPtr OpAttr_GetName(const OrtOpAttr* attribute, const char** name) noexcept {
  return Guarded([&] { Given(name, "out") = AttributeOf(attribute).name.c_str(); });
}

// The client's own, to change as it likes: a copy.
OrtStatusPtr OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr* attribute, OrtValue** attr_tensor) noexcept {
  return Guarded([&] {
    OrtValue*& out = Given(attr_tensor, "out");
    out = nullptr;
    out = new OrtValue(Typed<Tensor>(AttributeOf(attribute), "tensor").Clone());
  });
}

}  // namespace tessera::c_abi
