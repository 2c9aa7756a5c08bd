/* Bytes of stack that each function takes below its call, the largest of two calls: one line
 * "FUNCTION 44 65 87" each. Everything runs in a thread whose stack is painted before each call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldsa.h"

#define STACK (1024 * 1024)
#define PAINT 0xa5
/* More items than the library verifies at once. */
#define ITEMS 80

static uint8_t *stack;
static uint32_t set;
static mldsa_private_key *key, *other;
static mldsa_public_key *public_key, *prepared, *other_public;
static mldsa_committee *committee, *other_committee;
static mldsa_batch *batch, *other_batch;
static mldsa_mu *other_mu;
static uint8_t seed[32], message[300], encoded[2592], expanded[4896], pkcs8[5000], spki[2700];
static uint8_t signature[4627], precompile[8000], verdicts[ITEMS], digest[64];
static size_t encoded_len, expanded_len, pkcs8_len, spki_len, signature_len;
static mldsa_item items[ITEMS];
static mldsa_vote votes[ITEMS];
static uint64_t weight = 1, gas;

static void require(mldsa_status status) {
  if (status == MLDSA_STATUS_OK) return;
  printf("%s\n", mldsa_status_name(status));
  exit(1);
}

static void generate(void) { require(mldsa_private_key_generate(set, &other)); }
static void from_seed(void) { require(mldsa_private_key_from_seed(set, seed, 32, &other)); }
static void from_expanded(void) {
  require(mldsa_private_key_from_expanded(set, expanded, expanded_len, &other));
}
static void from_pkcs8(void) { require(mldsa_private_key_from_pkcs8(pkcs8, pkcs8_len, &other, NULL)); }
static void to_pkcs8(void) {
  size_t len = sizeof pkcs8;
  require(mldsa_private_key_pkcs8(key, MLDSA_PKCS8_BOTH, pkcs8, &len));
}
static void prepare_private(void) { require(mldsa_private_key_prepare(other)); }
static void sign(void) {
  size_t len = sizeof signature;
  require(mldsa_sign(key, message, sizeof message, NULL, 0, NULL, signature, &len));
}
static void sign_prehashed(void) {
  size_t len = sizeof signature;
  require(mldsa_sign_prehashed(key, MLDSA_HASH_SHAKE256, digest, 64, NULL, 0, NULL, signature, &len));
}
static void sign_mu(void) {
  size_t len = sizeof signature;
  require(mldsa_sign_mu(key, digest, 64, NULL, signature, &len));
}
static void public_new(void) {
  require(mldsa_public_key_new(set, encoded, encoded_len, &other_public));
}
static void from_spki(void) { require(mldsa_public_key_from_spki(spki, spki_len, &other_public, NULL)); }
static void of_private(void) { require(mldsa_private_key_public_key(key, &other_public)); }
static void prepare_public(void) { require(mldsa_public_key_prepare(other_public)); }
static void verify(void) {
  require(mldsa_verify(public_key, message, sizeof message, NULL, 0, signature, signature_len));
}
static void verify_prepared(void) {
  require(mldsa_verify(prepared, message, sizeof message, NULL, 0, signature, signature_len));
}
static void make_mu(void) {
  require(mldsa_mu_new(public_key, NULL, 0, &other_mu));
  require(mldsa_mu_update(other_mu, message, sizeof message));
  require(mldsa_mu_finish(other_mu, digest, 64));
}
static void batch_new(void) { require(mldsa_batch_new(set, MLDSA_THREADS_CALLING, 0, &other_batch)); }
static void batch_verify(void) {
  require(mldsa_batch_verify(batch, NULL, 0, items, ITEMS, verdicts));
}
static void committee_new(void) {
  require(mldsa_committee_new(&(mldsa_committee_options){1, set, MLDSA_THREADS_CALLING, 2, 3}, NULL, 0, encoded,
                              encoded_len, &weight, 1, &other_committee));
}
static void successor(void) {
  require(mldsa_committee_successor(committee, 2, encoded, encoded_len, &weight, 1,
                                    &other_committee));
}
static void committee_verify(void) {
  require(mldsa_committee_verify_batch(committee, votes, ITEMS, verdicts));
}
static void quorum(void) {
  mldsa_quorum result;
  require(mldsa_committee_verify_quorum(committee, MLDSA_RULE_CERTIFICATE_WITH_DUPLICATES, message,
                                 sizeof message, votes, ITEMS, &result));
}
static void eip8355(void) {
  uint8_t valid;
  require(mldsa_eip8355(set, precompile, encoded_len + signature_len + sizeof message, 10000000,
                        &gas, &valid));
  if (!valid) exit(1);
}
static void self_test(void) { require(mldsa_self_test()); }

/* Frees what a function has made. */
static void release(void) {
  mldsa_private_key_free(other);
  mldsa_public_key_free(other_public);
  mldsa_committee_free(other_committee);
  mldsa_batch_free(other_batch);
  mldsa_mu_free(other_mu);
  other = NULL;
  other_public = NULL;
  other_committee = NULL;
  other_batch = NULL;
  other_mu = NULL;
}

