/* A generator that fails, or returns zeros, is an error. The program has the system's
 * function of that name itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "mldsa.h"

enum { COUNT, ZEROS, FAIL } generator;
static unsigned calls;

ssize_t getrandom(void *buffer, size_t len, unsigned flags) {
  (void)flags;
  if (len == 0) return 0;
  calls++;
  if (generator == FAIL) {
    errno = EIO;
    return -1;
  }
  memset(buffer, generator == ZEROS ? 0 : (int)calls, len);
  return (ssize_t)len;
}

int main(void) {
  static const uint8_t seed[32] = {1}, zeros[32] = {0};
  static uint8_t first[4627], second[4627];
  static const uint32_t sets[3] = {MLDSA_44, MLDSA_65, MLDSA_87};
  size_t i;
  for (i = 0; i < 3; i++) {
    mldsa_private_key *key, *made;
    size_t len = sizeof first, whole = mldsa_signature_len(sets[i]);
    generator = COUNT;
    if (mldsa_private_key_from_seed(sets[i], seed, 32, &key) != MLDSA_STATUS_OK) return 1;
    if (mldsa_sign(key, seed, 32, NULL, 0, NULL, first, &len) != MLDSA_STATUS_OK) return 2;
    for (generator = ZEROS; generator <= FAIL; generator++) {
      memcpy(second, first, whole);
      len = sizeof second;
      mldsa_status wanted = generator == FAIL ? MLDSA_STATUS_RANDOM : MLDSA_STATUS_ZERO_RANDOMNESS;
      if (mldsa_sign(key, seed, 32, NULL, 0, NULL, second, &len) != wanted) return 3;
      if (len != sizeof second || memcmp(first, second, whole) != 0) return 4;
      if (mldsa_private_key_generate(sets[i], &made) != wanted || made != NULL) return 5;
      /* Deterministic signing does without. */
      if (mldsa_sign(key, seed, 32, NULL, 0, zeros, second, &len) != MLDSA_STATUS_OK) return 6;
    }
    mldsa_private_key_free(key);
  }
  if (calls == 0) return 7;
  printf("%u calls of the generator\n", calls);
  return 0;
}
