R"ag(
#define AG_MIN(a, b) ((a) < (b) ? (a) : (b))
#define AG_MAX(a, b) ((a) > (b) ? (a) : (b))
#define AG_NAN_MIN(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define AG_NAN_MAX(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define AG_UNROLL _Pragma("unroll")

struct AgHost {
  unsigned long long words[2];
};

// Loads and stores of N neighbouring elements, which are aligned to their size, or to 16 bytes if that is less.
template <int Bytes>
struct alignas(Bytes) AgWords {
  uint32_t words[Bytes / 4];
};
template <>
struct alignas(2) AgWords<2> {
  uint16_t word;
};
template <>
struct alignas(1) AgWords<1> {
  uint8_t word;
};
template <int N, class T>
AG_INLINE void ag_load(T* to, const T* from) {
  constexpr int kBytes = N * (int)sizeof(T), kStep = kBytes < 16 ? kBytes : 16;
  AG_UNROLL
  for (int at = 0; at < kBytes; at += kStep) {
    const AgWords<kStep> words = *(const AgWords<kStep>*)((const unsigned char*)from + at);
    __builtin_memcpy((unsigned char*)to + at, &words, kStep);
  }
}
// Replaces an element by what `combine` makes of it, while others may do the same.
template <int Bytes>
struct AgWord {
  typedef unsigned int type;
};
template <>
struct AgWord<2> {
  typedef unsigned short type;
};
template <>
struct AgWord<8> {
  typedef unsigned long long type;
};
template <class T, class Combine>
AG_INLINE void ag_update(T* at, Combine combine) {
  typedef typename AgWord<(int)sizeof(T)>::type Word;
  Word seen = *(volatile Word*)at, old;
  do {
    old = seen;
    T element;
    __builtin_memcpy(&element, &old, sizeof element);
    element = combine(element);
    Word now;
    __builtin_memcpy(&now, &element, sizeof now);
    seen = AG_CAS((Word*)at, old, now);
  } while (seen != old);
}
template <int N, class T>
AG_INLINE void ag_store(T* to, const T* from) {
  constexpr int kBytes = N * (int)sizeof(T), kStep = kBytes < 16 ? kBytes : 16;
  AG_UNROLL
  for (int at = 0; at < kBytes; at += kStep) {
    AgWords<kStep> words;
    __builtin_memcpy(&words, (const unsigned char*)from + at, kStep);
    *(AgWords<kStep>*)((unsigned char*)to + at) = words;
  }
}
)ag"
