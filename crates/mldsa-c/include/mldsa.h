/* C interface of the ML-DSA (FIPS 204) library. Made from crates/mldsa-c; manual: docs/c.md. */

#ifndef MLDSA_H
#define MLDSA_H

#include <stddef.h>
#include <stdint.h>

/* A result that is ignored is a warning. */
#if (defined(__cplusplus) && __cplusplus >= 201703L) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define MLDSA_MUST_USE [[nodiscard]]
#elif defined(__GNUC__)
#define MLDSA_MUST_USE __attribute__((warn_unused_result))
#else
#define MLDSA_MUST_USE
#endif

/* KiB of stack that each function takes in ML-DSA-44, 65 and 87, the largest of
 * portable, AVX2 and AVX-512 code (docs/c.md):
 *
 * mldsa_private_key_generate          51  51  51
 * mldsa_private_key_from_seed         51  51  51
 * mldsa_private_key_from_expanded     51  51  51
 * mldsa_private_key_from_pkcs8        51  51  51
 * mldsa_private_key_pkcs8              2   2   2
 * mldsa_private_key_public_key         6   6   6
 * mldsa_private_key_prepare           52  52  52
 * mldsa_public_key_new                11  11  12
 * mldsa_public_key_from_spki          19  19  20
 * mldsa_public_key_prepare            24  24  24
 * mldsa_verify                        36  31  33
 * mldsa_verify, prepared              23  25  28
 * mldsa_mu_*                           1   1   1
 * mldsa_batch_new                      3   3   3
 * mldsa_batch_verify                  43  38  40
 * mldsa_committee_new                 28  30  31
 * mldsa_committee_successor           11  15  18
 * mldsa_committee_verify_batch        30  32  36
 * mldsa_committee_verify_quorum       30  32  36
 * mldsa_eip8355                       41  36  38
 * mldsa_self_test                     59  59  59
 * mldsa_sign                          54  54  54
 * mldsa_sign_prehashed                54  54  54
 * mldsa_sign_mu                       54  54  54
 */

// Verification on the threads of a pool that all handles of the process share.
#define MLDSA_THREADS_SHARED 0

// Verification on the calling thread.
#define MLDSA_THREADS_CALLING 1

// In place of a parameter set: the length of each public key tells its set.
#define MLDSA_ANY 1

// All votes must be valid, one for each member.
#define MLDSA_RULE_CERTIFICATE 0

// As `MLDSA_RULE_CERTIFICATE`, but a vote may have duplicates, byte for byte; it counts once.
#define MLDSA_RULE_CERTIFICATE_WITH_DUPLICATES 1

// The valid votes suffice; others do not count.
#define MLDSA_RULE_ANY_VALID 2

// Bytes of a message representative.
#define MLDSA_MU_LEN 64

// SHA-256.
#define MLDSA_HASH_SHA2_256 1

// SHA-384.
#define MLDSA_HASH_SHA2_384 2

// SHA-512.
#define MLDSA_HASH_SHA2_512 3

// SHA-224.
#define MLDSA_HASH_SHA2_224 4

// SHA-512/224.
#define MLDSA_HASH_SHA2_512_224 5

// SHA-512/256.
#define MLDSA_HASH_SHA2_512_256 6

// SHA3-224.
#define MLDSA_HASH_SHA3_224 7

// SHA3-256.
#define MLDSA_HASH_SHA3_256 8

// SHA3-384.
#define MLDSA_HASH_SHA3_384 9

// SHA3-512.
#define MLDSA_HASH_SHA3_512 10

// SHAKE128 with 32 bytes of output.
#define MLDSA_HASH_SHAKE128 11

// SHAKE256 with 64 bytes of output.
#define MLDSA_HASH_SHAKE256 12

// Bytes of a seed.
#define MLDSA_SEED_LEN 32

// PKCS#8 with the seed alone: 54 bytes.
#define MLDSA_PKCS8_SEED 0

// PKCS#8 with the expanded key alone.
#define MLDSA_PKCS8_EXPANDED 1

// PKCS#8 with seed and expanded key.
#define MLDSA_PKCS8_BOTH 2

// ML-DSA-44.
#define MLDSA_44 44

// ML-DSA-65.
#define MLDSA_65 65

// ML-DSA-87.
#define MLDSA_87 87

