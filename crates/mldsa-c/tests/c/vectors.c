/* Known answers through the C interface. A case a line, words separated by blanks, bytes in
 * hexadecimal digits, "-" for none:
 *
 *   keygen SET SEED PUBLIC-KEY EXPANDED-KEY
 *   sign   SET FORM KEY KIND CONTEXT INPUT RANDOMNESS SIGNATURE-OR-STATUS
 *   verify SET PUBLIC-KEY KIND CONTEXT INPUT SIGNATURE valid|invalid|STATUS
 *
 * FORM is seed or expanded. KIND is pure, mu, or the number of a hash; INPUT is the message, mu
 * or the digest. Every signature is verified alone, prepared, in a batch, by a committee and as
 * EIP-8355 where these exist, and all of them must agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldsa.h"

typedef struct {
  uint8_t *bytes;
  size_t len;
} blob;

static unsigned long line_number;
static unsigned failures;

static void fail(const char *what, int32_t status) {
  printf("line %lu: %s: %s\n", line_number, what, mldsa_status_name(status));
  failures++;
}

static blob unhex(const char *word) {
  blob result;
  size_t i;
  if (word == NULL) {
    printf("line %lu: a word is missing\n", line_number);
    exit(2);
  }
  result.len = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;
  result.bytes = malloc(result.len + 1);
  if (result.bytes == NULL) exit(2);
  for (i = 0; i < result.len; i++) {
    unsigned byte;
    if (sscanf(word + 2 * i, "%2x", &byte) != 1) exit(2);
    result.bytes[i] = (uint8_t)byte;
  }
  return result;
}

static char *next(void) { return strtok(NULL, " \n"); }

static void keygen(uint32_t set) {
  blob seed = unhex(next()), public_key = unhex(next()), expanded = unhex(next());
  int form;
  for (form = 0; form < 3; form++) {
    mldsa_private_key *key = NULL;
    mldsa_public_key *vk = NULL;
    uint8_t *buffer = malloc(8192);
    size_t len = 8192;
    mldsa_status status;
    if (buffer == NULL) exit(2);
    if (form == 2) {
      /* The seed once more, through PKCS#8. */
      mldsa_private_key *first = NULL;
      status = mldsa_private_key_from_seed(set, seed.bytes, seed.len, &first);
      if (status == 0) status = mldsa_private_key_pkcs8(first, MLDSA_PKCS8_BOTH, buffer, &len);
      if (status == 0) status = mldsa_private_key_from_pkcs8(buffer, len, &key, NULL);
      mldsa_private_key_free(first);
    } else if (form == 1) {
      status = mldsa_private_key_from_expanded(set, expanded.bytes, expanded.len, &key);
    } else {
      status = mldsa_private_key_from_seed(set, seed.bytes, seed.len, &key);
    }
    if (status != 0) fail("private key", status);
    len = 8192;
    if (mldsa_private_key_expanded(key, buffer, &len) != 0 || len != expanded.len ||
        memcmp(buffer, expanded.bytes, len) != 0)
      fail("expanded key", 0);
    if (mldsa_private_key_set(key) != set) fail("parameter set", 0);
    status = mldsa_private_key_public_key(key, &vk);
    if (status != 0) fail("public key", status);
    len = 8192;
    if (mldsa_public_key_bytes(vk, buffer, &len) != 0 || len != public_key.len ||
        memcmp(buffer, public_key.bytes, len) != 0)
      fail("public key bytes", 0);
    len = 8192;
    status = mldsa_private_key_seed(key, buffer, &len);
    if (form == 1 ? status != MLDSA_STATUS_NO_SEED
                  : status != 0 || len != 32 || memcmp(buffer, seed.bytes, 32) != 0)
      fail("seed", status);
    mldsa_public_key_free(vk);
    mldsa_private_key_free(key);
    free(buffer);
  }
  free(seed.bytes);
  free(public_key.bytes);
  free(expanded.bytes);
}

