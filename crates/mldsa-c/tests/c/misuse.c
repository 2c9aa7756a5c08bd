/* Misuse of every function: null pointers, wrong lengths, unknown numbers, mixed parameter sets,
 * empty and large batches, failures after which an output has to be null. */
#include "check.h"

static void numbers(void) {
  int32_t status;
  CHECK(mldsa_abi_version() == MLDSA_ABI_VERSION);
  IS(mldsa_self_test(), OK);
  CHECK(strcmp(mldsa_status_name(0), "ok") == 0);
  CHECK(strcmp(mldsa_status_name(1), "unknown") == 0);
  CHECK(strcmp(mldsa_status_name(-1), "unknown") == 0);
  for (status = -300; status < 300; status++) CHECK(mldsa_status_name(status)[0] != 0);
  CHECK(mldsa_public_key_len(0) == 0 && mldsa_signature_len(43) == 0);
  CHECK(mldsa_expanded_key_len(65) == 4032 && mldsa_expanded_key_len(0xffffffff) == 0);
}

static void private_keys(signer *s) {
  mldsa_private_key *key = (mldsa_private_key *)&key;
  uint8_t buffer[8192], k[32];
  size_t len = 0, form;
  IS(mldsa_private_key_generate(0, &key), UNKNOWN_SET);
  CHECK(key == NULL);
  IS(mldsa_private_key_generate(s->set, NULL), NULL_POINTER);
  IS(mldsa_private_key_from_seed(s->set, NULL, 32, &key), NULL_POINTER);
  IS(mldsa_private_key_from_seed(s->set, zeros, 31, &key), KEY_LENGTH);
  IS(mldsa_private_key_from_seed(s->set, zeros, 0, &key), KEY_LENGTH);
  IS(mldsa_private_key_from_seed(66, zeros, 32, &key), UNKNOWN_SET);
  IS(mldsa_private_key_from_seed(s->set, zeros, (size_t)-1, &key), TOO_LARGE);
  IS(mldsa_private_key_from_expanded(s->set, zeros, 32, &key), KEY_LENGTH);
  IS(mldsa_private_key_from_pkcs8(zeros, 32, &key, NULL), PEM_MISSING);
  IS(mldsa_private_key_from_pkcs8((const uint8_t *)"-----BEGIN", 10, &key, NULL), PEM_BOUNDARY);
  IS(mldsa_private_key_from_pkcs8(NULL, 0, &key, NULL), PEM_MISSING);
  CHECK(key == NULL);

  /* Sizes are queried with a null buffer. */
  IS(mldsa_private_key_expanded(s->key, NULL, &len), BUFFER_LENGTH);
  CHECK(len == mldsa_expanded_key_len(s->set));
  IS(mldsa_private_key_expanded(s->key, NULL, &len), NULL_POINTER);
  IS(mldsa_private_key_expanded(s->key, buffer, NULL), NULL_POINTER);
  len = 8192;
  IS(mldsa_private_key_expanded(NULL, buffer, &len), NULL_POINTER);
  len = 8192;
  IS(mldsa_private_key_expanded(s->key, buffer, &len), OK);
  /* A changed expanded key is rejected. */
  buffer[len - 1] ^= 1;
  IS(mldsa_private_key_from_expanded(s->set, buffer, len, &key), INCONSISTENT);
  memcpy(k, buffer + 32, 32);
  memset(buffer + 32, 7, 32);
  IS(mldsa_private_key_from_expanded(s->set, buffer, len, &key), CONSTANT_K);
  memcpy(buffer + 32, k, 32);
  CHECK(key == NULL);
  buffer[len - 1] ^= 1;
  IS(mldsa_private_key_from_expanded(s->set, buffer, len, &key), OK);
  len = 8192;
  IS(mldsa_private_key_seed(key, buffer, &len), NO_SEED);
  IS(mldsa_private_key_pkcs8(key, MLDSA_PKCS8_SEED, buffer, &len), NO_SEED);
  IS(mldsa_private_key_pkcs8(key, MLDSA_PKCS8_EXPANDED, buffer, &len), OK);
  mldsa_private_key_free(key);
  for (form = 0; form < 3; form++) {
    len = 8192;
    IS(mldsa_private_key_pkcs8(s->key, (uint32_t)form, buffer, &len), OK);
    IS(mldsa_private_key_from_pkcs8(buffer, len, &key, NULL), OK);
    CHECK(mldsa_private_key_set(key) == s->set);
    mldsa_private_key_free(key);
    IS(mldsa_private_key_from_pkcs8(buffer, len - 1, &key, NULL), STRUCTURE);
  }
  len = 8192;
  IS(mldsa_private_key_pkcs8(s->key, 3, buffer, &len), ARGUMENT);
  IS(mldsa_private_key_generate(s->set, &key), OK);
  IS(mldsa_private_key_prepare(key), OK);
  IS(mldsa_private_key_prepare(key), OK);
  mldsa_private_key_free(key);
  IS(mldsa_private_key_prepare(NULL), NULL_POINTER);
  IS(mldsa_private_key_set_self_verification(NULL, 1), NULL_POINTER);
  IS(mldsa_private_key_set_self_verification(s->key, 2), ARGUMENT);
  /* The same signatures without the verification, with it, prepared and not. */
  for (form = 0; form < 4; form++) {
    IS(mldsa_private_key_set_self_verification(s->key, form % 2), OK);
    len = 8192;
    IS(mldsa_sign(s->key, message, sizeof message, NULL, 0, zeros, buffer, &len), OK);
    CHECK(len == s->signature_len && memcmp(buffer, s->signature, len) == 0);
    if (form == 1) IS(mldsa_private_key_prepare(s->key), OK);
  }
  mldsa_private_key_free(NULL);
  CHECK(mldsa_private_key_set(NULL) == 0);
}