// Verdict of a valid item, which is no number of a status. 0: not verified. Any other value is
// the status of the rejection. After an error of the whole call no verdict is valid.
#define MLDSA_VERDICT_VALID 1

// The version of the interface that a header describes.
#define MLDSA_ABI_VERSION 2

// Bytes of stack that a function takes at most, except those that sign.
#define MLDSA_STACK_BYTES (56 * 1024)

// Bytes of stack that a function that signs takes at most: `mldsa_sign`, `mldsa_sign_prehashed`,
// `mldsa_sign_mu` and `mldsa_self_test`.
#define MLDSA_SIGN_STACK_BYTES (96 * 1024)

// Result of a call. 0 is success; for a verification, a valid signature.
enum mldsa_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  MLDSA_STATUS_OK = 0,
  // A null pointer with a length other than 0, a null handle or a null output.
  MLDSA_STATUS_NULL_POINTER = 2,
  // An unknown hash, rule, form, kind of threads or threshold.
  MLDSA_STATUS_ARGUMENT = 3,
  // A context of more than 255 bytes.
  MLDSA_STATUS_CONTEXT_LENGTH = 4,
  // The output buffer is too small. The needed length was written.
  MLDSA_STATUS_BUFFER_LENGTH = 5,
  // A private or public key of the wrong length.
  MLDSA_STATUS_KEY_LENGTH = 6,
  // The seed of this private key is not known.
  MLDSA_STATUS_NO_SEED = 9,
  // The operating system's random number generator failed.
  MLDSA_STATUS_RANDOM = 10,
  // Signing failed, or the signature was not valid: almost certainly a fault of the machine.
  MLDSA_STATUS_SIGNING = 11,
  // A self-test failed.
  MLDSA_STATUS_SELF_TEST = 12,
  // A committee without members.
  MLDSA_STATUS_EMPTY_COMMITTEE = 13,
  // One public key with two weights, or a duplicate in a new committee.
  MLDSA_STATUS_DUPLICATE_KEY = 14,
  // A member of a new committee has weight 0.
  MLDSA_STATUS_ZERO_WEIGHT = 15,
  // The epoch of a successor is not later.
  MLDSA_STATUS_EPOCH = 16,
  // A length above the limit of the interface.
  MLDSA_STATUS_TOO_LARGE = 17,
  // A coefficient of s1 or s2 of a private key is out of range.
  MLDSA_STATUS_SECRET_RANGE = 19,
  // The parts of a private key do not belong together.
  MLDSA_STATUS_INCONSISTENT = 20,
  // A private key where a public one belongs.
  MLDSA_STATUS_PRIVATE = 21,
  // A parameter set other than 44, 65 and 87, or another algorithm in a key file.
  MLDSA_STATUS_UNKNOWN_SET = 22,
  // A key of another parameter set.
  MLDSA_STATUS_OTHER_SET = 23,
  // A key file that is not SubjectPublicKeyInfo, or not PKCS#8, in DER.
  MLDSA_STATUS_STRUCTURE = 24,
  // The algorithm identifier of a key file has parameters.
  MLDSA_STATUS_ALGORITHM_PARAMETERS = 25,
  // The random number generator returned zeros: it does not work.
  MLDSA_STATUS_ZERO_RANDOMNESS = 26,
  // All bytes of K of a private key are equal: signatures would reveal the key.
  MLDSA_STATUS_CONSTANT_K = 27,
  // PKCS#8 of version 0 with a public key, or of version 1 without one.
  MLDSA_STATUS_VERSION = 28,
  // The attributes of PKCS#8 are no set of attributes in DER.
  MLDSA_STATUS_ATTRIBUTES = 29,
  // PKCS#8 with a private key in none of the three forms of RFC 9881.
  MLDSA_STATUS_FORM = 30,
  // A failure inside the library. The handles of the call may only be freed. Memory that runs
  // out ends the process instead.
  MLDSA_STATUS_INTERNAL = 18,
  // The committee does not have this public key or index.
  MLDSA_STATUS_UNKNOWN_MEMBER = 32,
  // The public key has the wrong length for the parameter set.
  MLDSA_STATUS_PUBLIC_KEY_LENGTH = 33,
  // The signature has the wrong length for the parameter set.
  MLDSA_STATUS_SIGNATURE_LENGTH = 34,
  // The digest does not have the output length of its hash.
  MLDSA_STATUS_DIGEST_LENGTH = 35,
  // The hash is weaker than the parameter set.
  MLDSA_STATUS_WEAK_PREHASH = 36,
  // The hint is not canonically encoded.
  MLDSA_STATUS_HINT_ENCODING = 37,
  // A coefficient of z is out of range.
  MLDSA_STATUS_RESPONSE_NORM = 38,
  // The signature is not of this key, message and context.
  MLDSA_STATUS_CHALLENGE_MISMATCH = 39,
  // A rejection for another reason.
  MLDSA_STATUS_REJECTED = 40,
  // A part of a packed item is outside of the data.
  MLDSA_STATUS_OUT_OF_BOUNDS = 41,
  // The item was not verified because an earlier one was rejected.
  MLDSA_STATUS_NOT_VERIFIED = 42,
  // A vote of a certificate has a duplicate.
  MLDSA_STATUS_DUPLICATE_VOTE = 43,
  // A certificate has two different votes of one member.
  MLDSA_STATUS_CONFLICTING_VOTES = 44,
  // The votes do not reach the threshold.
  MLDSA_STATUS_INSUFFICIENT_WEIGHT = 45,
  // The gas limit is below the price.
  MLDSA_STATUS_OUT_OF_GAS = 46,
  // A batch without items.
  MLDSA_STATUS_EMPTY_BATCH = 47,
  // A text without a line `-----BEGIN LABEL-----`.
  MLDSA_STATUS_PEM_MISSING = 48,
  // PEM with more than one object.
  MLDSA_STATUS_PEM_SEVERAL = 49,
  // PEM with a malformed BEGIN or END line.
  MLDSA_STATUS_PEM_BOUNDARY = 50,
  // PEM with another label.
  MLDSA_STATUS_PEM_LABEL = 51,
  // PEM without an END line.
  MLDSA_STATUS_PEM_END = 52,
  // PEM with another label in the END line.
  MLDSA_STATUS_PEM_END_LABEL = 53,
  // PEM with headers, as of OpenSSL's old encrypted keys.
  MLDSA_STATUS_PEM_HEADERS = 54,
  // PEM with a character that is no base64.
  MLDSA_STATUS_PEM_BASE64 = 55,
  // PEM whose base64 ends early or is padded wrongly.
  MLDSA_STATUS_PEM_PADDING = 56,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mldsa_status mldsa_status;
