/* Checks that count, and the keys of the programs that misuse the library. */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldsa.h"

static unsigned checks, failures;

#define CHECK(condition)                                             \
  do {                                                               \
    checks++;                                                        \
    if (!(condition)) {                                              \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
      failures++;                                                    \
    }                                                                \
  } while (0)

#define IS(call, want) CHECK((call) == MLDSA_STATUS_##want)

static const uint32_t sets[3] = {MLDSA_44, MLDSA_65, MLDSA_87};
static const uint8_t zeros[32];
static const uint8_t message[] = "block 7";
static uint8_t long_context[256];

/* Options of a committee of epoch 1. */
static const mldsa_committee_options *options(uint32_t set, uint32_t numerator, uint32_t denominator) {
  static mldsa_committee_options made;
  mldsa_committee_options wanted = {1, set, MLDSA_THREADS_CALLING, 0, 0};
  wanted.numerator = numerator;
  wanted.denominator = denominator;
  made = wanted;
  return &made;
}

typedef struct {
  uint32_t set;
  mldsa_private_key *key;
  mldsa_public_key *public_key;
  uint8_t encoded[2592], signature[4627];
  size_t encoded_len, signature_len;
} signer;

static void make(signer *s, uint32_t set, uint8_t number) {
  uint8_t seed[32];
  memset(seed, number, sizeof seed);
  memset(s, 0, sizeof *s);
  s->set = set;
  s->encoded_len = sizeof s->encoded;
  s->signature_len = sizeof s->signature;
  IS(mldsa_private_key_from_seed(set, seed, 32, &s->key), OK);
  IS(mldsa_private_key_public_key(s->key, &s->public_key), OK);
  IS(mldsa_public_key_bytes(s->public_key, s->encoded, &s->encoded_len), OK);
  IS(mldsa_sign(s->key, message, sizeof message, NULL, 0, zeros, s->signature, &s->signature_len),
     OK);
  CHECK(s->encoded_len == mldsa_public_key_len(set));
  CHECK(s->signature_len == mldsa_signature_len(set));
}

static void drop(signer *s) {
  mldsa_private_key_free(s->key);
  mldsa_public_key_free(s->public_key);
}