static void public_keys(signer *s) {
  uint32_t other = s->set == 87 ? 44 : 87;
  mldsa_signature *decoded = (mldsa_signature *)&decoded;
  mldsa_public_key *key = (mldsa_public_key *)&key;
  uint8_t buffer[8192];
  size_t len = sizeof buffer;
  IS(mldsa_public_key_new(s->set, s->encoded, s->encoded_len - 1, &key), KEY_LENGTH);
  CHECK(key == NULL);
  IS(mldsa_public_key_new(s->set, NULL, s->encoded_len, &key), NULL_POINTER);
  IS(mldsa_public_key_new(s->set + 1, s->encoded, s->encoded_len, &key), UNKNOWN_SET);
  IS(mldsa_public_key_new(s->set, s->encoded, s->encoded_len, NULL), NULL_POINTER);
  IS(mldsa_public_key_spki(s->public_key, buffer, &len), OK);
  CHECK(len == s->encoded_len + 22);
  IS(mldsa_public_key_from_spki(buffer, len, &key, NULL), OK);
  CHECK(mldsa_public_key_set(key) == s->set);
  mldsa_public_key_free(key);
  IS(mldsa_public_key_from_spki(buffer, len - 1, &key, NULL), STRUCTURE);
  CHECK(key == NULL);
  mldsa_public_key_free(NULL);
  CHECK(mldsa_public_key_set(NULL) == 0);
  len = 1;
  IS(mldsa_public_key_bytes(s->public_key, buffer, &len), BUFFER_LENGTH);
  CHECK(len == s->encoded_len);
  IS(mldsa_public_key_prepare(NULL), NULL_POINTER);
  IS(mldsa_signature_decode(s->set, NULL, s->signature_len, &decoded), NULL_POINTER);
  CHECK(decoded == NULL);
  IS(mldsa_signature_decode(s->set, s->signature, s->signature_len, NULL), NULL_POINTER);
  IS(mldsa_signature_decode(s->set + 1, s->signature, s->signature_len, &decoded), UNKNOWN_SET);
  IS(mldsa_signature_decode(s->set, s->signature, s->signature_len - 1, &decoded), SIGNATURE_LENGTH);
  IS(mldsa_verify_decoded(s->public_key, NULL, 0, NULL, 0, NULL), NULL_POINTER);
  IS(mldsa_signature_decode(s->set, s->signature, s->signature_len, &decoded), OK);
  IS(mldsa_verify_decoded(NULL, NULL, 0, NULL, 0, decoded), NULL_POINTER);
  mldsa_signature_free(decoded);
  /* Of another set. The hint of no ones is well-formed. */
  memset(buffer, 0, sizeof buffer);
  IS(mldsa_signature_decode(other, buffer, mldsa_signature_len(other), &decoded), OK);
  IS(mldsa_verify_decoded(s->public_key, NULL, 0, NULL, 0, decoded), SIGNATURE_LENGTH);
  mldsa_signature_free(decoded);
  mldsa_signature_free(NULL);
  IS(mldsa_private_key_public_key(NULL, &key), NULL_POINTER);
}

