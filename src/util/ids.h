#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace antegrad {

/// The position of an element in the list of its kind. Each kind has a tag, so that the compiler
/// distinguishes, for instance, a value of a graph from a node: `using ValueId = Id<struct ValueTag>`.
template <class Tag>
struct Id {
  int32_t index = -1;

  /// Returns the id of the element at a position.
  static constexpr Id at(size_t position) { return {static_cast<int32_t>(position)}; }
  constexpr bool valid() const { return index >= 0; }
  /// The position in a container that is not an IdMap. The id must be valid.
  constexpr size_t position() const { return static_cast<size_t>(index); }
  constexpr auto operator<=>(const Id&) const = default;
};

/// The ids of the first `size` elements of a list, in order: the range of a loop over an IdMap.
template <class AnyId>
class IdRange {
 public:
  class iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = AnyId;
    using difference_type = std::ptrdiff_t;
    using reference = AnyId;
    using pointer = void;

    constexpr iterator() = default;
    constexpr explicit iterator(int32_t index) : index_(index) {}
    constexpr AnyId operator*() const { return {index_}; }
    constexpr AnyId operator[](difference_type n) const { return *(*this + n); }
    constexpr iterator& operator++() { return *this += 1; }
    constexpr iterator& operator--() { return *this -= 1; }
    constexpr iterator operator++(int) { return std::exchange(*this, *this + 1); }
    constexpr iterator operator--(int) { return std::exchange(*this, *this - 1); }
    constexpr iterator& operator+=(difference_type n) {
      index_ += static_cast<int32_t>(n);
      return *this;
    }
    constexpr iterator& operator-=(difference_type n) { return *this += -n; }
    friend constexpr iterator operator+(iterator i, difference_type n) { return i += n; }
    friend constexpr iterator operator+(difference_type n, iterator i) { return i += n; }
    friend constexpr iterator operator-(iterator i, difference_type n) { return i -= n; }
    friend constexpr difference_type operator-(iterator a, iterator b) { return a.index_ - b.index_; }
    constexpr auto operator<=>(const iterator&) const = default;

   private:
    int32_t index_ = 0;
  };

  constexpr explicit IdRange(size_t size) : size_(static_cast<int32_t>(size)) {}
  constexpr iterator begin() const { return iterator(0); }
  constexpr iterator end() const { return iterator(size_); }
  constexpr size_t size() const { return static_cast<size_t>(size_); }

 private:
  int32_t size_;
};

/// A vector that is indexed by ids of one kind only. As with a vector, ids are not checked to be in range.
template <class AnyId, class T>
class IdMap {
 public:
  using List = std::vector<T>;
  using value_type = T;
  using reference = typename List::reference;
  using const_reference = typename List::const_reference;

  IdMap() = default;
  explicit IdMap(size_t size) : list_(size) {}
  IdMap(size_t size, const T& value) : list_(size, value) {}
  explicit IdMap(List list) : list_(std::move(list)) {}

  reference operator[](AnyId id) { return list_[id.position()]; }
  const_reference operator[](AnyId id) const { return list_[id.position()]; }
  /// Whether there is an element with this id.
  bool contains(AnyId id) const { return id.valid() && id.position() < list_.size(); }
  IdRange<AnyId> ids() const { return IdRange<AnyId>(list_.size()); }

  AnyId push_back(T value) {
    list_.push_back(std::move(value));
    return AnyId::at(list_.size() - 1);
  }
  reference back() { return list_.back(); }
  void pop_back() { list_.pop_back(); }
  void resize(size_t size) { list_.resize(size); }
  void resize(size_t size, const T& value) { list_.resize(size, value); }
  void assign(size_t size, const T& value) { list_.assign(size, value); }
  void reserve(size_t size) { list_.reserve(size); }
  void clear() { list_.clear(); }

  size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  /// The elements in order, without their ids.
  const List& list() const { return list_; }

  bool operator==(const IdMap&) const = default;

 private:
  List list_;
};

/// The number of an enumerator, as an index into a table with one row per enumerator.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr size_t ordinal(Enum value) { return static_cast<size_t>(value); }

}  // namespace antegrad

template <class Tag>
struct std::hash<antegrad::Id<Tag>> {
  size_t operator()(antegrad::Id<Tag> id) const { return std::hash<int32_t>{}(id.index); }
};
