/* Hash the names and convert the values of features like word:0.25 or word, by vector instructions. */
#include "pairs.h"

enum { FEATURES = 128 };            /* the most features per call */

/* A feature that must be read again, because its name or value is unusual: its number, and the positions of its name,
   of the colon, and of the end of the value. Without a value both `colon` and `end` are the end of the name. */
typedef struct {
    uint32_t feature, name, colon, end;
} Unusual;

#if !defined(__x86_64__) || !defined(__GNUC__)
static int plain_words(const char *text, const uint32_t *place, Py_ssize_t *i, Py_ssize_t room, uint32_t seed,
                       uint32_t *hash, double *value, Unusual *unusual, int *unusuals) { return 0; }
#else
enum { LONGEST_NAME = 16, NUMBER = -1 };
static const uint64_t ONE = (uint64_t) 1 << 56;         /* the eight digits 00000001 */
static const unsigned char KEEP[2 * LONGEST_NAME] =     /* from byte 16 - n on: a mask that keeps n of sixteen bytes */
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

WITH_VECTORS static inline __m256i rotated(__m256i x, int bits) {
    return _mm256_or_si256(_mm256_slli_epi32(x, bits), _mm256_srli_epi32(x, 32 - bits));
}

/* MurmurHash3 of eight names of up to sixteen bytes, filled up with zeros. All names take four steps, because a loop of
   unpredictable length costs more. An incomplete word takes the first half of a step; a word of zeros changes nothing.
   The hash of a NUMBER is its value plus the seed. */
WITH_VECTORS static inline __m256i eight_hashes(const __m128i *name, const int *length, __m256i seed) {
    const __m256i n = _mm256_loadu_si256((const __m256i *) length);
    __m256i row[4], h = seed;
    for (int i = 0; i < 4; i++) row[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(name[i]), name[i + 4], 1);
    __m256i a = _mm256_unpacklo_epi32(row[0], row[1]), b = _mm256_unpacklo_epi32(row[2], row[3]);
    __m256i c = _mm256_unpackhi_epi32(row[0], row[1]), d = _mm256_unpackhi_epi32(row[2], row[3]);
    const __m256i word[4] = {_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
                             _mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)};
    for (int i = 0; i < 4; i++) {
        __m256i k = _mm256_mullo_epi32(word[i], _mm256_set1_epi32((int) 0xcc9e2d51u));
        k = _mm256_mullo_epi32(rotated(k, 15), _mm256_set1_epi32(0x1b873593));
        h = _mm256_xor_si256(h, k);
        k = rotated(h, 13);
        k = _mm256_add_epi32(_mm256_add_epi32(k, _mm256_slli_epi32(k, 2)), _mm256_set1_epi32((int) 0xe6546b64u));
        h = _mm256_blendv_epi8(h, k, _mm256_cmpgt_epi32(n, _mm256_set1_epi32(4 * i + 3)));
    }
    h = _mm256_xor_si256(h, n);
    h = _mm256_mullo_epi32(_mm256_xor_si256(h, _mm256_srli_epi32(h, 16)), _mm256_set1_epi32((int) 0x85ebca6bu));
    h = _mm256_mullo_epi32(_mm256_xor_si256(h, _mm256_srli_epi32(h, 13)), _mm256_set1_epi32((int) 0xc2b2ae35u));
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
    return _mm256_blendv_epi8(h, _mm256_add_epi32(word[0], seed), n);
}

/* Four numbers of eight digits each. */
WITH_VECTORS static inline __m128i four_numbers(const uint64_t *digits) {
    __m256i x = _mm256_loadu_si256((const __m256i *) digits);
    x = _mm256_madd_epi16(_mm256_maddubs_epi16(x, _mm256_set1_epi16(0x010A)), _mm256_set1_epi32(0x00010064));
    x = _mm256_madd_epi16(_mm256_packus_epi32(x, x), _mm256_set1_epi32(0x00012710));
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(x, 0x08));
}

/* Load the name of n bytes at p. If it is an integer, *name is its value and *length is NUMBER. Returns 1 if the name
   must be read again. */
