/* One ML-DSA implementation, for the parameter set SET (44, 65 or 87). */

#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

#if SET == 44
#define PK_LEN 1312
#define SK_LEN 2560
#define SIG_LEN 2420
#elif SET == 65
#define PK_LEN 1952
#define SK_LEN 4032
#define SIG_LEN 3309
#elif SET == 87
#define PK_LEN 2592
#define SK_LEN 4896
#define SIG_LEN 4627
#else
#error "SET is 44, 65 or 87"
#endif

struct peer_key {
    uint8_t seed[32];
    uint8_t public[PK_LEN];
    uint8_t private[SK_LEN];
    /* Key objects of the implementation, if it has any. */
    void *signer, *verifier;
};

/* Names of the scorecard's operations, separated by spaces. */
extern const char PEER_OPERATIONS[];

/* All return 1 for success. Messages are 32 bytes long, contexts are empty, signatures are
 * deterministic. */
int peer_load(struct peer_key *key);
int peer_keygen(const struct peer_key *key, uint8_t *public);
int peer_sign(struct peer_key *key, const uint8_t *message, uint8_t *signature);
int peer_verify_cold(const struct peer_key *key, const uint8_t *message, const uint8_t *signature);
int peer_verify_prepared(struct peer_key *key, const uint8_t *message, const uint8_t *signature);

#endif
