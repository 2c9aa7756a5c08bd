/* Secrets in freed memory and on the stack. The allocator of the program looks at each block before it
 * is freed; the key is made and used on a stack that the program reads afterwards. For glibc. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "mldsa.h"

extern void __libc_free(void *);

#define MAX_PATTERNS 1024
#define STACK (1 << 20)

typedef struct {
  const char *name;
  uint8_t bytes[32];
  size_t len;
} pattern;

static pattern patterns[MAX_PATTERNS];
static size_t pattern_count;
static volatile int watching;
static int expected;
static unsigned findings, blocks;
static uint8_t seed[32], expanded[4896], signature[4627], pkcs8[8192];
static const uint8_t zeros[32], message[] = "block 7";
/* What the generator returns. */
static const uint8_t drawn[32] = "these bytes hedge one signature";
static mldsa_private_key *last;

static void find(const char *where, const uint8_t *memory, size_t len) {
  size_t i;
  for (i = 0; i < pattern_count; i++)
    if (memmem(memory, len, patterns[i].bytes, patterns[i].len) != NULL) {
      findings++;
      if (!expected) printf("%s: %s\n", where, patterns[i].name);
      return;
    }
}

/* The definitions of a program replace those of the C library. */
ssize_t getrandom(void *buffer, size_t len, unsigned flags) {
  size_t i;
  (void)flags;
  for (i = 0; i < len; i++) ((uint8_t *)buffer)[i] = drawn[i % sizeof drawn];
  return (ssize_t)len;
}

void free(void *block) {
  if (block != NULL && watching) {
    blocks++;
    find("a freed block", block, malloc_usable_size(block));
  }
  __libc_free(block);
}

void *realloc(void *block, size_t size) {
  void *made = malloc(size);
  size_t old = block == NULL ? 0 : malloc_usable_size(block);
  if (made != NULL) {
    if (block != NULL) memcpy(made, block, old < size ? old : size);
    free(block);
  }
  return made;
}

static void add(const char *name, const void *bytes, size_t len) {
  pattern *p = &patterns[pattern_count];
  if (pattern_count == MAX_PATTERNS || len > sizeof p->bytes) abort();
  p->name = name;
  memcpy(p->bytes, bytes, len);
  p->len = len;
  pattern_count++;
}

/* The first eight coefficients of each polynomial of s1 and s2, in two representations. */
static void add_coefficients(uint32_t set) {
  int bits = set == MLDSA_65 ? 4 : 3, eta = set == MLDSA_65 ? 4 : 2;
  size_t polynomials = set == MLDSA_44 ? 8 : set == MLDSA_65 ? 11 : 15, n, i;
  for (n = 0; n < polynomials; n++) {
    size_t bit = 128 * 8 + n * 256 * (size_t)bits;
    int32_t plain[8], reduced[8];
    for (i = 0; i < 8; i++, bit += (size_t)bits) {
      unsigned two = expanded[bit / 8] | (unsigned)expanded[bit / 8 + 1] << 8;
      plain[i] = eta - (int)(two >> bit % 8 & ((1u << bits) - 1));
      reduced[i] = plain[i] < 0 ? plain[i] + 8380417 : plain[i];
    }
    add("coefficients", plain, sizeof plain);
    add("reduced coefficients", reduced, sizeof reduced);
  }
}

static void secrets(uint32_t set) {
  size_t i, len = mldsa_expanded_key_len(set);
  mldsa_private_key *key;
  pattern_count = 0;
  if (mldsa_private_key_from_seed(set, seed, 32, &key) != MLDSA_STATUS_OK ||
      mldsa_private_key_expanded(key, expanded, &len) != MLDSA_STATUS_OK)
    abort();
  add("the seed", seed, 32);
  add("rnd", drawn, 16);
  add("rnd", drawn + 16, 16);
  add("K", expanded + 32, 32);
  for (i = 128; i + 32 <= len; i += 32) add("the expanded key", expanded + i, 32);
  add_coefficients(set);
  mldsa_private_key_free(key);
}

/* All that a program does with private keys. Secrets are in static buffers. */
static void *use(void *argument) {
  uint32_t set = *(uint32_t *)argument;
  mldsa_private_key *key, *other;
  mldsa_public_key *public_key;
  int prepared;
  size_t len = sizeof pkcs8, expanded_len = mldsa_expanded_key_len(set), n;
  uint32_t form;
  if (mldsa_private_key_from_seed(set, seed, 32, &key) != MLDSA_STATUS_OK) abort();
  for (prepared = 0; prepared < 2; prepared++) {
    for (n = 0; n < 4; n++) {
      len = sizeof signature;
      if (mldsa_sign(key, message, sizeof message - n, NULL, 0, zeros, signature, &len) !=
          MLDSA_STATUS_OK)
        abort();
    }
    if (mldsa_private_key_prepare(key) != MLDSA_STATUS_OK) abort();
  }
  if (mldsa_private_key_public_key(key, &public_key) != MLDSA_STATUS_OK) abort();
  mldsa_public_key_free(public_key);
  for (form = 0; form < 3; form++) {
    len = sizeof pkcs8;
    if (mldsa_private_key_pkcs8(key, form, pkcs8, &len) != MLDSA_STATUS_OK ||
        mldsa_private_key_from_pkcs8(pkcs8, len, &other, NULL) != MLDSA_STATUS_OK)
      abort();
    mldsa_private_key_free(other);
  }
  if (mldsa_private_key_from_expanded(set, expanded, expanded_len, &other) != MLDSA_STATUS_OK) abort();
  mldsa_private_key_free(other);
  /* A rejected key is secret too. */
  expanded[expanded_len - 1] ^= 1;
  if (mldsa_private_key_from_expanded(set, expanded, expanded_len, &other) != MLDSA_STATUS_INCONSISTENT) abort();
  expanded[expanded_len - 1] ^= 1;
  /* Last, because later calls overwrite the randomness. */
  len = sizeof signature;
  if (mldsa_sign(key, message, sizeof message, NULL, 0, NULL, signature, &len) != MLDSA_STATUS_OK) abort();
  last = key;
  return NULL;
}

/* The search finds what is not wiped. A compiler may leave out stores before a call of `free`. */
static void control(void) {
  void (*volatile release)(void *) = free;
  uint8_t *block = malloc(200);
  if (block == NULL) abort();
  memcpy(block + 33, seed, 32);
  expected = watching = 1;
  release(block);
  expected = watching = 0;
  if (findings != 1) {
    printf("the search does not work\n");
    exit(1);
  }
  findings = 0;
}

int main(void) {
  static const uint32_t sets[3] = {MLDSA_44, MLDSA_65, MLDSA_87};
  size_t i, n, used = 0;
  uint8_t *stack = aligned_alloc(4096, STACK);
  if (stack == NULL) return 2;
  for (i = 0; i < 32; i++) seed[i] = (uint8_t)(17 * i + 1);
  for (n = 0; n < 3; n++) {
    uint32_t set = sets[n];
    pthread_attr_t attributes;
    pthread_t thread;
    secrets(set);
    control();
    memset(stack, 0, STACK);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK) != 0) return 2;
    watching = 1;
    if (pthread_create(&thread, &attributes, use, &set) != 0) return 2;
    pthread_join(thread, NULL);
    mldsa_private_key_free(last);
    watching = 0;
    find("the stack", stack, STACK);
    for (i = 0; i < STACK; i++) used += stack[i] != 0;
  }
  if (blocks == 0 || used == 0) {
    printf("nothing was searched\n");
    return 1;
  }
  printf("%u freed blocks and the stack: %u secrets\n", blocks, findings);
  return findings != 0;
}
