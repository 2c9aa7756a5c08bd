/* Makes a key, signs, verifies, and shows what happens to a changed message. */
#include <stdio.h>
#include <stdlib.h>

#include "mldsa.h"

static void require(mldsa_status status, const char *what) {
  if (status == MLDSA_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", what, mldsa_status_name(status));
  exit(1);
}

int main(void) {
  /* Name the network and the kind of message in the context. */
  static const uint8_t context[] = "example/v1/transfer", message[] = "pay 7 to alice";
  const size_t context_len = sizeof context - 1, message_len = sizeof message - 1;
  mldsa_private_key *key;
  mldsa_public_key *public_key;
  uint8_t *signature;
  size_t len = mldsa_signature_len(MLDSA_65);
  mldsa_status status;

  if (mldsa_abi_version() != MLDSA_ABI_VERSION) return 1;
  require(mldsa_private_key_generate(MLDSA_65, &key), "key generation");
  require(mldsa_private_key_public_key(key, &public_key), "public key");
  signature = malloc(len);
  if (signature == NULL) return 1;
  /* No randomness of ours: the operating system's. */
  require(mldsa_sign(key, message, message_len, context, context_len, NULL, signature, &len),
          "signing");
  require(mldsa_verify(public_key, message, message_len, context, context_len, signature, len),
          "verification");
  printf("valid, %zu bytes\n", len);
  status = mldsa_verify(public_key, message, message_len - 1, context, context_len, signature, len);
  printf("another message: %s\n", mldsa_status_name(status));
  free(signature);
  mldsa_public_key_free(public_key);
  mldsa_private_key_free(key);
  return status != MLDSA_STATUS_CHALLENGE_MISMATCH;
}
