/* Pairs like 17:0.25 by vector instructions: first find the delimiters, then convert the numbers between them. */
#include "digits.h"

enum { AT_ONCE = 10, SPARE = 64, WINDOW = 1 << 14 };
enum { NO_VECTORS, VECTORS, WIDE_VECTORS };    /* of 32 bytes, and of 64 */

/* Whole lines of a text, and the positions of their delimiters; the last delimiter is a newline. */
typedef struct {
    const char *text;
    Py_ssize_t n, at;               /* the number of delimiters, and of those before the next line */
    int ascii;                      /* 1 if the text is known to be ASCII */
    int vectors;                    /* the instructions that found the delimiters */
    uint32_t place[WINDOW + SPARE];
    char kind[WINDOW + SPARE];      /* the character of each delimiter; only with WIDE_VECTORS */
} Window;

/* The two functions that depend on the instructions; `find_delimiters` and `plain_pairs` say what they do. */
typedef struct {
    void (*delimiters)(Window *window, Py_ssize_t n, char other);
    int (*pairs)(const Window *window, Py_ssize_t *i, Py_ssize_t *k, Py_ssize_t room, int *index, double *value);
} Instructions;
static Instructions INSTRUCTIONS[3];            /* by NO_VECTORS, VECTORS, WIDE_VECTORS */

/* Read a label of up to eight digits, with or without a sign, that ends at `end`. Returns 0 for others: 007 is a name.
   */
static inline int plain_label(const char *p, const char *end, double *y) {
    uint64_t odd = 0;
    int negative = *p == '-';
    p += negative || *p == '+';
    if (end - p < 1 || end - p > 8 || (*p == '0' && end - p > 1)) return 0;
    double x = (double) (int64_t) digits(p, (int) (end - p), &odd);
    *y = negative ? -x : x;
    return odd == 0;
}

#if !defined(__x86_64__) || !defined(__GNUC__)
static int have_vectors(void) { return NO_VECTORS; }
#else
#include <immintrin.h>
#include "wide_pairs.h"
#define WITH_VECTORS __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

/* The last sixteen bytes of a pair contain all of it. One shuffle moves the digits of the index to the first eight
   bytes and those of the value, without the point, to the last eight, with leading zeros. Three multiplications convert
   both to numbers. Tables hold the shuffles. For lengths that do not fit, the shuffle repeats a byte that is not a
   digit. */
enum { LONGEST = 10, NO_POINT = 16, BATCH = 128 };
static uint64_t INDEX_SHUFFLE[10][16];          /* by the length of the index + 1, and from its end to the pair's */
static uint64_t VALUE_SHUFFLE[LONGEST + 2][32]; /* by the length of the value + 1, and the digits after its point */
static double POWERS[2 * NO_POINT + 2];         /* of ten: by twice the digits after the point, + 1 if negative */

/* The shuffle of n digits to eight bytes. Digits up to `gap` come from one byte earlier: the point follows them. */
static uint64_t shuffle(int n, int from, int gap) {
    uint64_t places = 0;
    for (int slot = 7; slot >= 0; slot--)
        places = places << 8 | (uint64_t) (slot < 8 - n ? 0x80 : from + slot - (slot < gap));
    return places;
}

/* `find_delimiters` by registers of 32 bytes. Positions are written ten at a time, because a loop of unpredictable
   length costs more. */
WITH_VECTORS static void narrow_delimiters(Window *window, Py_ssize_t n, char other) {
    const char *p = window->text;
    uint32_t *place = window->place;
    const __m256i colon = _mm256_set1_epi8(':'), space = _mm256_set1_epi8(' '), bar = _mm256_set1_epi8(other);
    __m256i all = _mm256_setzero_si256();
    uint32_t *end = place;
    for (Py_ssize_t i = 0; i < n; i += 64) {
        uint64_t bits = 0;
        for (int j = 0; j < 64; j += 32) {
            __m256i x = _mm256_loadu_si256((const __m256i *) (p + i + j));
            all = _mm256_or_si256(all, x);
            __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(x, space), x);
            x = _mm256_or_si256(_mm256_cmpeq_epi8(x, colon), _mm256_cmpeq_epi8(x, bar));
            bits |= (uint64_t) (uint32_t) _mm256_movemask_epi8(_mm256_or_si256(x, low)) << j;
        }
        if (n - i < 64) bits &= ((uint64_t) 1 << (n - i)) - 1;
        int count = __builtin_popcountll(bits);
        for (int j = 0; j < count; j += AT_ONCE)
            for (int k = 0; k < AT_ONCE; k++, bits &= bits - 1)
                end[j + k] = (uint32_t) i + (uint32_t) _tzcnt_u64(bits);
        end += count;
    }
    window->ascii = _mm256_movemask_epi8(all) == 0;
    window->n = end - place;
}

