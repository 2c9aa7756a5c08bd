/* Outputs after errors, and private keys that have the length of a public one. */
#include "check.h"

/* A private key of ML-DSA-44, seed and expanded key, has the length of a public key of ML-DSA-87. */
static void joined_keys(void) {
  static uint8_t joined[32 + 2560], spki[2614];
  mldsa_private_key *key;
  mldsa_public_key *public_key;
  size_t len = 2560;
  memset(joined, 9, 32);
  IS(mldsa_private_key_from_seed(MLDSA_44, joined, 32, &key), OK);
  IS(mldsa_private_key_expanded(key, joined + 32, &len), OK);
  IS(mldsa_public_key_new(MLDSA_87, joined, sizeof joined, &public_key), PRIVATE);
  CHECK(public_key == NULL);
  joined[0] ^= 1;
  IS(mldsa_public_key_new(MLDSA_87, joined, sizeof joined, &public_key), OK);
  /* The same in a key file. */
  len = sizeof spki;
  IS(mldsa_public_key_spki(public_key, spki, &len), OK);
  mldsa_public_key_free(public_key);
  IS(mldsa_public_key_from_spki(spki, len, &public_key, NULL), OK);
  mldsa_public_key_free(public_key);
  spki[len - sizeof joined] ^= 1;
  IS(mldsa_public_key_from_spki(spki, len, &public_key, NULL), PRIVATE);
  CHECK(public_key == NULL);
  mldsa_private_key_free(key);
}

/* After an error that is no verdict no byte is a valid verdict, and other outputs are defined. */
static void outputs_after_errors(signer *s) {
  mldsa_batch *batch;
  mldsa_committee *committee;
  mldsa_item item = {NULL, 0, NULL, 0, NULL, 0};
  mldsa_packed_item packed = {0, 0, 0, 0, 0, 0};
  mldsa_vote vote = {0, NULL, 0, NULL, 0};
  mldsa_packed_vote packed_vote = {0, 0, 0, 0, 0};
  mldsa_quorum quorum;
  uint64_t weight = 1, gas;
  uint32_t index;
  uint8_t v[3], out[8192];
  size_t len;
#define CLEARED(call, want)               \
  do {                                    \
    memset(v, MLDSA_VERDICT_VALID, 3);    \
    IS(call, want);                       \
    CHECK(v[0] == 0 && v[1] == 0);        \
    CHECK(v[2] == MLDSA_VERDICT_VALID);   \
  } while (0)
  IS(mldsa_batch_new(s->set, MLDSA_THREADS_CALLING, 0, &batch), OK);
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, s->encoded, s->encoded_len, &weight, 1,
                         &committee),
     OK);
  CLEARED(mldsa_batch_verify(NULL, NULL, 0, &item, 2, v), NULL_POINTER);
  CLEARED(mldsa_batch_verify(batch, NULL, 5, &item, 2, v), NULL_POINTER);
  CLEARED(mldsa_batch_verify(batch, long_context, 256, &item, 2, v), CONTEXT_LENGTH);
  CLEARED(mldsa_batch_verify(batch, NULL, 0, NULL, 2, v), NULL_POINTER);
  CLEARED(mldsa_batch_verify_packed(NULL, NULL, 0, NULL, 0, &packed, 2, v), NULL_POINTER);
  CLEARED(mldsa_batch_verify_packed(batch, NULL, 5, NULL, 0, &packed, 2, v), NULL_POINTER);
  CLEARED(mldsa_batch_verify_packed(batch, NULL, 0, NULL, 9, &packed, 2, v), NULL_POINTER);
  CLEARED(mldsa_batch_verify_packed(batch, NULL, 0, NULL, 0, NULL, 2, v), NULL_POINTER);
  CLEARED(mldsa_committee_verify_batch(NULL, &vote, 2, v), NULL_POINTER);
  CLEARED(mldsa_committee_verify_batch(committee, NULL, 2, v), NULL_POINTER);
  CLEARED(mldsa_committee_verify_batch_packed(NULL, NULL, 0, &packed_vote, 2, v), NULL_POINTER);
  CLEARED(mldsa_committee_verify_batch_packed(committee, NULL, 9, &packed_vote, 2, v), NULL_POINTER);
  CLEARED(mldsa_committee_verify_batch_packed(committee, NULL, 0, NULL, 2, v), NULL_POINTER);
  memset(&quorum, 7, sizeof quorum);
  IS(mldsa_committee_verify_quorum(NULL, 0, NULL, 0, &vote, 1, &quorum), NULL_POINTER);
  CHECK(quorum.weight == 0 && quorum.vote == UINT64_MAX && quorum.reason == 0);
  memset(&quorum, 7, sizeof quorum);
  IS(mldsa_committee_verify_quorum_packed(committee, 0, NULL, 0, NULL, 3, &packed_vote, 1, &quorum),
     NULL_POINTER);
  CHECK(quorum.weight == 0 && quorum.vote == UINT64_MAX && quorum.reason == 0);
  index = 0;
  IS(mldsa_committee_index(NULL, NULL, 0, &index), NULL_POINTER);
  CHECK(index == UINT32_MAX);
  index = 0;
  IS(mldsa_committee_index(committee, s->encoded, 7, &index), UNKNOWN_MEMBER);
  CHECK(index == UINT32_MAX);
  gas = 7;
  v[0] = 1;
  IS(mldsa_eip8355(s->set, NULL, 3, 1, &gas, v), NULL_POINTER);
  CHECK(gas == 0 && v[0] == 0);
  /* Lengths and buffers of signing. */
  memset(out, 7, sizeof out);
#define KEPT(call, want)                                \
  do {                                                  \
    len = 8000;                                         \
    IS(call, want);                                     \
    CHECK(len == 8000 && out[0] == 7 && out[100] == 7); \
  } while (0)
  KEPT(mldsa_sign(s->key, NULL, 1, NULL, 0, NULL, out, &len), NULL_POINTER);
  KEPT(mldsa_sign(s->key, message, 1, long_context, 256, NULL, out, &len), CONTEXT_LENGTH);
  KEPT(mldsa_sign(s->key, message, 1, NULL, 0, NULL, NULL, &len), NULL_POINTER);
  KEPT(mldsa_sign_mu(s->key, message, 3, NULL, out, &len), DIGEST_LENGTH);
  KEPT(mldsa_sign_prehashed(s->key, MLDSA_HASH_SHA2_224, zeros, 28, NULL, 0, NULL, out, &len),
       WEAK_PREHASH);
  KEPT(mldsa_private_key_pkcs8(s->key, 9, out, &len), ARGUMENT);
  mldsa_batch_free(batch);
  mldsa_committee_free(committee);
}

int main(void) {
  size_t i;
  joined_keys();
  for (i = 0; i < 3; i++) {
    signer one;
    make(&one, sets[i], 1);
    outputs_after_errors(&one);
    drop(&one);
  }
  printf("%u checks, %u failures\n", checks, failures);
  return failures != 0;
}