static void signatures(signer *s) {
  uint8_t out[8192], mu[64], digest[64] = {0};
  size_t len = 0;
  mldsa_mu *state = NULL;
  IS(mldsa_sign(s->key, message, 1, NULL, 0, NULL, NULL, &len), BUFFER_LENGTH);
  CHECK(len == s->signature_len);
  memset(out, 7, sizeof out);
  len = s->signature_len - 1;
  IS(mldsa_sign(s->key, message, 1, NULL, 0, NULL, out, &len), BUFFER_LENGTH);
  CHECK(out[0] == 7);
  IS(mldsa_sign(s->key, NULL, 1, NULL, 0, NULL, out, &len), NULL_POINTER);
  IS(mldsa_sign(NULL, message, 1, NULL, 0, NULL, out, &len), NULL_POINTER);
  IS(mldsa_sign(s->key, message, 1, long_context, 256, NULL, out, &len), CONTEXT_LENGTH);
  IS(mldsa_sign(s->key, message, 1, NULL, 3, NULL, out, &len), NULL_POINTER);
  IS(mldsa_sign(s->key, message, 1, NULL, 0, NULL, out, NULL), NULL_POINTER);
  IS(mldsa_sign_mu(s->key, mu, 63, zeros, out, &len), DIGEST_LENGTH);
  IS(mldsa_sign_prehashed(s->key, 0, digest, 32, NULL, 0, zeros, out, &len), ARGUMENT);
  IS(mldsa_sign_prehashed(s->key, 13, digest, 32, NULL, 0, zeros, out, &len), ARGUMENT);
  len = sizeof out;
  IS(mldsa_sign_prehashed(s->key, MLDSA_HASH_SHA2_512, digest, 63, NULL, 0, zeros, out, &len),
     DIGEST_LENGTH);
  len = sizeof out;
  IS(mldsa_sign_prehashed(s->key, MLDSA_HASH_SHA2_224, digest, 28, NULL, 0, zeros, out, &len),
     WEAK_PREHASH);
  len = sizeof out;
  IS(mldsa_sign_prehashed(s->key, MLDSA_HASH_SHA2_512, digest, 64, NULL, 0, NULL, out, &len), OK);
  IS(mldsa_verify_prehashed(s->public_key, MLDSA_HASH_SHA2_512, digest, 64, NULL, 0, out, len), OK);
  IS(mldsa_verify_prehashed(s->public_key, MLDSA_HASH_SHA3_512, digest, 64, NULL, 0, out, len),
     CHALLENGE_MISMATCH);
  IS(mldsa_verify_prehashed(s->public_key, 99, digest, 64, NULL, 0, out, len), ARGUMENT);
  IS(mldsa_verify(s->public_key, digest, 64, NULL, 0, out, len), CHALLENGE_MISMATCH);

  IS(mldsa_verify(s->public_key, message, sizeof message, NULL, 0, s->signature, s->signature_len),
     OK);
  IS(mldsa_verify(s->public_key, message, sizeof message, zeros, 1, s->signature,
                  s->signature_len),
     CHALLENGE_MISMATCH);
  IS(mldsa_verify(s->public_key, message, sizeof message, NULL, 0, s->signature,
                  s->signature_len - 1),
     SIGNATURE_LENGTH);
  IS(mldsa_verify(s->public_key, message, sizeof message, NULL, 0, NULL, s->signature_len),
     NULL_POINTER);
  IS(mldsa_verify(s->public_key, message, sizeof message, NULL, 0, NULL, 0), SIGNATURE_LENGTH);
  IS(mldsa_verify(NULL, message, sizeof message, NULL, 0, s->signature, s->signature_len),
     NULL_POINTER);
  IS(mldsa_verify(s->public_key, message, sizeof message, long_context, 256, s->signature,
                  s->signature_len),
     CONTEXT_LENGTH);
  IS(mldsa_verify(s->public_key, message, (size_t)-1, NULL, 0, s->signature, s->signature_len),
     TOO_LARGE);

  IS(mldsa_mu_new(NULL, NULL, 0, &state), NULL_POINTER);
  IS(mldsa_mu_new(s->public_key, long_context, 256, &state), CONTEXT_LENGTH);
  CHECK(state == NULL);
  IS(mldsa_mu_update(NULL, message, 1), NULL_POINTER);
  IS(mldsa_mu_finish(NULL, mu, 64), NULL_POINTER);
  IS(mldsa_mu_new(s->public_key, NULL, 0, &state), OK);
  IS(mldsa_mu_update(state, NULL, 1), NULL_POINTER);
  IS(mldsa_mu_update(state, message, 3), OK);
  IS(mldsa_mu_finish(state, mu, 63), BUFFER_LENGTH);
  IS(mldsa_mu_finish(state, NULL, 64), NULL_POINTER);
  /* The state can be read at any point. */
  IS(mldsa_mu_finish(state, mu, 64), OK);
  IS(mldsa_mu_update(state, message + 3, sizeof message - 3), OK);
  IS(mldsa_mu_finish(state, mu, 64), OK);
  IS(mldsa_verify_mu(s->public_key, mu, 64, s->signature, s->signature_len), OK);
  IS(mldsa_verify_mu(s->public_key, mu, 65, s->signature, s->signature_len), DIGEST_LENGTH);
  mldsa_mu_free(state);
  mldsa_mu_free(NULL);
}