/* The number of digits after the point of a value, or NO_POINT. x ends with the value; `after` is its length + 1. */
WITH_VECTORS static inline uint32_t decimals_of(__m128i x, uint32_t after) {
    uint32_t point = (uint32_t) _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('.'))) & (0xFFFF0000u >> after);
    return _lzcnt_u32(point) - 16;
}

/* Four whole numbers divided by powers of ten. */
WITH_VECTORS static inline __m256d quotients(__m128i whole, const int *power) {
    __m256d ten = _mm256_set_pd(POWERS[power[3]], POWERS[power[2]], POWERS[power[1]], POWERS[power[0]]);
    return _mm256_div_pd(_mm256_cvtepi32_pd(whole), ten);
}

/* Convert n pairs of an index and the digits of a value. Returns 0 if the columns ascend. */
WITH_VECTORS static inline int convert_pairs(
    const int (*pair)[2], const int *power, Py_ssize_t n, int last, int *index, double *value
) {
    int disorder = 0;
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i four = _mm256_loadu_si256((const __m256i *) pair[i]);
        four = _mm256_permute4x64_epi64(_mm256_shuffle_epi32(four, 0xD8), 0xD8);     /* four indices, four values */
        __m128i column = _mm_add_epi32(_mm256_castsi256_si128(four), _mm_set1_epi32(-1));
        __m128i before = _mm_insert_epi32(_mm_slli_si128(column, 4), last, 0);
        disorder |= _mm_movemask_epi8(_mm_cmpgt_epi32(column, before)) ^ 0xFFFF;
        last = _mm_extract_epi32(column, 3);
        _mm_storeu_si128((__m128i *) (index + i), column);
        _mm256_storeu_pd(value + i, quotients(_mm256_extracti128_si256(four, 1), power + i));
    }
    for (; i < n; i++) {
        disorder |= pair[i][0] - 1 <= last;
        last = index[i] = pair[i][0] - 1;
        value[i] = (double) pair[i][1] / POWERS[power[i]];
    }
    return disorder;
}

/* `plain_pairs` by registers of 32 bytes. Not inlined: it needs all registers. */
WITH_VECTORS static __attribute__((noinline, unused)) int narrow_pairs(
    const Window *window, Py_ssize_t *i, Py_ssize_t *k, Py_ssize_t room, int *index, double *value
) {
    const char *text = window->text;
    const uint32_t *place = window->place;
    const __m128i zeros = _mm_set1_epi8('0'), nines = _mm_set1_epi8(9);
    const __m128i tens = _mm_set1_epi16(0x010A), hundreds = _mm_set1_epi32(0x00010064);
    const __m128i myriads = _mm_set1_epi32(0x00012710);
    __m128i highest = nines;
    const uint32_t *delimiter = place + *i;
    Py_ssize_t first = *k, row = first;
    int pair[BATCH][2], power[BATCH];
    int odd = 0;
    uint32_t here = *delimiter;
    while (text[here] == ' ') {
        Py_ssize_t n = 0;
        do {
            uint32_t colon = delimiter[1], end = delimiter[2];
            uint32_t before = colon - here, after = end - colon;
            uint32_t minus = text[colon + 1] == '-', length = after - minus;    /* both lengths + 1 */
            if (before > 9 || length > LONGEST + 1 || text[colon] != ':') return 0;
            __m128i x = _mm_loadu_si128((const __m128i *) (text + end - 16));
            uint32_t decimals = decimals_of(x, after);
            odd |= (length == LONGEST + 1) & (text[colon + 1 + minus] != '0');
            x = _mm_shuffle_epi8(_mm_sub_epi8(x, zeros), _mm_set_epi64x((int64_t) VALUE_SHUFFLE[length][decimals],
                                                                        (int64_t) INDEX_SHUFFLE[before][after]));
            highest = _mm_max_epu8(highest, x);
            x = _mm_madd_epi16(_mm_maddubs_epi16(x, tens), hundreds);
            x = _mm_madd_epi16(_mm_packus_epi32(x, x), myriads);
            _mm_storel_epi64((__m128i *) pair[n], x);
            power[n++] = (int) (2 * decimals + minus);
            delimiter += 2;
            here = end;
        } while (text[here] == ' ' && n < BATCH);
        if (row + n > room) return 0;
        odd |= convert_pairs(pair, power, n, row > first ? index[row - 1] : -1, index + row, value + row);
        row += n;
    }
    odd |= _mm_movemask_epi8(_mm_cmpeq_epi8(highest, nines)) ^ 0xFFFF;
    *i = delimiter - place;
    *k = row;
    return !odd;
}