#else
typedef int32_t mldsa_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Verifies batches of signatures. Keys that sign often are expanded once. Any number of threads at
// once.
typedef struct mldsa_batch mldsa_batch;

// The members of an epoch with weights, threshold and context, expanded once. Immutable. Any
// number of threads at once.
typedef struct mldsa_committee mldsa_committee;

// A decoded signature of any parameter set. Any number of threads at once.
typedef struct mldsa_signature mldsa_signature;

// A message representative in the making: it streams a message of any length. One thread at a
// time uses it.
typedef struct mldsa_mu mldsa_mu;

// A private key of any parameter set, wiped when it is freed. Any number of threads at once.
// Each signature is verified before it is released, see
// `mldsa_private_key_set_self_verification`.
typedef struct mldsa_private_key mldsa_private_key;

// A public key of any parameter set. Any number of threads at once.
typedef struct mldsa_public_key mldsa_public_key;

// One signature with its public key.
typedef struct {
  // The encoded public key.
  const uint8_t *public_key;
  // Length of `public_key` in bytes.
  size_t public_key_len;
  // The message.
  const uint8_t *message;
  // Length of `message` in bytes.
  size_t message_len;
  // The signature.
  const uint8_t *signature;
  // Length of `signature` in bytes.
  size_t signature_len;
} mldsa_item;

// One signature with its public key, as offsets into one buffer.
typedef struct {
  // Offset of the encoded public key from the start of the data, in bytes.
  uint32_t public_key;
  // Length of `public_key` in bytes.
  uint32_t public_key_len;
  // Offset of the message from the start of the data, in bytes.
  uint32_t message;
  // Length of `message` in bytes.
  uint32_t message_len;
  // Offset of the signature from the start of the data, in bytes.
  uint32_t signature;
  // Length of `signature` in bytes.
  uint32_t signature_len;
} mldsa_packed_item;

