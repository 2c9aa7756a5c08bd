/* Interprets bytes as a program of calls: the fuzz target `c` runs it under libFuzzer, and its own main
 * function runs programs from a fixed generator. Blocks have exactly the sizes of their lengths, so that
 * an address sanitizer notices each access beyond them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldsa.h"

#define SLOTS 3

typedef struct {
  const uint8_t *at;
  size_t left;
} program;

typedef struct {
  uint32_t set;
  uint8_t *bytes, *message, *context;
  size_t len, message_len, context_len;
  mldsa_public_key *key;
} signed_message;

typedef struct {
  mldsa_private_key *private_keys[SLOTS];
  mldsa_public_key *public_keys[SLOTS];
  mldsa_committee *committees[SLOTS];
  mldsa_batch *batches[SLOTS];
  mldsa_mu *mus[SLOTS];
  signed_message last;
} state;

#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);           \
      abort();                                                                  \
    }                                                                           \
  } while (0)

static uint8_t byte(program *p) {
  if (p->left == 0) return 0;
  p->left--;
  return *p->at++;
}

static uint32_t number(program *p) {
  uint32_t value = byte(p);
  value |= (uint32_t)byte(p) << 8;
  value |= (uint32_t)byte(p) << 16;
  return value | (uint32_t)byte(p) << 24;
}

static uint8_t *block(size_t len) {
  uint8_t *made = malloc(len == 0 ? 1 : len);
  REQUIRE(made != NULL);
  memset(made, 0x5a, len == 0 ? 1 : len);
  return made;
}

/* The next bytes of the program, continued with a pattern. */
static uint8_t *bytes(program *p, size_t len) {
  uint8_t *made = block(len);
  size_t i, given = byte(p);
  for (i = 0; i < len && i < given; i++) made[i] = byte(p);
  return made;
}

static uint8_t *copy(const uint8_t *from, size_t len) {
  uint8_t *made = block(len);
  if (len > 0) memcpy(made, from, len);
  return made;
}

/* Mostly the right length. */
static size_t length(program *p, size_t right) {
  uint8_t choice = byte(p);
  if (choice < 200) return right;
  if (choice < 210) return right + 1;
  if (choice < 220) return right == 0 ? 0 : right - 1;
  if (choice < 230) return 0;
  return number(p) % 8192;
}

static uint32_t set(program *p) {
  static const uint32_t sets[4] = {MLDSA_44, MLDSA_65, MLDSA_87, MLDSA_44};
  uint8_t choice = byte(p);
  return choice < 240 ? sets[choice % 4] : number(p);
}

static size_t slot(program *p) { return byte(p) % SLOTS; }

static mldsa_status known(mldsa_status status) {
  REQUIRE(strcmp(mldsa_status_name(status), "unknown") != 0);
  REQUIRE(status != MLDSA_STATUS_INTERNAL && status != MLDSA_STATUS_SELF_TEST);
  return status;
}

/* A handle is made, or null. */
#define MAKE(kind, place, call)                          \
  do {                                                   \
    mldsa_##kind *made_ = (mldsa_##kind *)&made_;        \
    mldsa_status status_ = known(call);                  \
    REQUIRE((status_ == MLDSA_STATUS_OK) == (made_ != NULL)); \
    mldsa_##kind##_free(place);                          \
    place = made_;                                       \
  } while (0)

