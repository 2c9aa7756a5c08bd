/* mldsa-native for the set SET. It has no key objects. */

#include <mldsa_native.h>

#include "peer.h"

#define PASTE(a, b, c) a##b##_##c
#define FUNCTION_OF(set, name) PASTE(PQCP_MLDSA_NATIVE_MLDSA, set, name)
#define FUNCTION(name) FUNCTION_OF(SET, name)

const char PEER_OPERATIONS[] = "keygen sign verify_cold";

static const uint8_t empty_context[2], no_randomness[32];

int peer_load(struct peer_key *key) {
    (void)key;
    return 1;
}

int peer_keygen(const struct peer_key *key, uint8_t *public) {
    static uint8_t private[SK_LEN];
    return FUNCTION(keypair_internal)(public, private, key->seed) == 0;
}

int peer_sign(struct peer_key *key, const uint8_t *message, uint8_t *signature) {
    return FUNCTION(signature_internal)(signature, message, 32, empty_context, 2, no_randomness,
                                        key->private, 0) == 0;
}

int peer_verify_cold(const struct peer_key *key, const uint8_t *message, const uint8_t *signature) {
    return FUNCTION(verify)(signature, message, 32, NULL, 0, key->public) == 0;
}

int peer_verify_prepared(struct peer_key *key, const uint8_t *message, const uint8_t *signature) {
    return peer_verify_cold(key, message, signature);
}
