/* wolfSSL. With CACHE, key objects hold the expanded matrix and the transformed vectors. */

#include <wolfssl/wolfcrypt/settings.h>
#include <wolfssl/wolfcrypt/wc_mldsa.h>

#include <stdlib.h>

#include "peer.h"

#ifdef CACHE
const char PEER_OPERATIONS[] = "sign_prepared verify_prepared";
#else
const char PEER_OPERATIONS[] = "keygen sign verify_cold";
#endif

static const byte no_randomness[32];

static int init(wc_MlDsaKey *key) {
    byte level = SET == 44 ? WC_ML_DSA_44 : SET == 65 ? WC_ML_DSA_65 : WC_ML_DSA_87;
    return wc_MlDsaKey_Init(key, NULL, INVALID_DEVID) == 0 &&
           wc_MlDsaKey_SetParams(key, level) == 0;
}

static wc_MlDsaKey *new_key(void) {
    size_t size = (sizeof(wc_MlDsaKey) + 63) / 64 * 64;
    wc_MlDsaKey *key = aligned_alloc(64, size);
    return key != NULL && init(key) ? key : NULL;
}

static int verify(wc_MlDsaKey *key, const uint8_t *message, const uint8_t *signature) {
    int valid = 0;
    return wc_MlDsaKey_VerifyCtx(key, signature, SIG_LEN, NULL, 0, message, 32, &valid) == 0 &&
           valid == 1;
}

int peer_load(struct peer_key *key) {
    key->signer = new_key();
    key->verifier = new_key();
    return key->signer != NULL && key->verifier != NULL &&
           wc_MlDsaKey_MakeKeyFromSeed(key->signer, key->seed) == 0 &&
           wc_MlDsaKey_ImportPubRaw(key->verifier, key->public, PK_LEN) == 0;
}

int peer_keygen(const struct peer_key *key, uint8_t *public) {
    static wc_MlDsaKey *made;
    word32 length = PK_LEN;
    if (made == NULL)
        made = new_key();
    return made != NULL && wc_MlDsaKey_MakeKeyFromSeed(made, key->seed) == 0 &&
           wc_MlDsaKey_ExportPubRaw(made, public, &length) == 0;
}

int peer_sign(struct peer_key *key, const uint8_t *message, uint8_t *signature) {
    word32 length = SIG_LEN;
    return wc_MlDsaKey_SignCtxWithSeed(key->signer, NULL, 0, signature, &length, message, 32,
                                       no_randomness) == 0;
}

int peer_verify_cold(const struct peer_key *key, const uint8_t *message, const uint8_t *signature) {
    wc_MlDsaKey once;
    int valid = init(&once) && wc_MlDsaKey_ImportPubRaw(&once, key->public, PK_LEN) == 0 &&
                verify(&once, message, signature);
    wc_MlDsaKey_Free(&once);
    return valid;
}

int peer_verify_prepared(struct peer_key *key, const uint8_t *message, const uint8_t *signature) {
    return verify(key->verifier, message, signature);
}