static void private_key(program *p, state *s) {
  mldsa_private_key **place = &s->private_keys[slot(p)];
  uint32_t which = set(p);
  uint8_t kind = byte(p) % 6;
  size_t len;
  uint8_t *data;
  if (kind < 3) {
    len = length(p, 32);
    data = bytes(p, len);
    MAKE(private_key, *place, mldsa_private_key_from_seed(which, data, len, &made_));
  } else if (kind == 3 && *place != NULL) {
    /* Changed encodings of a key. */
    size_t size;
    size = len = length(p, mldsa_expanded_key_len(mldsa_private_key_set(*place)));
    data = block(len);
    known(mldsa_private_key_expanded(*place, data, &size));
    if (len > 0) data[number(p) % len] ^= byte(p) & 1;
    MAKE(private_key, *place, mldsa_private_key_from_expanded(which, data, len, &made_));
  } else if (kind == 4 && *place != NULL) {
    len = length(p, 5000);
    data = block(len > 5000 ? len : 5000);
    if (known(mldsa_private_key_pkcs8(*place, byte(p) % 4, data, &len)) != MLDSA_STATUS_OK) len = 54;
    if (byte(p) & 1) data[number(p) % len] ^= byte(p);
    MAKE(private_key, *place, mldsa_private_key_from_pkcs8(data, len, &made_, NULL));
  } else {
    len = length(p, 60);
    data = bytes(p, len);
    MAKE(private_key, *place, mldsa_private_key_from_pkcs8(data, len, &made_, NULL));
  }
  free(data);
  if (byte(p) & 1 && *place != NULL) known(mldsa_private_key_prepare(*place));
}

static void public_key(program *p, state *s) {
  mldsa_public_key **place = &s->public_keys[slot(p)];
  mldsa_private_key *from = s->private_keys[slot(p)];
  uint32_t which = set(p);
  uint8_t kind = byte(p) % 4;
  size_t len = 0;
  uint8_t *data = NULL;
  if (kind == 0) {
    len = length(p, mldsa_public_key_len(which));
    data = bytes(p, len);
    MAKE(public_key, *place, mldsa_public_key_new(which, data, len, &made_));
  } else if (kind == 1 && *place != NULL) {
    len = length(p, 2614);
    data = block(len > 2614 ? len : 2614);
    if (known(mldsa_public_key_spki(*place, data, &len)) != MLDSA_STATUS_OK) len = 100;
    if (byte(p) & 1) data[number(p) % len] ^= byte(p);
    MAKE(public_key, *place, mldsa_public_key_from_spki(data, len, &made_, NULL));
  } else {
    MAKE(public_key, *place, mldsa_private_key_public_key(from, &made_));
  }
  free(data);
  if (byte(p) & 1 && *place != NULL) known(mldsa_public_key_prepare(*place));
}

static void drop(signed_message *last) {
  free(last->bytes);
  free(last->message);
  free(last->context);
  mldsa_public_key_free(last->key);
  memset(last, 0, sizeof *last);
}

/* A pure signature, which becomes the last one, or one of the other forms. */
static void sign(program *p, state *s) {
  mldsa_private_key *key = s->private_keys[slot(p)];
  uint32_t which = mldsa_private_key_set(key);
  size_t message_len = byte(p), context_len = length(p, 4), len = length(p, mldsa_signature_len(which));
  uint8_t *message = bytes(p, message_len), *context = bytes(p, context_len), *out = block(len);
  uint8_t *randomness = bytes(p, 32);
  uint8_t kind = byte(p) % 4;
  mldsa_status status;
  mldsa_public_key *public_key = NULL;
  if (key != NULL) known(mldsa_private_key_public_key(key, &public_key));
  if (kind == 0) {
    uint32_t hash = byte(p) % 14;
    status = known(mldsa_sign_prehashed(key, hash, message, message_len, context, context_len,
                                        randomness, out, &len));
    if (status == MLDSA_STATUS_OK)
      REQUIRE(mldsa_verify_prehashed(public_key, hash, message, message_len, context, context_len, out,
                                     len) == MLDSA_STATUS_OK);
  } else if (kind == 1) {
    status = known(mldsa_sign_mu(key, message, message_len, randomness, out, &len));
    if (status == MLDSA_STATUS_OK)
      REQUIRE(mldsa_verify_mu(public_key, message, message_len, out, len) == MLDSA_STATUS_OK);
  } else {
    status = known(mldsa_sign(key, message, message_len, context, context_len,
                              byte(p) & 1 ? randomness : NULL, out, &len));
    if (status == MLDSA_STATUS_OK) {
      drop(&s->last);
      s->last.set = which;
      s->last.bytes = copy(out, len);
      s->last.len = len;
      s->last.message = copy(message, message_len);
      s->last.message_len = message_len;
      s->last.context = copy(context, context_len);
      s->last.context_len = context_len;
      s->last.key = public_key;
      public_key = NULL;
    }
  }
  mldsa_public_key_free(public_key);
  free(message);
  free(context);
  free(out);
  free(randomness);
}

