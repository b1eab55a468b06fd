/* Loops that are compiled twice on x86, for four numbers at a time and for two, and the machine chooses: lane by lane
   the arithmetic is the same, and so are the bits. */
#ifndef SERIATIM_WIDE_H
#define SERIATIM_WIDE_H
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

#endif
