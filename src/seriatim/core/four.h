/* Four numbers at a time. */
#ifndef SERIATIM_FOUR_H
#define SERIATIM_FOUR_H

typedef double four __attribute__((vector_size(32)));
typedef double four_anywhere __attribute__((vector_size(32), aligned(8), may_alias));
#define FOUR(place) (*(four_anywhere *)(place))

#if defined(__clang__) || __GNUC__ >= 12
#define PICK(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
typedef long long which __attribute__((vector_size(32)));
#define PICK(x, y, a, b, c, d) __builtin_shuffle(x, y, (which) {a, b, c, d})
#endif

/* Rows a, b, c, d of four numbers as columns, in their places. */
#define TURN(a, b, c, d)                                                                                               \
    do {                                                                                                               \
        const four ab = PICK(a, b, 0, 4, 2, 6), cd = PICK(c, d, 0, 4, 2, 6);                                           \
        const four AB = PICK(a, b, 1, 5, 3, 7), CD = PICK(c, d, 1, 5, 3, 7);                                           \
        a = PICK(ab, cd, 0, 1, 4, 5);                                                                                  \
        b = PICK(AB, CD, 0, 1, 4, 5);                                                                                  \
        c = PICK(ab, cd, 2, 3, 6, 7);                                                                                  \
        d = PICK(AB, CD, 2, 3, 6, 7);                                                                                  \
    } while (0)

#endif