#define MANY 100000

static void batches(signer *s, signer *other) {
  mldsa_batch *batch = (mldsa_batch *)&batch;
  mldsa_item *items = calloc(MANY, sizeof *items);
  mldsa_packed_item packed[4];
  uint8_t *verdicts = calloc(MANY, 1), *data = malloc(16384);
  uint8_t damaged[4627];
  size_t i;
  if (items == NULL || verdicts == NULL || data == NULL) exit(2);
  IS(mldsa_batch_new(s->set, 2, 0, &batch), ARGUMENT);
  CHECK(batch == NULL);
  IS(mldsa_batch_new(2, 0, 0, &batch), UNKNOWN_SET);
  IS(mldsa_batch_new(0, 0, 0, &batch), UNKNOWN_SET);
  IS(mldsa_batch_new(s->set, MLDSA_THREADS_CALLING, 1 << 20, &batch), OK);
  mldsa_batch_free(NULL);

  IS(mldsa_batch_verify(batch, NULL, 0, NULL, 0, NULL), EMPTY_BATCH);
  IS(mldsa_batch_verify(batch, NULL, 0, NULL, 1, verdicts), NULL_POINTER);
  IS(mldsa_batch_verify(batch, NULL, 0, items, 1, NULL), NULL_POINTER);
  IS(mldsa_batch_verify(NULL, NULL, 0, items, 1, verdicts), NULL_POINTER);
  IS(mldsa_batch_verify(batch, NULL, 0, items, (size_t)-1, verdicts), TOO_LARGE);

  /* The same valid item many times; every thousandth is wrong in one of six ways. */
  memcpy(damaged, s->signature, s->signature_len);
  damaged[0] ^= 1;
  for (i = 0; i < MANY; i++) {
    mldsa_item item = {s->encoded, s->encoded_len, message, sizeof message, s->signature,
                       s->signature_len};
    if (i % 1000 == 0) switch (i / 1000 % 6) {
        case 0: item.signature = damaged; break;
        case 1: item.public_key = NULL; break;
        case 2: item.public_key = other->encoded; item.public_key_len = other->encoded_len; break;
        case 3: item.signature_len--; break;
        case 4: item.message = NULL; item.message_len = 0; break;
        default: item.signature = other->signature; item.signature_len = other->signature_len;
      }
    items[i] = item;
  }
  memset(verdicts, MLDSA_VERDICT_VALID, MANY);
  IS(mldsa_batch_verify(batch, long_context, 256, items, MANY, verdicts), CONTEXT_LENGTH);
  CHECK(verdicts[1] == 0 && verdicts[MANY - 1] == 0);
  IS(mldsa_batch_verify(batch, NULL, 0, items, MANY, verdicts), REJECTED);
  for (i = 0; i < MANY; i++) {
    static const uint8_t want[6] = {
        MLDSA_STATUS_CHALLENGE_MISMATCH, MLDSA_STATUS_NULL_POINTER,
        MLDSA_STATUS_PUBLIC_KEY_LENGTH, MLDSA_STATUS_SIGNATURE_LENGTH,
        MLDSA_STATUS_CHALLENGE_MISMATCH, MLDSA_STATUS_SIGNATURE_LENGTH};
    if (verdicts[i] != (i % 1000 == 0 ? want[i / 1000 % 6] : MLDSA_VERDICT_VALID)) break;
  }
  CHECK(i == MANY);
  /* Items of two parameter sets. */
  {
    mldsa_batch *any;
    items[0].public_key = other->encoded;
    items[0].public_key_len = other->encoded_len;
    items[0].signature = other->signature;
    items[0].signature_len = other->signature_len;
    items[2] = items[3] = items[0];
    items[2].signature_len--;
    items[3].public_key_len--;
    IS(mldsa_batch_new(MLDSA_ANY, MLDSA_THREADS_CALLING, 1 << 20, &any), OK);
    IS(mldsa_batch_verify(any, NULL, 0, items, 2, verdicts), OK);
    IS(mldsa_batch_verify(any, NULL, 0, items, 5, verdicts), REJECTED);
    CHECK(verdicts[0] == MLDSA_VERDICT_VALID && verdicts[1] == MLDSA_VERDICT_VALID);
    CHECK(verdicts[2] == MLDSA_STATUS_SIGNATURE_LENGTH && verdicts[4] == MLDSA_VERDICT_VALID);
    CHECK(verdicts[3] == MLDSA_STATUS_PUBLIC_KEY_LENGTH);
    mldsa_batch_free(any);
    items[2] = items[3] = items[1];
  }
  /* The verifier can be used again. */
  IS(mldsa_batch_verify(batch, NULL, 0, items + 1, 999, verdicts), OK);
  IS(mldsa_batch_verify(batch, zeros, 1, items + 1, 999, verdicts), REJECTED);

  memcpy(data, s->encoded, s->encoded_len);
  memcpy(data + 4096, s->signature, s->signature_len);
  memcpy(data + 16000, message, sizeof message);
  for (i = 0; i < 4; i++) {
    mldsa_packed_item item = {0, (uint32_t)s->encoded_len, 16000, sizeof message, 4096,
                              (uint32_t)s->signature_len};
    packed[i] = item;
  }
  packed[1].signature = 0xffffffff;
  packed[2].message_len = 0xffffffff;
  packed[3].public_key = 16384;
  IS(mldsa_batch_verify_packed(batch, NULL, 0, data, 16384, packed, 1, verdicts), OK);
  IS(mldsa_batch_verify_packed(batch, NULL, 0, data, 16384, packed, 4, verdicts), REJECTED);
  CHECK(verdicts[0] == MLDSA_VERDICT_VALID);
  for (i = 1; i < 4; i++) CHECK(verdicts[i] == MLDSA_STATUS_OUT_OF_BOUNDS);
  IS(mldsa_batch_verify_packed(batch, NULL, 0, NULL, 0, packed, 4, verdicts), REJECTED);
  CHECK(verdicts[0] == MLDSA_STATUS_OUT_OF_BOUNDS);
  IS(mldsa_batch_verify_packed(batch, NULL, 0, NULL, 1, packed, 4, verdicts), NULL_POINTER);
  mldsa_batch_free(batch);
  free(items);
  free(verdicts);
  free(data);
}