// What `mldsa_committee_new` makes: 24 bytes without padding and pointers. No member has a default.
typedef struct {
  // The epoch.
  uint64_t epoch;
  // The parameter set.
  uint32_t set;
  // One of `MLDSA_THREADS`.
  uint32_t threads;
  // A quorum is more than `numerator / denominator` of the weight: 2 and 3 in most protocols.
  uint32_t numerator;
  // At least `numerator` and 1 more.
  uint32_t denominator;
} mldsa_committee_options;

// One vote of a member.
typedef struct {
  // Index of the member in the committee.
  uint32_t member;
  // The message.
  const uint8_t *message;
  // Length of `message` in bytes.
  size_t message_len;
  // The signature.
  const uint8_t *signature;
  // Length of `signature` in bytes.
  size_t signature_len;
} mldsa_vote;

// One vote of a member, as offsets into one buffer.
typedef struct {
  // Index of the member in the committee.
  uint32_t member;
  // Offset of the message from the start of the data, in bytes.
  uint32_t message;
  // Length of `message` in bytes.
  uint32_t message_len;
  // Offset of the signature from the start of the data, in bytes.
  uint32_t signature;
  // Length of `signature` in bytes.
  uint32_t signature_len;
} mldsa_packed_vote;

// Result of a quorum.
typedef struct {
  // Verified weight, at most 2^64 - 1; 0 without a quorum.
  uint64_t weight;
  // Index of the vote that was rejected, or 2^64 - 1.
  uint64_t vote;
  // Status of its rejection, or 0.
  int32_t reason;
} mldsa_quorum;

// Where a PEM text is wrong: 88 bytes without padding. Zeros after a success, and where there is no place.
typedef struct {
  // Line from 1.
  uint64_t line;
  // Column from 1, in bytes.
  uint64_t column;
  // The label that was found instead of the wanted one: at most 64 characters of printable ASCII, then zeros.
  uint8_t label[72];
} mldsa_pem_place;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a verifier of batches of one parameter set, or of `MLDSA_ANY`. `threads` is one of
// `MLDSA_THREADS`; expanded keys of each set take at most `cache_bytes` bytes. Free it with
// `mldsa_batch_free`.
MLDSA_MUST_USE
mldsa_status mldsa_batch_new(uint32_t set,
                             uint32_t threads,
                             size_t cache_bytes,
                             mldsa_batch **batch);

// Frees a batch verifier. Null is allowed.
void mldsa_batch_free(mldsa_batch *batch);

// Verifies `count` items under one context and writes one verdict for each: `MLDSA_VERDICT_VALID`
// or the status of the rejection. Each verdict is the one that the item alone would have.
// 0 if there is an item and all are valid; `MLDSA_STATUS_REJECTED` if some are not.
MLDSA_MUST_USE
mldsa_status mldsa_batch_verify(const mldsa_batch *batch,
                                const uint8_t *context,
                                size_t context_len,
                                const mldsa_item *items,
                                size_t count,
                                uint8_t *verdicts);

// Verifies, as `mldsa_batch_verify`, items whose parts are in one buffer, for languages whose
// memory must not contain pointers. A part outside of `data` is `MLDSA_STATUS_OUT_OF_BOUNDS`.
MLDSA_MUST_USE
mldsa_status mldsa_batch_verify_packed(const mldsa_batch *batch,
                                       const uint8_t *context,
                                       size_t context_len,
                                       const uint8_t *data,
                                       size_t data_len,
                                       const mldsa_packed_item *items,
                                       size_t count,
                                       uint8_t *verdicts);

// Makes a committee of `count` members: their concatenated public keys and their weights, none of
// them 0. All votes are under `context`. Free it with `mldsa_committee_free`.
MLDSA_MUST_USE
mldsa_status mldsa_committee_new(const mldsa_committee_options *options,
                                 const uint8_t *context,
                                 size_t context_len,
                                 const uint8_t *public_keys,
                                 size_t public_keys_len,
                                 const uint64_t *weights,
                                 size_t count,
                                 mldsa_committee **committee);

// Makes the committee of a later epoch. A key with a weight joins or gets that weight, a key
// with weight 0 leaves. Changes that are already in force, and repetitions of a change, change
// nothing. Members that stay keep their order and their expanded keys; the old committee stays
// valid.
MLDSA_MUST_USE
mldsa_status mldsa_committee_successor(const mldsa_committee *committee,
                                       uint64_t epoch,
                                       const uint8_t *public_keys,
                                       size_t public_keys_len,
                                       const uint64_t *weights,
                                       size_t count,
                                       mldsa_committee **successor);

