/* Makes keys, signs a message that arrives in pieces, in one call and in slices with a power cut,
 * verifies, and prints a digest of all bytes for each set. The same program runs on a host. */
#include "mldsa_lowmem.h"

/* Of board.c, or of the host. */
void print(const char *text);
void finish(int status);

#ifdef OTHER
int other_rust_archive(void);
#endif

/* Buffers for the largest set. */
#if defined(WITH_87)
#define LARGEST(LEN) MLDSA_LOWMEM_87_##LEN
#elif defined(WITH_65)
#define LARGEST(LEN) MLDSA_LOWMEM_65_##LEN
#else
#define LARGEST(LEN) MLDSA_LOWMEM_44_##LEN
#endif
static uint8_t pk[LARGEST(PK_LEN)], sk[LARGEST(SK_LEN)], signature[LARGEST(SIGNATURE_LEN)];
static uint8_t message[256], mu[64], digest[2][64], state[MLDSA_LOWMEM_STATE_LEN];
static mldsa_lowmem_signer signer;
static mldsa_lowmem_mu hash[2];
static const uint8_t zeros[64];

static void check(int holds, const char *what)
{
    if (!holds) {
        print(what);
        print(" failed\n");
        finish(1);
    }
}
#define OK(call) check((call) == MLDSA_LOWMEM_OK, #call)

static void print_hex(const uint8_t *bytes)
{
    char text[129];
    for (int n = 0; n < 64; n++) {
        text[2 * n] = "0123456789abcdef"[bytes[n] >> 4];
        text[2 * n + 1] = "0123456789abcdef"[bytes[n] & 15];
    }
    text[128] = 0;
    print(text);
    print("\n");
}

#define DEFINE(SET)                                                                                \
    static void run_##SET(void)                                                                    \
    {                                                                                              \
        const uint8_t *context = (const uint8_t *)"firmware/1";                                    \
        uint8_t seed[32] = { SET };                                                                \
        OK(mldsa_lowmem_##SET##_keygen(seed, pk, sk));                                             \
        OK(mldsa_lowmem_##SET##_tr(pk, mu));                                                       \
        for (int n = 0; n < 64; n++)                                                               \
            check(mu[n] == sk[64 + n], "tr");                                                      \
        for (int n = 0; n < 2; n++) {                                                              \
            OK(mldsa_lowmem_mu_start(&hash[n], zeros, 0, 0));                                      \
            OK(mldsa_lowmem_mu_update(&hash[n], pk, MLDSA_LOWMEM_##SET##_PK_LEN));                 \
            OK(mldsa_lowmem_mu_update(&hash[n], sk, MLDSA_LOWMEM_##SET##_SK_LEN));                 \
        }                                                                                          \
        for (int round = 0; round < 3; round++) {                                                  \
            mldsa_lowmem_mu pieces;                                                                \
            message[0] = (uint8_t)round;                                                           \
            OK(mldsa_lowmem_mu_start(&pieces, sk + 64, context, 10));                              \
            for (int n = 0; n < 256; n += 64)                                                      \
                OK(mldsa_lowmem_mu_update(&pieces, message + n, 64));                              \
            OK(mldsa_lowmem_mu_finish(&pieces, mu));                                               \
            OK(mldsa_lowmem_##SET##_sign_mu(sk, pk, mu, seed, signature));                         \
            OK(mldsa_lowmem_mu_update(&hash[0], signature, MLDSA_LOWMEM_##SET##_SIGNATURE_LEN));   \
            OK(mldsa_lowmem_##SET##_verify(pk, message, 256, context, 10, signature));             \
            signature[round] ^= 1;                                                                 \
            check(mldsa_lowmem_##SET##_verify_mu(pk, mu, signature) ==                             \
                      MLDSA_LOWMEM_CHALLENGE_MISMATCH, "the altered signature");                   \
            mldsa_lowmem_status status = MLDSA_LOWMEM_WORKING;                                     \
            OK(mldsa_lowmem_##SET##_signer_start(&signer, sk, pk, mu, seed, signature));           \
            OK(mldsa_lowmem_##SET##_signer_state(&signer, state));                                 \
            for (int n = 0; n < 100 + 40 * round; n++) {                                           \
                status = mldsa_lowmem_##SET##_signer_step(&signer);                                \
                if (status == MLDSA_LOWMEM_WORKING_STATE)                                          \
                    OK(mldsa_lowmem_##SET##_signer_state(&signer, state));                         \
            }                                                                                      \
            /* The supply fails: nothing but the state is left. */                                 \
            for (size_t n = 0; n < sizeof signer / 8; n++)                                         \
                signer.opaque[n] = 0xa5a5a5a5a5a5a5a5;                                             \
            state[7] ^= 1;                                                                         \
            check(mldsa_lowmem_##SET##_signer_resume(&signer, sk, pk, mu, state, signature) ==     \
                      MLDSA_LOWMEM_SAVED_STATE, "the altered state");                              \
            state[7] ^= 1;                                                                         \
            OK(mldsa_lowmem_##SET##_signer_resume(&signer, sk, pk, mu, state, signature));         \
            do                                                                                     \
                status = mldsa_lowmem_##SET##_signer_step(&signer);                                \
            while (status == MLDSA_LOWMEM_WORKING || status == MLDSA_LOWMEM_WORKING_STATE);        \
            OK(status);                                                                            \
            OK(mldsa_lowmem_##SET##_signer_end(&signer));                                          \
            OK(mldsa_lowmem_mu_update(&hash[1], signature, MLDSA_LOWMEM_##SET##_SIGNATURE_LEN));   \
        }                                                                                          \
        for (int n = 0; n < 2; n++)                                                                \
            OK(mldsa_lowmem_mu_finish(&hash[n], digest[n]));                                       \
        for (int n = 0; n < 64; n++)                                                               \
            check(digest[0][n] == digest[1][n], "the signature in slices");                        \
        print("ML-DSA-" #SET " ");                                                                 \
        print_hex(digest[0]);                                                                      \
    }

#ifdef WITH_44
DEFINE(44)
#endif
#ifdef WITH_65
DEFINE(65)
#endif
#ifdef WITH_87
DEFINE(87)
#endif

int main(void)
{
#ifdef WITH_44
    run_44();
#endif
#ifdef WITH_65
    run_65();
#endif
#ifdef WITH_87
    run_87();
#endif
#ifdef OTHER
    check(other_rust_archive() == 42, "the other archive");
    print("two archives\n");
#endif
    finish(0);
    return 0;
}