static mldsa_status sign_once(const mldsa_private_key *key, const char *kind, blob context,
                              blob input, const uint8_t *randomness, uint8_t *out, size_t *len) {
  if (strcmp(kind, "pure") == 0)
    return mldsa_sign(key, input.bytes, input.len, context.bytes, context.len, randomness, out,
                      len);
  if (strcmp(kind, "mu") == 0)
    return mldsa_sign_mu(key, input.bytes, input.len, randomness, out, len);
  return mldsa_sign_prehashed(key, (uint32_t)atoi(kind), input.bytes, input.len, context.bytes,
                              context.len, randomness, out, len);
}

static void sign(uint32_t set) {
  const char *form = next();
  blob secret = unhex(next());
  const char *kind = next();
  blob context = unhex(next()), input = unhex(next()), randomness = unhex(next());
  const char *want = next();
  static const uint8_t zeros[32];
  mldsa_private_key *key = NULL;
  uint8_t out[8192];
  int prepared;
  mldsa_status status =
      strcmp(form, "seed") == 0
          ? mldsa_private_key_from_seed(set, secret.bytes, secret.len, &key)
          : mldsa_private_key_from_expanded(set, secret.bytes, secret.len, &key);
  if (status != 0) {
    if (strcmp(want, mldsa_status_name(status)) != 0) fail("private key", status);
    if (key != NULL) fail("a key after an error", status);
  }
  for (prepared = 0; status == 0 && prepared < 2; prepared++) {
    size_t len = sizeof out;
    mldsa_status signed_status;
    if (prepared && mldsa_private_key_prepare(key) != 0) fail("prepare", 0);
    signed_status = sign_once(key, kind, context, input,
                              randomness.len == 32 ? randomness.bytes : zeros, out, &len);
    if (signed_status != 0) {
      if (strcmp(want, mldsa_status_name(signed_status)) != 0) fail("sign", signed_status);
    } else {
      blob signature = unhex(want);
      if (signature.len != len || memcmp(signature.bytes, out, len) != 0) fail("signature", 0);
      free(signature.bytes);
    }
  }
  mldsa_private_key_free(key);
  free(secret.bytes);
  free(context.bytes);
  free(input.bytes);
  free(randomness.bytes);
}

static mldsa_status verify_once(const mldsa_public_key *key, const char *kind, blob context,
                                blob input, blob signature) {
  if (strcmp(kind, "pure") == 0)
    return mldsa_verify(key, input.bytes, input.len, context.bytes, context.len, signature.bytes,
                        signature.len);
  if (strcmp(kind, "mu") == 0)
    return mldsa_verify_mu(key, input.bytes, input.len, signature.bytes, signature.len);
  return mldsa_verify_prehashed(key, (uint32_t)atoi(kind), input.bytes, input.len, context.bytes,
                                context.len, signature.bytes, signature.len);
}