static void committees(signer *s, signer *second) {
  mldsa_committee *committee = (mldsa_committee *)&committee, *next = NULL;
  size_t len = s->encoded_len, i;
  uint8_t *keys = malloc(20 * len), verdicts[4];
  uint64_t weights[20];
  uint32_t index = 9;
  mldsa_vote votes[4];
  mldsa_packed_vote packed[2];
  mldsa_quorum quorum;
  if (keys == NULL) exit(2);
  for (i = 0; i < 20; i++) {
    memcpy(keys + i * len, second->encoded, len);
    weights[i] = 3;
  }
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, keys, 20 * len, weights, 20, &committee),
     DUPLICATE_KEY);
  CHECK(committee == NULL);
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, NULL, 0, NULL, 0, &committee),
     EMPTY_COMMITTEE);
  IS(mldsa_committee_new(NULL, NULL, 0, keys, len, weights, 1, &committee), NULL_POINTER);
  IS(mldsa_committee_new(options(66, 2, 3), NULL, 0, keys, len, weights, 1, &committee), UNKNOWN_SET);
  {
    mldsa_committee_options other = *options(s->set, 2, 3);
    CHECK(sizeof other == 24);
    other.threads = 2;
    IS(mldsa_committee_new(&other, NULL, 0, keys, len, weights, 1, &committee), ARGUMENT);
  }
  IS(mldsa_committee_new(options(s->set, 3, 3), NULL, 0, keys, len, weights, 1, &committee), ARGUMENT);
  for (uint32_t n = 0; n < 6; n++) {
    const uint32_t denominators[6] = {0, 1, 2, 3, 100, UINT32_MAX};
    IS(mldsa_committee_new(options(s->set, 0, denominators[n]), NULL, 0, keys, len, weights, 1,
                           &committee),
       ARGUMENT);
  }
  IS(mldsa_committee_new(options(s->set, 1, 0), NULL, 0, keys, len, weights, 1, &committee), ARGUMENT);
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, keys, len - 1, weights, 1, &committee),
     KEY_LENGTH);
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, keys, len, weights, 2, &committee),
     KEY_LENGTH);
  IS(mldsa_committee_new(options(s->set, 2, 3), long_context, 256, keys, len, weights, 1, &committee),
     CONTEXT_LENGTH);
  weights[0] = 0;
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, keys, len, weights, 1, &committee),
     ZERO_WEIGHT);
  weights[0] = 3;
  IS(mldsa_committee_new(options(s->set, 2, 3), NULL, 0, s->encoded, len, weights, 1, &committee), OK);
  CHECK(mldsa_committee_len(committee) == 1 && mldsa_committee_len(NULL) == 0);

  /* A change that names one new key twenty times. */
  IS(mldsa_committee_successor(committee, 1, keys, 20 * len, weights, 20, &next), EPOCH);
  CHECK(next == NULL);
  IS(mldsa_committee_successor(NULL, 2, keys, 20 * len, weights, 20, &next), NULL_POINTER);
  IS(mldsa_committee_successor(committee, 2, keys, 20 * len, weights, 20, &next), OK);
  CHECK(mldsa_committee_len(next) == 2);
  mldsa_committee_free(committee);
  committee = next;
  IS(mldsa_committee_successor(committee, 3, keys, 20 * len, weights, 20, &next), OK);
  CHECK(mldsa_committee_len(next) == 2);
  mldsa_committee_free(next);
  IS(mldsa_committee_index(committee, second->encoded, len, &index), OK);
  CHECK(index == 1);
  IS(mldsa_committee_index(committee, second->encoded, len - 1, &index), UNKNOWN_MEMBER);
  IS(mldsa_committee_index(committee, second->encoded, len, NULL), NULL_POINTER);

  for (i = 0; i < 4; i++) {
    mldsa_vote vote = {1, message, sizeof message, second->signature, second->signature_len};
    votes[i] = vote;
  }
  IS(mldsa_committee_verify_batch(committee, votes, 4, verdicts), OK);
  votes[0].member = 0;
  votes[1].member = 2;
  votes[2].member = 0xffffffff;
  IS(mldsa_committee_verify_batch(committee, votes, 4, verdicts), REJECTED);
  CHECK(verdicts[0] == MLDSA_STATUS_CHALLENGE_MISMATCH);
  CHECK(verdicts[1] == MLDSA_STATUS_UNKNOWN_MEMBER && verdicts[2] == verdicts[1]);
  CHECK(verdicts[3] == MLDSA_VERDICT_VALID);
  IS(mldsa_committee_verify_batch(committee, votes, 0, verdicts), EMPTY_BATCH);
  IS(mldsa_committee_verify_batch(NULL, votes, 4, verdicts), NULL_POINTER);
  IS(mldsa_committee_verify_batch(committee, NULL, 4, verdicts), NULL_POINTER);

  for (i = 0; i < 2; i++) {
    mldsa_packed_vote vote = {1, 0, sizeof message, 0, (uint32_t)second->signature_len};
    packed[i] = vote;
  }
  packed[1].message = (uint32_t)second->signature_len - 1;
  IS(mldsa_committee_verify_batch_packed(committee, second->signature, second->signature_len, packed, 2,
                                   verdicts),
     REJECTED);
  CHECK(verdicts[0] == MLDSA_STATUS_CHALLENGE_MISMATCH);
  CHECK(verdicts[1] == MLDSA_STATUS_OUT_OF_BOUNDS);

  /* Quorum: both members have weight 3. */
  votes[0].member = 0;
  votes[0].signature = s->signature;
  votes[1].member = 1;
