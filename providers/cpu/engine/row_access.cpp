#include "cpu/engine/row_access.h"

#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T, class C>
void LoadAs(const void* data, int64_t first, int64_t count, C* out) {
  LoadRow(static_cast<const T*>(data) + first, out, count);
}

template <class T, class C>
void StoreAs(const C* in, int64_t count, void* data, int64_t first) {
  StoreRow(in, static_cast<T*>(data) + first, count);
}

}  // namespace

template <class C>
RowReader<C>::RowReader(ElementType type, const void* data) : data_(data), load_(nullptr) {
  VisitType(FloatTypes{}, type, [&]<class T>() {
    if constexpr (!std::is_same_v<T, C>) load_ = LoadAs<T, C>;
  });
}

template <class C>
RowWriter<C>::RowWriter(ElementType type, void* data) : data_(data), store_(nullptr) {
  VisitType(FloatTypes{}, type, [&]<class T>() {
    if constexpr (!std::is_same_v<T, C>) store_ = StoreAs<T, C>;
  });
}

template class RowReader<float>;
template class RowReader<double>;
template class RowWriter<float>;
template class RowWriter<double>;

}  // namespace tessera::cpu