/* Fill the tables. Returns the instructions that the processor has. */
static int have_vectors(void) {
    const uint64_t everywhere = 0x0101010101010101u;
    for (int n = 0; n <= 8; n++)
        for (int after = 1; after < 16; after++)
            INDEX_SHUFFLE[n + 1][after] =
                n >= 1 && n + after <= 16 ? shuffle(n, 8 - after, 0) : everywhere * (uint64_t) (16 - after);
    for (int length = 0; length <= LONGEST; length++) {
        VALUE_SHUFFLE[length + 1][NO_POINT] =
            length >= 1 && length <= 8 ? shuffle(length, 8, 0) : everywhere * (uint64_t) (15 - length);
        for (int after = 0; after < NO_POINT; after++) {
            int n = length - 1;                             /* nine, if the first is a zero */
            VALUE_SHUFFLE[length + 1][after] = n >= 1 && n <= 8 + (after == 8) && after <= n
                ? shuffle(n, 8, 8 - after) : everywhere * (uint64_t) (15 - after);
        }
    }
    for (int i = 0; i <= NO_POINT; i++) {
        POWERS[2 * i] = i == NO_POINT ? 1 : TENS[i];
        POWERS[2 * i + 1] = -POWERS[2 * i];
    }
    int some = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
        && __builtin_cpu_supports("popcnt");
    if (some) INSTRUCTIONS[VECTORS] = (Instructions) {narrow_delimiters, narrow_pairs};
    return some && use_wide_vectors(&INSTRUCTIONS[WIDE_VECTORS]) ? WIDE_VECTORS : some ? VECTORS : NO_VECTORS;
}
#endif

/* Find all delimiters in the first n bytes of the window: colons, blanks, control characters, and `other`. 63 more bytes
   must be readable. Sets window->ascii to whether all these bytes, with the 63, are ASCII. */
static void find_delimiters(Window *window, Py_ssize_t n, char other) {
    INSTRUCTIONS[window->vectors].delimiters(window, n, other);
}

/* Read pairs like 17:0.25, 17:-3 or 17:1, each after one space, into index and value from position *k on; delimiter *i
   precedes the first pair. Stops at a delimiter that is not a space. Returns 0 if a pair has another form or a column
   is out of order. */
static inline int plain_pairs(const Window *window, Py_ssize_t *i, Py_ssize_t *k, Py_ssize_t room, int *index,
                              double *value) {
    return window->vectors ? INSTRUCTIONS[window->vectors].pairs(window, i, k, room, index, value) : 0;
}

/* Set the window to the lines from p on that fit, at least one, and return their end. The text ends at `end`, with 63
   readable bytes behind. Without vectors, and for a line that does not fit, the window has no delimiters. */
static const char *look_through(Window *window, const char *p, const char *end, char other, int vectors) {
    const char *stop = end;
    window->text = p;
    window->n = window->at = window->ascii = 0;
    window->vectors = vectors;
    if (!vectors) return end;
    if (end - p > WINDOW)
        for (stop = p + WINDOW; stop > p && stop[-1] != '\n'; stop--) {}
    if (stop == p) return (const char *) memchr(p, '\n', (size_t) (end - p)) + 1;
    find_delimiters(window, stop - p, other);
    return stop;
}

/* Skip the delimiters of the line that ends at this newline. */
static inline void pass_over(Window *window, const char *newline) {
    while (window->at < window->n && window->text + window->place[window->at] <= newline) window->at++;
}