static const struct {
  const char *name;
  void (*call)(void);
  void (*before)(void);
} functions[] = {
    {"mldsa_private_key_generate", generate, NULL},
    {"mldsa_private_key_from_seed", from_seed, NULL},
    {"mldsa_private_key_from_expanded", from_expanded, NULL},
    {"mldsa_private_key_from_pkcs8", from_pkcs8, NULL},
    {"mldsa_private_key_pkcs8", to_pkcs8, NULL},
    {"mldsa_private_key_public_key", of_private, NULL},
    {"mldsa_private_key_prepare", prepare_private, from_seed},
    {"mldsa_public_key_new", public_new, NULL},
    {"mldsa_public_key_from_spki", from_spki, NULL},
    {"mldsa_public_key_prepare", prepare_public, public_new},
    {"mldsa_verify", verify, NULL},
    {"mldsa_verify, prepared", verify_prepared, NULL},
    {"mldsa_mu_*", make_mu, NULL},
    {"mldsa_batch_new", batch_new, NULL},
    {"mldsa_batch_verify", batch_verify, NULL},
    {"mldsa_committee_new", committee_new, NULL},
    {"mldsa_committee_successor", successor, NULL},
    {"mldsa_committee_verify_batch", committee_verify, NULL},
    {"mldsa_committee_verify_quorum", quorum, NULL},
    {"mldsa_eip8355", eip8355, NULL},
    {"mldsa_self_test", self_test, NULL},
    {"mldsa_sign", sign, NULL},
    {"mldsa_sign_prehashed", sign_prehashed, NULL},
    {"mldsa_sign_mu", sign_mu, NULL},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static void setup(void) {
  size_t i;
  encoded_len = sizeof encoded;
  expanded_len = sizeof expanded;
  pkcs8_len = sizeof pkcs8;
  spki_len = sizeof spki;
  signature_len = sizeof signature;
  require(mldsa_private_key_from_seed(set, seed, 32, &key));
  require(mldsa_private_key_public_key(key, &public_key));
  require(mldsa_private_key_public_key(key, &prepared));
  require(mldsa_public_key_prepare(prepared));
  require(mldsa_public_key_bytes(public_key, encoded, &encoded_len));
  require(mldsa_public_key_spki(public_key, spki, &spki_len));
  require(mldsa_private_key_expanded(key, expanded, &expanded_len));
  require(mldsa_private_key_pkcs8(key, MLDSA_PKCS8_BOTH, pkcs8, &pkcs8_len));
  require(mldsa_sign(key, message, sizeof message, NULL, 0, NULL, signature, &signature_len));
  memcpy(precompile, encoded, encoded_len);
  memcpy(precompile + encoded_len, signature, signature_len);
  memcpy(precompile + encoded_len + signature_len, message, sizeof message);
  for (i = 0; i < ITEMS; i++) {
    mldsa_item item = {encoded, encoded_len, message, sizeof message, signature, signature_len};
    mldsa_vote vote = {0, message, sizeof message, signature, signature_len};
    items[i] = item;
    votes[i] = vote;
  }
  require(mldsa_batch_new(set, MLDSA_THREADS_CALLING, 0, &batch));
  require(mldsa_committee_new(&(mldsa_committee_options){1, set, MLDSA_THREADS_CALLING, 2, 3}, NULL, 0, encoded,
                              encoded_len, &weight, 1, &committee));
}

static void teardown(void) {
  mldsa_private_key_free(key);
  mldsa_public_key_free(public_key);
  mldsa_public_key_free(prepared);
  mldsa_batch_free(batch);
  mldsa_committee_free(committee);
}

/* Bytes below this frame that `call` wrote. */
__attribute__((noinline)) static size_t depth(void (*call)(void)) {
  uint8_t *top = __builtin_frame_address(0), *at;
  for (at = stack; at < top - 256; at++) *(volatile uint8_t *)at = PAINT;
  call();
  for (at = stack; *(volatile uint8_t *)at == PAINT; at++) {
  }
  return (size_t)(top - at);
}

static void planted(void) {
  volatile uint8_t frame[20000];
  size_t i;
  for (i = 0; i < sizeof frame; i++) frame[i] = 1;
}

static size_t depths[FUNCTIONS][3];

static void *measure(void *unused) {
  static const uint32_t sets[3] = {MLDSA_44, MLDSA_65, MLDSA_87};
  size_t s, i, n, found = depth(planted);
  if (found < 20000 || found > 21000) {
    printf("a frame of 20000 bytes measured %zu\n", found);
    exit(1);
  }
  for (s = 0; s < 3; s++) {
    set = sets[s];
    setup();
    for (i = 0; i < FUNCTIONS; i++) {
      for (n = 0; n < 2; n++) {
        if (functions[i].before != NULL) functions[i].before();
        found = depth(functions[i].call);
        if (found > depths[i][s]) depths[i][s] = found;
        release();
      }
    }
    teardown();
  }
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  size_t i;
  stack = aligned_alloc(4096, STACK);
  if (stack == NULL || pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, stack, STACK) != 0 ||
      pthread_create(&thread, &attributes, measure, NULL) != 0)
    return 2;
  pthread_join(thread, NULL);
  for (i = 0; i < FUNCTIONS; i++)
    printf("%s\t%zu\t%zu\t%zu\n", functions[i].name, depths[i][0], depths[i][1], depths[i][2]);
  return 0;
}