// Frees a committee. Null is allowed.
void mldsa_committee_free(mldsa_committee *committee);

// Returns the number of members; 0 for null.
size_t mldsa_committee_len(const mldsa_committee *committee);

// Writes the index of the member with a public key: 2^32 - 1 after an error.
MLDSA_MUST_USE
mldsa_status mldsa_committee_index(const mldsa_committee *committee,
                                   const uint8_t *public_key,
                                   size_t public_key_len,
                                   uint32_t *index);

// Verifies `count` votes and writes one verdict for each: `MLDSA_VERDICT_VALID` or the status of
// the rejection. 0 if there is a vote and all are valid; `MLDSA_STATUS_REJECTED` if some are not.
MLDSA_MUST_USE
mldsa_status mldsa_committee_verify_batch(const mldsa_committee *committee,
                                          const mldsa_vote *votes,
                                          size_t count,
                                          uint8_t *verdicts);

// Verifies, as `mldsa_committee_verify_batch`, votes whose parts are in one buffer. A part outside of `data` is
// `MLDSA_STATUS_OUT_OF_BOUNDS`.
MLDSA_MUST_USE
mldsa_status mldsa_committee_verify_batch_packed(const mldsa_committee *committee,
                                                 const uint8_t *data,
                                                 size_t data_len,
                                                 const mldsa_packed_vote *votes,
                                                 size_t count,
                                                 uint8_t *verdicts);

// Verifies that votes for `message` reach the threshold under one of `MLDSA_RULE`. The messages of the
// votes are not read. Writes the verified weight, or the vote that was rejected.
MLDSA_MUST_USE
mldsa_status mldsa_committee_verify_quorum(const mldsa_committee *committee,
                                           uint32_t rule,
                                           const uint8_t *message,
                                           size_t message_len,
                                           const mldsa_vote *votes,
                                           size_t count,
                                           mldsa_quorum *quorum);

// Verifies, as `mldsa_committee_verify_quorum`, votes whose signatures are in one buffer.
MLDSA_MUST_USE
mldsa_status mldsa_committee_verify_quorum_packed(const mldsa_committee *committee,
                                                  uint32_t rule,
                                                  const uint8_t *message,
                                                  size_t message_len,
                                                  const uint8_t *data,
                                                  size_t data_len,
                                                  const mldsa_packed_vote *votes,
                                                  size_t count,
                                                  mldsa_quorum *quorum);

// Begins a message representative under a public key. Free it with `mldsa_mu_free`.
MLDSA_MUST_USE
mldsa_status mldsa_mu_new(const mldsa_public_key *key,
                          const uint8_t *context,
                          size_t context_len,
                          mldsa_mu **mu);

// Appends a piece of the message.
MLDSA_MUST_USE
mldsa_status mldsa_mu_update(mldsa_mu *mu,
                             const uint8_t *message,
                             size_t message_len);

// Writes the representative of the message so far: exactly 64 bytes.
MLDSA_MUST_USE mldsa_status mldsa_mu_finish(const mldsa_mu *mu, uint8_t *out, size_t out_len);

// Frees and wipes the state. Null is allowed.
void mldsa_mu_free(mldsa_mu *mu);

// Executes the precompile of EIP-8355: `input` is public key, signature and message, concatenated.
// Writes the price in gas and whether the signature is valid (1 or 0); a malformed input is not
// valid. `MLDSA_STATUS_OUT_OF_GAS` if the limit is below the price: nothing was verified.
MLDSA_MUST_USE
mldsa_status mldsa_eip8355(uint32_t set,
                           const uint8_t *input,
                           size_t input_len,
                           uint64_t gas_limit,
                           uint64_t *gas_used,
                           uint8_t *valid);

// Generates a private key with the operating system's generator. Free it with
// `mldsa_private_key_free`.
MLDSA_MUST_USE mldsa_status mldsa_private_key_generate(uint32_t set, mldsa_private_key **key);

// Makes a private key from its seed of 32 bytes (FIPS 204 algorithm 6).
MLDSA_MUST_USE
mldsa_status mldsa_private_key_from_seed(uint32_t set,
                                         const uint8_t *seed,
                                         size_t seed_len,
                                         mldsa_private_key **key);

