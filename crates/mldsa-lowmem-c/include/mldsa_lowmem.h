/* ML-DSA (FIPS 204) for firmware: no allocator, no static data, about 3 kB of stack.
 *
 * Pointers are not null, except those with a length of 0, and valid for the number of bytes that is
 * stated; outputs do not overlap inputs. A null pointer gives MLDSA_LOWMEM_NULL_POINTER.
 * After an error outputs hold zeros or what they held before; no secret stays in them. */
#ifndef MLDSA_LOWMEM_H
#define MLDSA_LOWMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A result that is ignored is a warning. */
#ifdef __GNUC__
#define MLDSA_LOWMEM_MUST_USE __attribute__((warn_unused_result))
#else
#define MLDSA_LOWMEM_MUST_USE
#endif

/* Bytes of keys and signatures, and of the work area of `sign_mu_cached`. */
#define MLDSA_LOWMEM_44_PK_LEN 1312
#define MLDSA_LOWMEM_44_SK_LEN 2560
#define MLDSA_LOWMEM_44_SIGNATURE_LEN 2420
#define MLDSA_LOWMEM_44_WORK_LEN 2432
#define MLDSA_LOWMEM_65_PK_LEN 1952
#define MLDSA_LOWMEM_65_SK_LEN 4032
#define MLDSA_LOWMEM_65_SIGNATURE_LEN 3309
#define MLDSA_LOWMEM_65_WORK_LEN 3840
#define MLDSA_LOWMEM_87_PK_LEN 2592
#define MLDSA_LOWMEM_87_SK_LEN 4896
#define MLDSA_LOWMEM_87_SIGNATURE_LEN 4627
#define MLDSA_LOWMEM_87_WORK_LEN 5120

/* Bytes of a seed and of randomness, of `tr`, of `mu`, and of a saved state. */
#define MLDSA_LOWMEM_SEED_LEN 32
#define MLDSA_LOWMEM_TR_LEN 64
#define MLDSA_LOWMEM_MU_LEN 64
#define MLDSA_LOWMEM_STATE_LEN 70

/* Sizes of the types below in words of 8 bytes, where pointers have 32 and 64 bits. */
#define MLDSA_LOWMEM_MU_WORDS_32 27
#define MLDSA_LOWMEM_MU_WORDS_64 28
#define MLDSA_LOWMEM_SIGNER_WORDS_32 210
#define MLDSA_LOWMEM_SIGNER_WORDS_64 221

/* A message representative in the making. */
typedef struct {
    uint64_t opaque[sizeof(void *) == 4 ? MLDSA_LOWMEM_MU_WORDS_32 : MLDSA_LOWMEM_MU_WORDS_64];
} mldsa_lowmem_mu;

/* A signer in slices. It refers to itself: it must not be copied. */
typedef struct {
    uint64_t
        opaque[sizeof(void *) == 4 ? MLDSA_LOWMEM_SIGNER_WORDS_32 : MLDSA_LOWMEM_SIGNER_WORDS_64];
} mldsa_lowmem_signer;

/* Result of a call. */
typedef enum {
    /* Success; of a verification: the signature is valid; of a step: it is complete. */
    MLDSA_LOWMEM_OK = 0,
    /* A pointer is null or misaligned. */
    MLDSA_LOWMEM_NULL_POINTER = 2,
    /* A signer or a message that was not started, has ended, or is of another set. */
    MLDSA_LOWMEM_ARGUMENT = 3,
    /* A context of more than 255 bytes. */
    MLDSA_LOWMEM_CONTEXT_LENGTH = 4,
    /* A key of the wrong length. */
    MLDSA_LOWMEM_KEY_LENGTH = 6,
    /* Signing failed, or the signature was not valid: a fault of the machine, or a damaged key. */
    MLDSA_LOWMEM_SIGNING = 11,
    /* A length above half of the address space. */
    MLDSA_LOWMEM_TOO_LARGE = 17,
    /* A failure inside the library. */
    MLDSA_LOWMEM_INTERNAL = 18,
    /* A coefficient of s1 or s2 of a private key is out of range. */
    MLDSA_LOWMEM_SECRET_RANGE = 19,
    /* A signature of the wrong length. */
    MLDSA_LOWMEM_SIGNATURE_LENGTH = 34,
    /* The hint is not canonically encoded. */
    MLDSA_LOWMEM_HINT_ENCODING = 37,
    /* A coefficient of z is out of range. */
    MLDSA_LOWMEM_RESPONSE_NORM = 38,
    /* The signature is not of this key, message and context. */
    MLDSA_LOWMEM_CHALLENGE_MISMATCH = 39,
    /* A saved state was altered, or is of another key, message or set. */
    MLDSA_LOWMEM_SAVED_STATE = 57,
    /* Of a step: there is more to do. */
    MLDSA_LOWMEM_WORKING = 58,
    /* Of a step: there is more to do, and the state has changed. */
    MLDSA_LOWMEM_WORKING_STATE = 59
} mldsa_lowmem_status;

