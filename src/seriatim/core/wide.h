/* Loops that are compiled twice on x86, for four numbers at a time and for two, and the machine chooses: lane by lane
   the arithmetic is the same, and so are the bits. WIDEST is for those that run over hundreds of numbers, and may take
   eight at a time. */
#ifndef SERIATIM_WIDE_H
#define SERIATIM_WIDE_H
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define WIDE __attribute__((unused, target_clones("avx2", "default")))
#define WIDEST __attribute__((unused, target_clones("avx512f", "avx2", "default")))
#else
#define WIDE __attribute__((unused))
#define WIDEST WIDE
#endif

#endif