#define QUORUM(rule, votes, count) \
  mldsa_committee_verify_quorum(committee, rule, message, sizeof message, votes, count, &quorum)
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 2), OK);
  CHECK(quorum.weight == 6 && quorum.vote == UINT64_MAX && quorum.reason == 0);
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 1), INSUFFICIENT_WEIGHT);
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 0), INSUFFICIENT_WEIGHT);
  IS(QUORUM(3, votes, 2), ARGUMENT);
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 4), UNKNOWN_MEMBER);
  CHECK(quorum.vote == 2 && quorum.weight == 0);
  IS(QUORUM(MLDSA_RULE_ANY_VALID, votes, 4), OK);
  votes[2] = votes[1];
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 3), DUPLICATE_VOTE);
  IS(QUORUM(MLDSA_RULE_CERTIFICATE_WITH_DUPLICATES, votes, 3), OK);
  votes[2].signature = s->signature;
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 3), CONFLICTING_VOTES);
  votes[1].signature = s->signature;
  IS(QUORUM(MLDSA_RULE_CERTIFICATE, votes, 2), REJECTED);
  CHECK(quorum.vote == 1 && quorum.reason == MLDSA_STATUS_CHALLENGE_MISMATCH);
  IS(mldsa_committee_verify_quorum(committee, 0, message, sizeof message, votes, 2, NULL), NULL_POINTER);
  IS(mldsa_committee_verify_quorum(NULL, 0, message, sizeof message, votes, 2, &quorum), NULL_POINTER);
  memset(packed, 0, sizeof packed);
  packed[0].member = 1;
  packed[0].signature_len = (uint32_t)second->signature_len;
  packed[1].signature = 1;
  packed[1].signature_len = (uint32_t)second->signature_len;
  IS(mldsa_committee_verify_quorum_packed(committee, MLDSA_RULE_ANY_VALID, message, sizeof message,
                                   second->signature, second->signature_len, packed, 2, &quorum),
     INSUFFICIENT_WEIGHT);
  IS(mldsa_committee_verify_quorum_packed(committee, MLDSA_RULE_CERTIFICATE, message, sizeof message,
                                   second->signature, second->signature_len, packed, 2, &quorum),
     OUT_OF_BOUNDS);
  mldsa_committee_free(committee);
  mldsa_committee_free(NULL);
  free(keys);
}

