/* The arrays of the fast search engine and the exact top-k over them.

   The file format is described in `shopsim_env/search/arrays.py`; the order of sections is the same there.
   No Python here: `module.c` is the only file that knows the interpreter. */
#ifndef SHOPSIM_KERNEL_H
#define SHOPSIM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK 65536

enum { SLOTS, TERM_AT, TERM_TEXT, START, BLOCK_LEN, BLOCK_MAX, DOCS, CLASSES, DOC_LEN, LENGTHS, WEIGHTS, GAIN,
       LONG, LONG_AT, BITS, RANKS, ASIN_AT, ASIN_TEXT, SECTIONS };

typedef struct {
  void *map;
  size_t map_bytes;
  int64_t products, blocks, terms, classes, lengths, tokens, words, class_bytes, unsupported;
  const uint32_t *slots, *term_at, *block_len, *long_, *long_at, *asin_at;
  const char *term_text, *asin_text;
  const uint64_t *start, *bits;
  const float *block_max;
  const uint16_t *docs, *doc_len, *ranks;
  const void *class_; /* uint8_t or uint16_t: class_bytes */
  const double *gain;
  uint64_t slot_mask;
  float *gain32; /* the gains rounded, for the approximate pass */
} Arrays;

typedef struct {
  double score;
  int64_t row;
} Hit;

/* Work space of one search; `sums` is all zero between searches. */
typedef struct Scratch {
  float *sums;
  uint16_t *candidates;
  struct Scratch *next;
} Scratch;

/* Both return NULL on success, else what is wrong. */
const char *arrays_open(Arrays *arrays, const char *path);
void arrays_close(Arrays *arrays);

/* Number of a term, or -1. */
int64_t arrays_term(const Arrays *arrays, const char *text, size_t bytes);
/* FTS5's weight of a term that `rows` of `products` products hold. */
double term_weight(int64_t products, int64_t rows);

Scratch *scratch_new(void);
void scratch_free(Scratch *scratch);

/* Best `k` rows by score, then row; `terms` in query order. `mask` is NULL or one bit per row, lowest first.
   Returns the number of hits, or -1 without memory. */
int rank_rows(const Arrays *arrays, Scratch *scratch, int count, const int64_t *terms, const uint8_t *mask,
              int k, Hit *hits);

#endif
