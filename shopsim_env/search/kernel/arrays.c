/* Opening the mapped file and looking terms up. POSIX only: elsewhere the extension is left out. */
#include "kernel.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "SHOPARR1"
#define HEADER_NUMBERS 9

static const char *map_file(Arrays *a, const char *path) {
  struct stat info;
  int file = open(path, O_RDONLY);
  if (file < 0) return "the file cannot be opened";
  if (fstat(file, &info) || info.st_size < 8) {
    close(file);
    return "the file is too short";
  }
  a->map_bytes = (size_t)info.st_size;
  a->map = mmap(NULL, a->map_bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (a->map == MAP_FAILED) {
    a->map = NULL;
    return "the file cannot be mapped";
  }
  return NULL;
}

static const char *read_header(Arrays *a, uint64_t *offset, uint64_t *bytes) {
  const size_t head = 8 + 8 * (HEADER_NUMBERS + 2 * SECTIONS);
  const uint64_t one = 1;
  uint64_t numbers[HEADER_NUMBERS + 2 * SECTIONS];
  if (*(const uint8_t *)&one != 1) return "this machine is not little-endian";
  if (a->map_bytes < head || memcmp(a->map, MAGIC, 8)) return "not an array file of this version";
  memcpy(numbers, (const char *)a->map + 8, sizeof numbers);
  int64_t *fields[HEADER_NUMBERS] = {&a->products, &a->blocks, &a->terms, &a->classes,
                                     &a->lengths,  &a->tokens, &a->words, &a->class_bytes,
                                     &a->unsupported};
  for (int i = 0; i < HEADER_NUMBERS; i++) {
    if (numbers[i] > (uint64_t)1 << 40) return "a number of the header is out of range";
    *fields[i] = (int64_t)numbers[i];
  }
  for (int i = 0; i < SECTIONS; i++) {
    offset[i] = numbers[HEADER_NUMBERS + 2 * i];
    bytes[i] = numbers[HEADER_NUMBERS + 2 * i + 1];
    if (offset[i] % 64 || offset[i] > a->map_bytes || bytes[i] > a->map_bytes - offset[i])
      return "a section lies outside the file";
  }
  return NULL;
}

/* Sizes that the ranking relies on; the values inside are trusted, because the release is hashed. */
static int sizes_fit(const Arrays *a, const uint64_t *bytes) {
  uint64_t n = (uint64_t)a->products, terms = (uint64_t)a->terms, blocks = (uint64_t)a->blocks;
  uint64_t slots = bytes[SLOTS] / 4, cells = terms * blocks, postings = bytes[DOCS] / 2;
  return blocks == (n + BLOCK - 1) / BLOCK && slots && !(slots & (slots - 1)) && slots > terms &&
         bytes[TERM_AT] == 4 * (terms + 1) && bytes[START] == 8 * (terms + 1) &&
         bytes[BLOCK_LEN] == (blocks > 1 ? 4 * cells : 0) && bytes[BLOCK_MAX] == 4 * cells &&
         bytes[CLASSES] == postings * (uint64_t)a->class_bytes && bytes[DOC_LEN] == 2 * n &&
         bytes[GAIN] == 8 * (uint64_t)a->classes * (uint64_t)a->lengths && bytes[LONG] == 4 * terms &&
         bytes[RANKS] * 4 == bytes[BITS] && bytes[ASIN_AT] == 4 * (n + 1);
}

const char *arrays_open(Arrays *a, const char *path) {
  uint64_t offset[SECTIONS], bytes[SECTIONS];
  memset(a, 0, sizeof *a);
  const char *problem = map_file(a, path);
  if (!problem) problem = read_header(a, offset, bytes);
  if (problem) return problem;
  if (a->unsupported) return "the arrays do not hold this catalogue";
  if (!sizes_fit(a, bytes)) return "the sections have unexpected sizes";
  const char *base = a->map;
#define AT(field, section) a->field = (const void *)(base + offset[section])
  AT(slots, SLOTS), AT(term_at, TERM_AT), AT(term_text, TERM_TEXT), AT(start, START);
  AT(block_len, BLOCK_LEN), AT(block_max, BLOCK_MAX), AT(docs, DOCS), AT(class_, CLASSES);
  AT(doc_len, DOC_LEN), AT(gain, GAIN), AT(long_, LONG), AT(long_at, LONG_AT);
  AT(bits, BITS), AT(ranks, RANKS), AT(asin_at, ASIN_AT), AT(asin_text, ASIN_TEXT);
#undef AT
  a->slot_mask = bytes[SLOTS] / 4 - 1;
  size_t cells = bytes[GAIN] / 8;
  a->gain32 = malloc(4 * cells + 4);
  if (!a->gain32) return "out of memory";
  for (size_t i = 0; i < cells; i++) a->gain32[i] = (float)a->gain[i];
  return NULL;
}

void arrays_close(Arrays *a) {
  if (a->map) munmap(a->map, a->map_bytes);
  free(a->gain32);
  a->map = NULL, a->gain32 = NULL;
}

/* CRC-32 as zlib computes it, because Python's standard library has it too. */
static uint32_t crc32_of(const uint8_t *text, size_t bytes) {
  static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                      0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                      0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= text[i];
    crc = crc >> 4 ^ nibble[crc & 15];
    crc = crc >> 4 ^ nibble[crc & 15];
  }
  return ~crc;
}

/* The vocabulary spells every mark inside a word as `-`; see `vocabulary_key`. */
static int64_t find_term(const Arrays *a, const char *text, size_t bytes) {
  uint64_t slot = crc32_of((const uint8_t *)text, bytes);
  for (;; slot++) {
    uint32_t found = a->slots[slot & a->slot_mask];
    if (!found) return -1;
    uint32_t from = a->term_at[found - 1], to = a->term_at[found];
    if (to - from == bytes && !memcmp(a->term_text + from, text, bytes)) return (int64_t)found - 1;
  }
}

int64_t arrays_term(const Arrays *a, const char *text, size_t bytes) {
  char key[256];
  if (!strpbrk(text, "._+/")) return find_term(a, text, bytes);
  char *copy = bytes < sizeof key ? key : malloc(bytes + 1);
  if (!copy) return -1;
  for (size_t i = 0; i <= bytes; i++) copy[i] = text[i] && strchr("._+/", text[i]) ? '-' : text[i];
  int64_t term = find_term(a, copy, bytes);
  if (copy != key) free(copy);
  return term;
}

double term_weight(int64_t products, int64_t rows) {
  double weight = log(((double)(products - rows) + 0.5) / ((double)rows + 0.5));
  return weight > 0.0 ? weight : 1e-6;
}