static void precompile(signer *s) {
  uint64_t gas = 1;
  uint8_t valid = 1;
  IS(mldsa_eip8355(s->set, s->signature, 10, 1, &gas, &valid), OUT_OF_GAS);
  CHECK(valid == 0 && gas > 1);
  IS(mldsa_eip8355(s->set, s->signature, 10, 1000000, &gas, &valid), OK);
  CHECK(valid == 0 && gas > 0);
  IS(mldsa_eip8355(s->set, NULL, 10, 1000000, &gas, &valid), NULL_POINTER);
  IS(mldsa_eip8355(0, NULL, 0, 1000000, &gas, &valid), UNKNOWN_SET);
  IS(mldsa_eip8355(s->set, NULL, 0, 1000000, NULL, &valid), NULL_POINTER);
  IS(mldsa_eip8355(s->set, NULL, 0, 1000000, &gas, NULL), NULL_POINTER);
}

static void *all(void *unused) {
  static signer one, two, other;
  size_t i;
  numbers();
  for (i = 0; i < 3; i++) {
    make(&one, sets[i], 1);
    make(&two, sets[i], 2);
    make(&other, sets[(i + 1) % 3], 3);
    private_keys(&one);
    public_keys(&one);
    signatures(&one);
    batches(&one, &other);
    committees(&one, &two);
    precompile(&one);
    drop(&one);
    drop(&two);
    drop(&other);
  }
  return unused;
}

/* On a thread of 128 KiB: musl's default. Sanitizers need more. */
int main(int count, char **arguments) {
  pthread_attr_t attributes;
  pthread_t thread;
  size_t stack = (count > 1 ? (size_t)atoi(arguments[1]) : 128) * 1024;
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, stack) != 0 ||
      pthread_create(&thread, &attributes, all, NULL) != 0 || pthread_join(thread, NULL) != 0)
    return 2;
  printf("%u checks, %u failures\n", checks, failures);
  return failures != 0;
}