/* A verification of the last signature, changed or not, alone, as EIP-8355 and in a batch. */
static void verify(program *p, state *s) {
  mldsa_public_key *key = byte(p) & 1 ? s->last.key : s->public_keys[slot(p)];
  mldsa_batch *batch = s->batches[slot(p)];
  size_t len = length(p, s->last.len), context_len = length(p, s->last.context_len), key_len = 0, i;
  uint8_t *signature = block(len), *context = block(context_len), *encoded = NULL, verdicts[3];
  int same = key != NULL && key == s->last.key && len == s->last.len && context_len == s->last.context_len;
  mldsa_status status;
  memcpy(signature, s->last.bytes == NULL ? signature : s->last.bytes, len < s->last.len ? len : s->last.len);
  memcpy(context, s->last.context == NULL ? context : s->last.context,
         context_len < s->last.context_len ? context_len : s->last.context_len);
  if (len > 0) {
    uint8_t change = byte(p);
    signature[number(p) % len] ^= change;
    same = same && change == 0;
  }
  status = known(mldsa_verify(key, s->last.message, s->last.message_len, context, context_len, signature, len));
  if (key == s->last.key) REQUIRE((status == MLDSA_STATUS_OK) == same);
  if (key != NULL && batch != NULL) {
    mldsa_item items[3];
    known(mldsa_public_key_bytes(key, NULL, &key_len));
    encoded = block(key_len);
    known(mldsa_public_key_bytes(key, encoded, &key_len));
    for (i = 0; i < 3; i++) {
      mldsa_item item = {encoded, key_len, s->last.message, s->last.message_len, signature, len};
      items[i] = item;
    }
    items[1].public_key_len = length(p, key_len);
    if (items[1].public_key_len > key_len) items[1].public_key_len = 0;
    known(mldsa_batch_verify(batch, context, context_len, items, 3, verdicts));
    REQUIRE((verdicts[0] == MLDSA_VERDICT_VALID) == (verdicts[2] == MLDSA_VERDICT_VALID));
    if (verdicts[0] == MLDSA_VERDICT_VALID) REQUIRE(status == MLDSA_STATUS_OK);
    if (mldsa_public_key_set(key) == MLDSA_44) {
      uint8_t *input = block(key_len + len + s->last.message_len), valid;
      uint64_t gas;
      memcpy(input, encoded, key_len);
      memcpy(input + key_len, signature, len);
      if (s->last.message_len > 0) memcpy(input + key_len + len, s->last.message, s->last.message_len);
      status = known(mldsa_eip8355(MLDSA_44, input, key_len + len + s->last.message_len, number(p), &gas, &valid));
      if (status == MLDSA_STATUS_OK && valid == 1) REQUIRE(same || len != s->last.len || key != s->last.key || context_len > 0);
      free(input);
    }
  }
  free(encoded);
  free(signature);
  free(context);
}

static void batch(program *p, state *s) {
  mldsa_batch **place = &s->batches[slot(p)];
  uint32_t which = set(p), threads = byte(p) < 250 ? MLDSA_THREADS_CALLING : 2 + number(p);
  size_t cache = number(p) % (1 << 20), count, data_len, i;
  mldsa_packed_item items[8];
  uint8_t *data, verdicts[8];
  if (*place == NULL || byte(p) % 4 == 0) {
    MAKE(batch, *place, mldsa_batch_new(which, threads, cache, &made_));
    return;
  }
  count = byte(p) % 9;
  data_len = number(p) % 9000;
  data = bytes(p, data_len);
  for (i = 0; i < count; i++) {
    items[i].public_key = number(p);
    items[i].public_key_len = (uint32_t)length(p, mldsa_public_key_len(which));
    items[i].message = byte(p);
    items[i].message_len = byte(p);
    items[i].signature = number(p) % 9000;
    items[i].signature_len = (uint32_t)length(p, mldsa_signature_len(which));
  }
  known(mldsa_batch_verify_packed(*place, NULL, 0, data, data_len, items, count, verdicts));
  for (i = 0; i < count; i++) REQUIRE(verdicts[i] > MLDSA_VERDICT_VALID);
  free(data);
}

