/* Exact top-k of FTS5's bm25() by MaxScore over blocks of 65,536 rows.

   Strong terms are added into `sums`; weak ones are looked up only for rows that can still enter the best k.
   That pass uses floats and any order. Whoever may belong to the best k afterwards is scored again with the
   doubles and the order of additions that FTS5 uses, so results are bit-identical. All contributions are
   positive: the float pass errs by less than `slack` of a sum. No product and sum may be fused
   (-ffp-contract=off). */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* A look-up of one row costs about as much as adding this many postings. */
#define LOOKUP 4

typedef struct {
  const uint16_t *docs;
  const void *class_;
  const uint64_t *bits; /* NULL: too short for a bitmap */
  const uint16_t *ranks;
  uint32_t n;
  float weight;
  double bound;
} List;

typedef struct {
  const Arrays *a;
  int count, k, found;
  const double *weight;
  const uint64_t *at; /* [term][block]: first posting */
  const int64_t *terms;
  const uint8_t *mask;
  double slack;
  Hit *best, *spare; /* heaps, worst on top */
  Hit *kept;         /* rows to score again */
  int64_t kept_n, kept_cap;
  List *lists;
  double *rest; /* rest[i]: largest sum that lists i.. can give */
  Scratch *s;
} Search;

static inline int worse(Hit a, Hit b) { return a.score < b.score || (a.score == b.score && a.row > b.row); }