/* Returns the name of a status in snake case; "unknown" for other numbers. */
const char *mldsa_lowmem_status_name(int32_t status);

/* Messages in pieces: start with the 64 bytes `tr` of the key and a context of at most 255 bytes,
 * any number of pieces, then 64 bytes of `mu`. `tr` is sk + 64, or comes from `tr` below. */
MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_mu_start(
    mldsa_lowmem_mu *mu, const uint8_t *tr, const uint8_t *context, size_t context_len);
MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_mu_update(
    mldsa_lowmem_mu *mu, const uint8_t *message, size_t message_len);
MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_mu_finish(
    mldsa_lowmem_mu *mu, uint8_t *out);

/* The functions of a set, with the names mldsa_lowmem_44_keygen and so on:
 *
 * keygen          makes both keys of a seed of 32 random bytes.
 * tr              hashes a public key.
 * sign            signs a message; `rnd` is 32 fresh random bytes, or zeros for deterministic signing.
 * sign_mu         signs a finished `mu`.
 * sign_mu_cached  does so faster, with a work area of MLDSA_LOWMEM_44_WORK_LEN bytes.
 * verify, verify_mu
 * signer_start    starts a signature in slices. Keys, signature and signer must stay in place, and
 *                 must not be used otherwise, until signer_end.
 * signer_resume   continues from the beginning of the attempt of a saved state, after a reset.
 * signer_step     works for at most 10 permutations of Keccak. After MLDSA_LOWMEM_WORKING or
 *                 MLDSA_LOWMEM_WORKING_STATE call it again.
 * signer_state    writes the state, MLDSA_LOWMEM_STATE_LEN bytes, to be saved after signer_start and
 *                 MLDSA_LOWMEM_WORKING_STATE.
 * signer_end      wipes the signer, and the signature if it is not complete.
 *
 * Signing verifies the signature before it returns. While it runs, the buffer of the signature holds
 * secrets: it must be memory that nothing else can read. */
#define MLDSA_LOWMEM_FUNCTIONS(SET)                                                                \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_keygen(                         \
        const uint8_t *seed, uint8_t *pk, uint8_t *sk);                                            \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_tr(                             \
        const uint8_t *pk, uint8_t *tr);                                                           \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_sign(                           \
        const uint8_t *sk, const uint8_t *pk, const uint8_t *message, size_t message_len,          \
        const uint8_t *context, size_t context_len, const uint8_t *rnd, uint8_t *signature);       \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_sign_mu(                        \
        const uint8_t *sk, const uint8_t *pk, const uint8_t *mu, const uint8_t *rnd,               \
        uint8_t *signature);                                                                       \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_sign_mu_cached(                 \
        const uint8_t *sk, const uint8_t *pk, const uint8_t *mu, const uint8_t *rnd,               \
        uint8_t *work, uint8_t *signature);                                                        \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_verify(                         \
        const uint8_t *pk, const uint8_t *message, size_t message_len, const uint8_t *context,     \
        size_t context_len, const uint8_t *signature);                                             \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_verify_mu(                      \
        const uint8_t *pk, const uint8_t *mu, const uint8_t *signature);                           \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_signer_start(                   \
        mldsa_lowmem_signer *signer, const uint8_t *sk, const uint8_t *pk, const uint8_t *mu,      \
        const uint8_t *rnd, uint8_t *signature);                                                   \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_signer_resume(                  \
        mldsa_lowmem_signer *signer, const uint8_t *sk, const uint8_t *pk, const uint8_t *mu,      \
        const uint8_t *state, uint8_t *signature);                                                 \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_signer_step(                    \
        mldsa_lowmem_signer *signer);                                                              \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_signer_state(                   \
        mldsa_lowmem_signer *signer, uint8_t *state);                                              \
    MLDSA_LOWMEM_MUST_USE mldsa_lowmem_status mldsa_lowmem_##SET##_signer_end(                     \
        mldsa_lowmem_signer *signer);

MLDSA_LOWMEM_FUNCTIONS(44)
MLDSA_LOWMEM_FUNCTIONS(65)
MLDSA_LOWMEM_FUNCTIONS(87)

#ifdef __cplusplus
}
#endif

#endif
