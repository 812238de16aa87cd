#pragma once

namespace antegrad::aten {

/// Makes member_of(Tag{}) a pointer to a private member: an explicit instantiation may name it (README.md).
/// The tag declares `friend constexpr auto member_of(Tag);`.
template <class Tag, auto kMember>
struct PrivateMember {
  friend constexpr auto member_of(Tag) { return kMember; }
};

}  // namespace antegrad::aten

/// Declares a tag and makes member_of(tag{}) point to the member.
#define ANTEGRAD_PRIVATE_MEMBER(tag, member) \
  struct tag {                               \
    friend constexpr auto member_of(tag);    \
  };                                         \
  template struct PrivateMember<tag, &member>