static void sift_down(Hit *heap, int n, int i) {
  Hit x = heap[i];
  for (;;) {
    int child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && worse(heap[child + 1], heap[child])) child++;
    if (!worse(heap[child], x)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = x;
}

static inline void push(Hit *heap, int *n, int k, double score, int64_t row) {
  Hit x = {score, row};
  if (*n == k) {
    if (worse(heap[0], x)) {
      heap[0] = x;
      sift_down(heap, k, 0);
    }
    return;
  }
  int i = (*n)++;
  while (i && worse(x, heap[(i - 1) / 2])) {
    heap[i] = heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  heap[i] = x;
}

static void sort_best_first(Hit *heap, int n) {
  for (int m = n; m > 1; m--) {
    Hit t = heap[0];
    heap[0] = heap[m - 1];
    heap[m - 1] = t;
    sift_down(heap, m - 1, 0);
  }
}

static inline unsigned bits_set(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return (unsigned)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

static inline int allowed(const uint8_t *mask, uint32_t row) { return !mask || mask[row >> 3] >> (row & 7) & 1; }

/* Position of `row` in the list, or -1. */
static inline int64_t find(const List *l, uint16_t row) {
  if (l->bits) {
    uint64_t word = l->bits[row >> 6], bit = (uint64_t)1 << (row & 63);
    return word & bit ? (int64_t)(l->ranks[row >> 6] + bits_set(word & (bit - 1))) : -1;
  }
  uint32_t n = l->n;
  const uint16_t *p = l->docs;
  while (n > 1) {
    uint32_t half = n / 2;
    p += p[half] <= row ? half : 0;
    n -= half;
  }
  return n && *p == row ? p - l->docs : -1;
}

static inline size_t class_at(const Search *q, const List *l, int64_t j) {
  return q->a->class_bytes == 1 ? ((const uint8_t *)l->class_)[j] : ((const uint16_t *)l->class_)[j];
}

static void add_list(const Search *q, const uint16_t *doc_len, const List *l) {
  float *sums = q->s->sums, w = l->weight;
  const float *gain = q->a->gain32;
  const uint16_t *docs = l->docs;
  size_t lengths = (size_t)q->a->lengths;
  uint32_t n = l->n;
  if (q->a->class_bytes == 1) {
    const uint8_t *class_ = l->class_;
    for (uint32_t j = 0; j < n; j++) sums[docs[j]] += w * gain[class_[j] * lengths + doc_len[docs[j]]];
  } else {
    const uint16_t *class_ = l->class_;
    for (uint32_t j = 0; j < n; j++) sums[docs[j]] += w * gain[class_[j] * lengths + doc_len[docs[j]]];
  }
}

static int read_list(const Search *q, int i, int64_t b, List *l) {
  const Arrays *a = q->a;
  int64_t t = q->terms[i], cell = t * a->blocks + b;
  l->n = a->blocks > 1 ? a->block_len[cell] : (uint32_t)(a->start[t + 1] - a->start[t]);
  if (!l->n) return 0;
  uint64_t at = q->at[i * a->blocks + b];
  l->docs = a->docs + at;
  l->class_ = (const uint8_t *)a->class_ + at * (uint64_t)a->class_bytes;
  l->weight = (float)q->weight[i];
  l->bound = q->weight[i] * a->block_max[cell] * (1 + 1e-6);
  uint32_t row = a->long_[t], bitmap = row ? a->long_at[(row - 1) * a->blocks + b] : 0;
  l->bits = bitmap ? a->bits + (uint64_t)(bitmap - 1) * (uint64_t)a->words : NULL;
  l->ranks = bitmap ? a->ranks + (uint64_t)(bitmap - 1) * (uint64_t)a->words : NULL;
  return 1;
}

/* Lists of a block, strongest bound first. */
static int read_lists(const Search *q, int64_t b) {
  int m = 0;
  for (int i = 0; i < q->count; i++) {
    List l;
    if (!read_list(q, i, b, &l)) continue;
    int j = m++;
    for (; j && q->lists[j - 1].bound < l.bound; j--) q->lists[j] = q->lists[j - 1];
    q->lists[j] = l;
  }
  q->rest[m] = 0;
  for (int i = m - 1; i >= 0; i--) q->rest[i] = q->rest[i + 1] + q->lists[i].bound;
  return m;
}

/* A value that at least k sums of the block reach, or `floor`. */
static double kth_sum(const Search *q, const uint8_t *mask, int64_t rows, double floor) {
  int n = 0;
  const float *sums = q->s->sums;
  float cut = floor > 0 ? (float)(floor * (1 - q->slack)) : 0;
  for (int64_t i = 0; i < rows; i++)
    if (sums[i] > cut && allowed(mask, (uint32_t)i)) {
      push(q->spare, &n, q->k, sums[i], i);
      if (n == q->k) cut = (float)q->spare[0].score;
    }
  double reached = n == q->k ? q->spare[0].score * (1 - q->slack) : -1;
  return reached > floor ? reached : floor;
}

static int reserve(Search *q, int64_t more) {
  int64_t cap = q->kept_cap ? q->kept_cap : 1024;
  while (cap < q->kept_n + more) cap *= 2;
  if (cap == q->kept_cap) return 0;
  Hit *kept = realloc(q->kept, (size_t)cap * sizeof(Hit));
  if (!kept) return -1;
  q->kept = kept, q->kept_cap = cap;
  return 0;
}

static int keep(Search *q, double score, int64_t row) {
  if (q->found == q->k && score < q->best[0].score * (1 - q->slack)) return 0;
  if (reserve(q, 1)) return -1;
  q->kept[q->kept_n++] = (Hit){score, row};
  push(q->best, &q->found, q->k, score, row);
  return 0;
}

/* FTS5's scores of rows of one block. Term by term: each row still gets its terms in query order. */
static void score_exactly(const Search *q, int64_t b, Hit *rows, int64_t n) {
  const double *gain = q->a->gain;
  const uint16_t *doc_len = q->a->doc_len;
  size_t lengths = (size_t)q->a->lengths;
  for (int64_t i = 0; i < n; i++) rows[i].score = 0;
  for (int t = 0; t < q->count; t++) {
    List l;
    if (!read_list(q, t, b, &l)) continue;
    double weight = q->weight[t];
    for (int64_t i = 0; i < n; i++) {
      int64_t j = find(&l, (uint16_t)(rows[i].row % BLOCK));
      if (j >= 0) rows[i].score += weight * gain[class_at(q, &l, j) * lengths + doc_len[rows[i].row]];
    }
  }
}

/* Rows of the block that the mask allows. */
static uint64_t count_allowed(const uint8_t *mask, int64_t rows) {
  uint64_t count = 0;
  for (int64_t i = 0; i < (rows + 7) / 8; i++) count += bits_set(mask[i]);
  return count;
}

/* Adds strong lists until the others together cannot lift a row to the threshold, or until looking the others up
   for every allowed row is cheaper than adding them (`left` postings); also weak short ones, which are cheaper
   added than looked up. Returns the first list that was not added. */
static int add_strong(const Search *q, const uint16_t *doc_len, const uint8_t *mask, int m, int64_t rows,
                      uint64_t allowed_rows, uint64_t left, double *threshold, uint64_t *added) {
  uint64_t next = 8192;
  int e = 0;
  for (; e < m && q->rest[e] >= *threshold; e++) {
    if (mask && left - *added > LOOKUP * allowed_rows * (uint64_t)(m - e)) break;
    if (*added >= next && q->rest[e] < q->rest[0] / 2) {
      *threshold = kth_sum(q, mask, rows, *threshold);
      next = *added * 2;
      if (q->rest[e] < *threshold) break;
    }
    add_list(q, doc_len, &q->lists[e]);
    *added += q->lists[e].n;
  }
  for (; e < m && q->lists[e].n <= rows / 32; e++) {
    add_list(q, doc_len, &q->lists[e]);
    *added += q->lists[e].n;
  }
  return e;
}

/* Rows whose sum can still reach the threshold. `all`: every allowed row can, also one without a sum. `sparse`:
   walk the postings instead of the block. */
static int collect(const Search *q, const uint8_t *mask, int e, int64_t rows, float cut, int all, int sparse) {
  float *sums = q->s->sums;
  uint16_t *out = q->s->candidates;
  int n = 0;
  if (all) {
    for (int64_t i = 0; i < (rows + 7) / 8; i++)
      for (int bit = 0; mask[i] >> bit; bit++)
        if (mask[i] >> bit & 1) out[n++] = (uint16_t)(i * 8 + bit);
    return n;
  }
  if (!sparse) {
    if (cut <= 0) {
      for (int64_t i = 0; i < rows; i++)
        if (sums[i] > 0 && allowed(mask, (uint32_t)i)) out[n++] = (uint16_t)i;
    } else
      for (int64_t i = 0; i < rows; i++)
        if (sums[i] >= cut && allowed(mask, (uint32_t)i)) out[n++] = (uint16_t)i;
    return n;
  }
  for (int i = 0; i < e; i++) /* a row may come twice: the sign marks it as seen */
    for (uint32_t j = 0; j < q->lists[i].n; j++) {
      uint16_t row = q->lists[i].docs[j];
      float v = sums[row];
      if (v > 0) {
        sums[row] = -v;
        if (v >= cut && allowed(mask, row)) out[n++] = row;
      }
    }
  for (int i = 0; i < n; i++) sums[out[i]] = -sums[out[i]];
  return n;
}

/* Adds the weak lists to the candidates alone and drops those that fall behind. Returns how many stay. */
static int refine(const Search *q, const uint16_t *doc_len, int e, int m, int n, double threshold) {
  float *sums = q->s->sums;
  uint16_t *rows = q->s->candidates;
  size_t lengths = (size_t)q->a->lengths;
  for (int i = e; i < m && n; i++) {
    const List *l = &q->lists[i];
    double limit = (threshold - q->rest[i + 1]) * (1 - q->slack);
    int stay = 0;
    for (int c = 0; c < n; c++) {
      uint16_t row = rows[c];
      int64_t j = find(l, row);
      if (j >= 0) sums[row] += l->weight * q->a->gain32[class_at(q, l, j) * lengths + doc_len[row]];
      rows[stay] = row;
      stay += sums[row] >= limit;
    }
    n = stay;
  }
  return n;
}

static int rank_block(Search *q, int64_t b) {
  const uint16_t *doc_len = q->a->doc_len + b * BLOCK;
  const uint8_t *mask = q->mask ? q->mask + b * (BLOCK / 8) : NULL;
  int64_t rows = q->a->products - b * BLOCK;
  if (rows > BLOCK) rows = BLOCK;
  int m = read_lists(q, b);
  double threshold = q->found == q->k ? q->best[0].score * (1 - q->slack) : -1;
  if (!m || q->rest[0] < threshold) return 0;
  uint64_t postings = 0, added = 0, allowed_rows = mask ? count_allowed(mask, rows) : 0;
  if (mask && !allowed_rows) return 0;
  for (int i = 0; i < m; i++) postings += q->lists[i].n;
  int e = add_strong(q, doc_len, mask, m, rows, allowed_rows, postings, &threshold, &added);
  int sparse = added * 8 < (uint64_t)rows;
  if (e < m && (q->found < q->k || added > 100000)) threshold = kth_sum(q, mask, rows, threshold);
  float cut = (float)((threshold - q->rest[e]) * (1 - q->slack));
  int all = mask && e < m && cut <= 0;
  if (all) sparse = 0; /* sums of rows outside the added lists change too */
  int n = collect(q, mask, e, rows, cut, all, sparse);
  n = refine(q, doc_len, e, m, n, threshold);
  int failed = 0;
  for (int c = 0; c < n && !failed; c++) {
    float sum = q->s->sums[q->s->candidates[c]];
    if (sum > 0) failed = keep(q, sum, b * BLOCK + q->s->candidates[c]);
  }
  if (sparse)
    for (int i = 0; i < e; i++)
      for (uint32_t j = 0; j < q->lists[i].n; j++) q->s->sums[q->lists[i].docs[j]] = 0;
  else
    memset(q->s->sums, 0, (size_t)rows * sizeof(float));
  return failed;
}

/* First posting of each (term, block). */
static void locate(const Arrays *a, int count, const int64_t *terms, uint64_t *at) {
  for (int i = 0; i < count; i++) {
    uint64_t next = a->start[terms[i]];
    for (int64_t b = 0; b < a->blocks; b++) {
      at[i * a->blocks + b] = next;
      if (a->blocks > 1) next += a->block_len[terms[i] * a->blocks + b];
    }
  }
}

static int rescore(Search *q, Hit *hits) {
  double last = q->found == q->k ? q->best[0].score * (1 - q->slack) : 0;
  Hit *kept = q->kept;
  int64_t n = 0, to;
  int found = 0;
  for (int64_t i = 0; i < q->kept_n; i++)
    if (kept[i].score >= last) kept[n++] = kept[i];
  for (int64_t from = 0; from < n; from = to) {
    int64_t b = kept[from].row / BLOCK;
    for (to = from; to < n && kept[to].row / BLOCK == b;) to++;
    score_exactly(q, b, kept + from, to - from);
  }
  for (int64_t i = 0; i < n; i++) push(hits, &found, q->k, kept[i].score, kept[i].row);
  sort_best_first(hits, found);
  return found;
}

int rank_rows(const Arrays *a, Scratch *scratch, int count, const int64_t *terms, const uint8_t *mask, int k,
              Hit *hits) {
  size_t n = (size_t)count;
  uint64_t *at = malloc(n * (size_t)a->blocks * sizeof *at + 8);
  double *weight = malloc((2 * n + 1) * sizeof *weight);
  List *lists = malloc((n + 1) * sizeof *lists);
  Hit *heaps = malloc(2 * (size_t)k * sizeof *heaps);
  int result = -1;
  if (at && weight && lists && heaps) {
    Search q = {.a = a, .count = count, .k = k, .weight = weight, .at = at, .terms = terms, .mask = mask,
                .slack = (count + 16) * 1.2e-7, .best = heaps, .spare = heaps + k, .lists = lists,
                .rest = weight + count, .s = scratch};
    for (int i = 0; i < count; i++)
      weight[i] = term_weight(a->products, (int64_t)(a->start[terms[i] + 1] - a->start[terms[i]]));
    locate(a, count, terms, at);
    result = 0;
    for (int64_t b = 0; b < a->blocks && !result; b++) result = rank_block(&q, b);
    if (!result) result = rescore(&q, hits);
    free(q.kept);
  }
  free(at), free(weight), free(lists), free(heaps);
  return result;
}

Scratch *scratch_new(void) {
  Scratch *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->sums = calloc(BLOCK, sizeof *s->sums);
  s->candidates = malloc(BLOCK * sizeof *s->candidates);
  if (s->sums && s->candidates) return s;
  scratch_free(s);
  return NULL;
}

void scratch_free(Scratch *s) {
  if (!s) return;
  free(s->sums), free(s->candidates), free(s);
}