// Makes a private key from its expanded encoding of 2560, 4032 or 4896 bytes. Every part is
// checked, at the cost of a key generation. The seed of such a key is not known.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_from_expanded(uint32_t set,
                                             const uint8_t *expanded,
                                             size_t expanded_len,
                                             mldsa_private_key **key);

// Makes a private key from PKCS#8 (RFC 9881: seed, expanded key or both), in DER or in PEM. The
// parameter set is in it. `place`: null, or where a PEM text is wrong.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_from_pkcs8(const uint8_t *pkcs8,
                                          size_t pkcs8_len,
                                          mldsa_private_key **key,
                                          mldsa_pem_place *place);

// Wipes and frees a private key. Null is allowed.
void mldsa_private_key_free(mldsa_private_key *key);

// Returns the parameter set of a private key; 0 for null.
uint32_t mldsa_private_key_set(const mldsa_private_key *key);

// Copies the seed: 32 secret bytes. `MLDSA_STATUS_NO_SEED` for a key that came without.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_seed(const mldsa_private_key *key,
                                    uint8_t *buffer,
                                    size_t *len);

// Copies the expanded encoding: secret.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_expanded(const mldsa_private_key *key,
                                        uint8_t *buffer,
                                        size_t *len);

// Copies PKCS#8 in DER, in one of the forms `MLDSA_PKCS8`: secret.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_pkcs8(const mldsa_private_key *key,
                                     uint32_t form,
                                     uint8_t *buffer,
                                     size_t *len);

// Makes the public key of a private key. Free it with `mldsa_public_key_free`.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_public_key(const mldsa_private_key *key,
                                          mldsa_public_key **public_key);

// Expands the key once, for keys that sign often. Idempotent.
MLDSA_MUST_USE mldsa_status mldsa_private_key_prepare(const mldsa_private_key *key);

// Turns the verification of each signature before its release on (1, the default) or off (0).
// It detects faults of the machine during signing, after which a signature can reveal the key;
// such a signature is `MLDSA_STATUS_SIGNING`. No other thread uses the handle meanwhile.
MLDSA_MUST_USE
mldsa_status mldsa_private_key_set_self_verification(mldsa_private_key *key,
                                                     uint32_t on);

// Signs a message (FIPS 204 algorithm 2). `randomness`: null for 32 fresh bytes of the operating
// system (hedged, recommended), or 32 bytes; 32 zero bytes are deterministic signing. A generator
// that fails is `MLDSA_STATUS_RANDOM`, one that returns zeros `MLDSA_STATUS_ZERO_RANDOMNESS`.
// `*signature_len` is the size of the buffer before and of the signature after the call. After an
// error both are as before, except that `*signature_len` is the needed size after
// `MLDSA_STATUS_BUFFER_LENGTH`.
MLDSA_MUST_USE
mldsa_status mldsa_sign(const mldsa_private_key *key,
                        const uint8_t *message,
                        size_t message_len,
                        const uint8_t *context,
                        size_t context_len,
                        const uint8_t *randomness,
                        uint8_t *signature,
                        size_t *signature_len);

// Signs a digest (HashML-DSA, FIPS 204 algorithm 4). `hash` is an `MLDSA_HASH` number; a hash
// weaker than the parameter set is rejected. The rest as `mldsa_sign`.
MLDSA_MUST_USE
mldsa_status mldsa_sign_prehashed(const mldsa_private_key *key,
                                  uint32_t hash,
                                  const uint8_t *digest,
                                  size_t digest_len,
                                  const uint8_t *context,
                                  size_t context_len,
                                  const uint8_t *randomness,
                                  uint8_t *signature,
                                  size_t *signature_len);

// Signs a message representative of 64 bytes. The rest as `mldsa_sign`.
MLDSA_MUST_USE
mldsa_status mldsa_sign_mu(const mldsa_private_key *key,
                           const uint8_t *mu,
                           size_t mu_len,
                           const uint8_t *randomness,
                           uint8_t *signature,
                           size_t *signature_len);

// Returns the length of a public key in bytes: 1312, 1952 or 2592; 0 for an unknown parameter set.
size_t mldsa_public_key_len(uint32_t set);

// Returns the length of an expanded private key in bytes: 2560, 4032 or 4896; 0 for an unknown parameter set.
size_t mldsa_expanded_key_len(uint32_t set);

// Returns the length of a signature in bytes: 2420, 3309 or 4627; 0 for an unknown parameter set.
size_t mldsa_signature_len(uint32_t set);