static void committee(program *p, state *s) {
  mldsa_committee **place = &s->committees[slot(p)];
  uint32_t which = set(p), numerator = byte(p) % 4, denominator = byte(p) % 5;
  size_t count = byte(p) % 5, len = length(p, count * mldsa_public_key_len(which)), i;
  uint8_t *keys = block(len), kind = byte(p) % 3;
  uint64_t weights[5];
  for (i = 0; i < count; i++) {
    size_t size = mldsa_public_key_len(which), at = i * size;
    weights[i] = byte(p) % 4 == 0 ? UINT64_MAX : byte(p) % 5;
    if (size > 0 && at + size <= len && s->public_keys[i % SLOTS] != NULL)
      known(mldsa_public_key_bytes(s->public_keys[byte(p) % 2 ? i % SLOTS : 0], keys + at, &size));
  }
  if (kind == 0 || *place == NULL) {
    const mldsa_committee_options options = {byte(p), which, MLDSA_THREADS_CALLING, numerator, denominator};
    MAKE(committee, *place,
         mldsa_committee_new(&options, NULL, 0, keys, len, weights, count, &made_));
  } else if (kind == 1) {
    MAKE(committee, *place,
         mldsa_committee_successor(*place, number(p), keys, len, weights, count, &made_));
  } else {
    mldsa_vote votes[4];
    mldsa_quorum quorum;
    uint8_t verdicts[4];
    uint32_t index;
    for (i = 0; i < 4; i++) {
      mldsa_vote vote = {byte(p) % 4, s->last.message, s->last.message_len, s->last.bytes, s->last.len};
      votes[i] = vote;
    }
    known(mldsa_committee_verify_batch(*place, votes, 4, verdicts));
    known(mldsa_committee_verify_quorum(*place, byte(p) % 4, s->last.message, s->last.message_len, votes, count, &quorum));
    if (mldsa_committee_index(*place, keys, len, &index) == MLDSA_STATUS_OK)
      REQUIRE(index < mldsa_committee_len(*place));
  }
  free(keys);
}

static void representative(program *p, state *s) {
  mldsa_mu **place = &s->mus[slot(p)];
  size_t len = length(p, 64);
  uint8_t *data = bytes(p, len), kind = byte(p) % 3;
  if (kind == 0 || *place == NULL)
    MAKE(mu, *place, mldsa_mu_new(s->public_keys[slot(p)], data, len, &made_));
  else if (kind == 1)
    known(mldsa_mu_update(*place, data, len));
  else
    REQUIRE((known(mldsa_mu_finish(*place, data, len)) == MLDSA_STATUS_OK) == (len == 64));
  free(data);
}

void mldsa_calls(const uint8_t *data, size_t len);

void mldsa_calls(const uint8_t *data, size_t len) {
  static void (*const calls[7])(program *, state *) = {private_key, public_key, sign,          verify,
                                                       batch,       committee,  representative};
  program p = {data, len};
  state s;
  size_t i;
  memset(&s, 0, sizeof s);
  while (p.left > 0) calls[byte(&p) % 7](&p, &s);
  for (i = 0; i < SLOTS; i++) {
    mldsa_private_key_free(s.private_keys[i]);
    mldsa_public_key_free(s.public_keys[i]);
    mldsa_committee_free(s.committees[i]);
    mldsa_batch_free(s.batches[i]);
    mldsa_mu_free(s.mus[i]);
  }
  drop(&s.last);
}

#ifndef MLDSA_FUZZER
int main(int count, char **arguments) {
  uint64_t x = 0x9e3779b97f4a7c15;
  uint8_t data[600];
  int n, programs = count > 1 ? atoi(arguments[1]) : 1000;
  for (n = 0; n < programs; n++) {
    size_t i, len = 60 + (size_t)n % 540;
    for (i = 0; i < len; i++) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      data[i] = (uint8_t)(x >> 32);
    }
    mldsa_calls(data, len);
  }
  printf("%d programs\n", programs);
  return 0;
}
#endif