/* The verdicts of all other calls are that of `mldsa_verify`. */
static void compare(uint32_t set, const mldsa_public_key *key, blob encoded, blob context,
                    blob input, blob signature, mldsa_status status) {
  uint8_t want = status == 0 ? MLDSA_VERDICT_VALID : (uint8_t)status;
  uint8_t mu[MLDSA_MU_LEN], verdict = 0;
  mldsa_item item;
  mldsa_vote vote;
  mldsa_batch *batch = NULL;
  mldsa_status result;
  mldsa_committee *committee = NULL;
  mldsa_mu *state = NULL;
  mldsa_signature *decoded = NULL;
  uint64_t weight = 1;
  size_t half = input.len / 2;
  if (mldsa_mu_new(key, context.bytes, context.len, &state) != 0 ||
      mldsa_mu_update(state, input.bytes, half) != 0 ||
      mldsa_mu_update(state, input.bytes + half, input.len - half) != 0 ||
      mldsa_mu_finish(state, mu, sizeof mu) != 0)
    fail("mu", 0);
  mldsa_mu_free(state);
  if (mldsa_verify_mu(key, mu, sizeof mu, signature.bytes, signature.len) != status)
    fail("mldsa_verify_mu differs from", status);
  result = mldsa_signature_decode(set, signature.bytes, signature.len, &decoded);
  if (result == 0)
    result = mldsa_verify_decoded(key, input.bytes, input.len, context.bytes, context.len, decoded);
  if (result != status) fail("the three steps differ from", status);
  mldsa_signature_free(decoded);

  item.public_key = encoded.bytes;
  item.public_key_len = encoded.len;
  item.message = vote.message = input.bytes;
  item.message_len = vote.message_len = input.len;
  item.signature = vote.signature = signature.bytes;
  item.signature_len = vote.signature_len = signature.len;
  vote.member = 0;
  if (mldsa_batch_new(set, MLDSA_THREADS_CALLING, 1 << 20, &batch) != 0) fail("batch", 0);
  result = mldsa_batch_verify(batch, context.bytes, context.len, &item, 1, &verdict);
  if (verdict != want || (result == 0) != (want == MLDSA_VERDICT_VALID)) fail("the verdict of the batch differs from", status);
  mldsa_batch_free(batch);

  verdict = 0;
  const mldsa_committee_options options = {0, set, MLDSA_THREADS_CALLING, 2, 3};
  if (mldsa_committee_new(&options, context.bytes, context.len, encoded.bytes, encoded.len, &weight, 1,
                          &committee) != 0)
    fail("committee", 0);
  result = mldsa_committee_verify_batch(committee, &vote, 1, &verdict);
  if (verdict != want || (result == 0) != (want == MLDSA_VERDICT_VALID)) fail("the verdict of the committee differs from", status);
  mldsa_committee_free(committee);

  if (context.len == 0 && signature.len == mldsa_signature_len(set)) {
    size_t len = encoded.len + signature.len + input.len;
    uint64_t gas;
    uint8_t valid;
    uint8_t *all = malloc(len);
    if (all == NULL) exit(2);
    memcpy(all, encoded.bytes, encoded.len);
    memcpy(all + encoded.len, signature.bytes, signature.len);
    memcpy(all + encoded.len + signature.len, input.bytes, input.len);
    if (mldsa_eip8355(set, all, len, 1000000000, &gas, &valid) != 0 || valid != (status == 0))
      fail("EIP-8355 differs from", status);
    free(all);
  }
}

static void verify(uint32_t set) {
  blob encoded = unhex(next());
  const char *kind = next();
  blob context = unhex(next()), input = unhex(next()), signature = unhex(next());
  const char *want = next();
  mldsa_public_key *key = NULL;
  mldsa_status status = mldsa_public_key_new(set, encoded.bytes, encoded.len, &key);
  if (status == 0) {
    status = verify_once(key, kind, context, input, signature);
    if (mldsa_public_key_prepare(key) != 0) fail("prepare", 0);
    if (verify_once(key, kind, context, input, signature) != status)
      fail("the prepared key differs from", status);
    if (strcmp(kind, "pure") == 0 && context.len <= 255)
      compare(set, key, encoded, context, input, signature, status);
  } else if (key != NULL) {
    fail("a key after an error", status);
  }
  if (strcmp(want, "valid") == 0 ? status != 0
      : strcmp(want, "invalid") == 0 ? status == 0
                                     : strcmp(want, mldsa_status_name(status)) != 0)
    fail(want, status);
  mldsa_public_key_free(key);
  free(encoded.bytes);
  free(context.bytes);
  free(input.bytes);
  free(signature.bytes);
}

int main(void) {
  static char line[1 << 22];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const char *what = strtok(line, " \n"), *set = next();
    line_number++;
    if (what == NULL || set == NULL || strchr("ksv", what[0]) == NULL) {
      printf("line %lu: malformed\n", line_number);
      return 2;
    }
    if (what[0] == 'k') keygen((uint32_t)atoi(set));
    if (what[0] == 's') sign((uint32_t)atoi(set));
    if (what[0] == 'v') verify((uint32_t)atoi(set));
  }
  printf("%lu cases, %u failures\n", line_number, failures);
  return line_number == 0 || failures != 0;
}