// Makes a public key from its encoding. A joined private key of ML-DSA-44 (seed and expanded key),
// which has the length of a public key of ML-DSA-87, is `MLDSA_STATUS_PRIVATE`. Free it with `mldsa_public_key_free`.
MLDSA_MUST_USE
mldsa_status mldsa_public_key_new(uint32_t set,
                                  const uint8_t *encoded,
                                  size_t encoded_len,
                                  mldsa_public_key **key);

// Makes a public key from SubjectPublicKeyInfo (RFC 9881), in DER or in PEM. The parameter set
// is in it. `place`: null, or where a PEM text is wrong.
MLDSA_MUST_USE
mldsa_status mldsa_public_key_from_spki(const uint8_t *spki,
                                        size_t spki_len,
                                        mldsa_public_key **key,
                                        mldsa_pem_place *place);

// Frees a public key. Null is allowed.
void mldsa_public_key_free(mldsa_public_key *key);

// Returns the parameter set of a public key; 0 for null.
uint32_t mldsa_public_key_set(const mldsa_public_key *key);

// Copies the encoding. `*len` is the size of the buffer before and of the encoding after the
// call.
MLDSA_MUST_USE
mldsa_status mldsa_public_key_bytes(const mldsa_public_key *key,
                                    uint8_t *buffer,
                                    size_t *len);

// Copies SubjectPublicKeyInfo in DER: 1334, 1974 or 2614 bytes.
MLDSA_MUST_USE
mldsa_status mldsa_public_key_spki(const mldsa_public_key *key,
                                   uint8_t *buffer,
                                   size_t *len);

// Expands the key once, for keys that verify often: 20, 36 or 64 KiB, and a third of the time
// or less for each later verification. Idempotent.
MLDSA_MUST_USE mldsa_status mldsa_public_key_prepare(const mldsa_public_key *key);

// Decodes a signature (FIPS 204 algorithm 27): length and hint. Hosts that charge for
// each step call `mldsa_public_key_new` and `mldsa_public_key_prepare`, this function and
// `mldsa_verify_decoded`. Free it with `mldsa_signature_free`.
MLDSA_MUST_USE
mldsa_status mldsa_signature_decode(uint32_t set,
                                    const uint8_t *signature,
                                    size_t signature_len,
                                    mldsa_signature **decoded);

// Frees a decoded signature. Null is allowed.
void mldsa_signature_free(mldsa_signature *decoded);

// Verifies as `mldsa_verify` does, with a decoded signature.
MLDSA_MUST_USE
mldsa_status mldsa_verify_decoded(const mldsa_public_key *key,
                                  const uint8_t *message,
                                  size_t message_len,
                                  const uint8_t *context,
                                  size_t context_len,
                                  const mldsa_signature *decoded);

// Verifies a signature (FIPS 204 algorithm 3). 0 for a valid one only.
MLDSA_MUST_USE
mldsa_status mldsa_verify(const mldsa_public_key *key,
                          const uint8_t *message,
                          size_t message_len,
                          const uint8_t *context,
                          size_t context_len,
                          const uint8_t *signature,
                          size_t signature_len);

// Verifies a HashML-DSA signature (FIPS 204 algorithm 5) from the digest. `hash` is an
// `MLDSA_HASH` number; a hash weaker than the parameter set is rejected.
MLDSA_MUST_USE
mldsa_status mldsa_verify_prehashed(const mldsa_public_key *key,
                                    uint32_t hash,
                                    const uint8_t *digest,
                                    size_t digest_len,
                                    const uint8_t *context,
                                    size_t context_len,
                                    const uint8_t *signature,
                                    size_t signature_len);

// Verifies a signature of a message representative of 64 bytes.
MLDSA_MUST_USE
mldsa_status mldsa_verify_mu(const mldsa_public_key *key,
                             const uint8_t *mu,
                             size_t mu_len,
                             const uint8_t *signature,
                             size_t signature_len);

// Returns the name of a status in snake case; `unknown` for other numbers. Static, never null.
const char *mldsa_status_name(int32_t status);

// Returns the version of this interface: `MLDSA_ABI_VERSION` of the header that fits the library. It changes
// when a program that was compiled with another header must not use the library.
uint32_t mldsa_abi_version(void);

// Compares key generation, signing and verification of all parameter sets with known answers.
MLDSA_MUST_USE mldsa_status mldsa_self_test(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MLDSA_H */