WITH_VECTORS static inline int plain_name(const char *p, uint32_t n, __m128i *name, int *length) {
    uint32_t kept = n <= LONGEST_NAME ? n : 0;
    *name = _mm_and_si128(_mm_loadu_si128((const __m128i *) p),
                          _mm_loadu_si128((const __m128i *) (KEEP + LONGEST_NAME - kept)));
    *length = (int) kept;
    if ((unsigned char) (*p - '0') > 9) return n > LONGEST_NAME;
    if (n > 8) return 1;
    uint64_t odd = 0, whole = digits(p, (int) n, &odd);
    if (!odd) {
        *name = _mm_cvtsi32_si128((int) whole);
        *length = NUMBER;
    }
    return 0;
}

/* Load the digits of the value between a colon and `end`, and the index of its divisor in POWERS. Returns not 0 if the
   value must be read again: if it has a form that plain_pairs refuses. */
WITH_VECTORS static inline int plain_value(
    const char *text, uint32_t colon, uint32_t end, uint64_t *value, int *power
) {
    uint32_t after = end - colon, minus = text[colon + 1] == '-', length = after - minus;       /* both lengths + 1 */
    if (__builtin_expect(length > LONGEST + 1, 0)) {
        *value = *power = 0;
        return 1;
    }
    __m128i x = _mm_loadu_si128((const __m128i *) (text + end - 16));
    uint32_t decimals = decimals_of(x, after);
    x = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    x = _mm_shuffle_epi8(x, _mm_loadl_epi64((const __m128i *) &VALUE_SHUFFLE[length][decimals]));
    _mm_storel_epi64((__m128i *) value, x);
    *power = (int) (2 * decimals + minus);
    return (_mm_movemask_epi8(_mm_adds_epu8(x, _mm_set1_epi8(127 - 9))) & 0xFF)                 /* a digit above 9 */
        | ((length == LONGEST + 1) & (text[colon + 1 + minus] != '0'));
}

/* Read features, each after one space; the delimiter at place[*i] precedes the first. Stops before anything else, after
   FEATURES features, and when the room left is below eight. Returns the number of features. The caller must read those
   in `unusual` again. */
WITH_VECTORS static __attribute__((noinline)) int plain_words(
    const char *text, const uint32_t *place, Py_ssize_t *i, Py_ssize_t room, uint32_t seed,
    uint32_t *hash, double *value, Unusual *unusual, int *unusuals
) {
    __m128i name[FEATURES];
    uint64_t whole[FEATURES];
    int length[FEATURES], power[FEATURES];
    const uint32_t *delimiter = place + *i;
    uint32_t here = *delimiter;
    int n = 0, odd = 0, most = room < FEATURES ? (int) room & ~7 : FEATURES;
    while (text[here] == ' ' && n < most) {
        uint32_t colon = delimiter[1], end = colon;
        if (colon == here + 1) break;
        int strange = plain_name(text + here + 1, colon - here - 1, &name[n], &length[n]);
        if (text[colon] == ':') {
            end = delimiter[2];
            strange |= plain_value(text, colon, end, &whole[n], &power[n]);
            delimiter++;
        } else {
            whole[n] = ONE;
            power[n] = 2 * NO_POINT;
        }
        if (__builtin_expect(strange, 0)) unusual[odd++] = (Unusual) {(uint32_t) n, here + 1, colon, end};
        delimiter++;
        n++;
        here = end;
    }
    for (int j = n; j & 7; j++) {
        name[j] = _mm_setzero_si128();
        length[j] = power[j] = 0;
        whole[j] = ONE;
    }
    for (int j = 0; j < n; j += 8) {
        _mm256_storeu_si256((__m256i *) (hash + j), eight_hashes(name + j, length + j, _mm256_set1_epi32((int) seed)));
        _mm256_storeu_pd(value + j, quotients(four_numbers(whole + j), power + j));
        _mm256_storeu_pd(value + j + 4, quotients(four_numbers(whole + j + 4), power + j + 4));
    }
    *i = delimiter - place;
    *unusuals = odd;
    return n;
}
#endif
