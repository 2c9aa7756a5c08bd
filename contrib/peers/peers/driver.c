/* Times one ML-DSA implementation in a process of its own. Built by build.sh, used by
 * src/external.rs, which describes the protocol. With an argument, the name of the implementation
 * in rows, it serves instructions.py.
 *
 * The implementation is in the file that is linked with this one, for the set SET. */

#include "peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct message {
    uint32_t key;
    uint8_t bytes[32];
    uint8_t signature[SIG_LEN];
};

static uint32_t keys, messages;
static struct peer_key *key;
static struct message *message;

static void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static uint64_t now(void) {
#ifdef __x86_64__
    __builtin_ia32_lfence();
    uint64_t ticks = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return ticks;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
#endif
}

static uint64_t processor_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static void read_all(void *to, size_t length) {
    require(fread(to, 1, length, stdin) == length, "inputs end early");
}

static uint32_t read_u32(void) {
    uint8_t bytes[4];
    read_all(bytes, 4);
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void *array(size_t count, size_t size) {
    void *memory = calloc(count, size);
    require(memory != NULL, "no memory");
    return memory;
}

static void load(void) {
    keys = read_u32();
    messages = read_u32();
    require(keys > 0 && messages > 0, "no inputs");
    key = array(keys, sizeof *key);
    message = array(messages, sizeof *message);
    for (uint32_t i = 0; i < keys; i++) {
        read_all(key[i].seed, sizeof key[i].seed);
        read_all(key[i].public, sizeof key[i].public);
        read_all(key[i].private, sizeof key[i].private);
        require(peer_load(&key[i]), "a key is rejected");
    }
    for (uint32_t i = 0; i < messages; i++) {
        message[i].key = read_u32();
        require(message[i].key < keys, "no such key");
        read_all(message[i].bytes, sizeof message[i].bytes);
        read_all(message[i].signature, sizeof message[i].signature);
    }
}

/* Operations on case `i`; 0 if the result is wrong. */
static int keygen(size_t i) {
    static uint8_t public[PK_LEN];
    const struct peer_key *k = &key[i % keys];
    return peer_keygen(k, public) && memcmp(public, k->public, 8) == 0;
}

static int sign(size_t i) {
    static uint8_t signature[SIG_LEN];
    const struct message *m = &message[i % messages];
    return peer_sign(&key[m->key], m->bytes, signature) && memcmp(signature, m->signature, 8) == 0;
}

static int verify_cold(size_t i) {
    const struct message *m = &message[i % messages];
    return peer_verify_cold(&key[m->key], m->bytes, m->signature);
}

static int verify_prepared(size_t i) {
    const struct message *m = &message[i % messages];
    return peer_verify_prepared(&key[m->key], m->bytes, m->signature);
}

/* Found by name before the clock starts. */
static const struct {
    const char *name;
    int (*call)(size_t i);
} operations[] = {
    {"keygen", keygen},           {"sign", sign},
    {"sign_prepared", sign},      {"verify_cold", verify_cold},
    {"verify_prepared", verify_prepared},
};

static int (*find(const char *name))(size_t) {
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++)
        if (strcmp(name, operations[n].name) == 0)
            return operations[n].call;
    return NULL;
}

/* Calls every operation on every case as src/bin/counted_calls.rs does. */
static int count_all(const char *name) {
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++)
        for (uint32_t i = 0; strstr(PEER_OPERATIONS, operations[n].name) && i < messages; i++) {
            printf("# ML-DSA-%d %s %s\n", SET, operations[n].name, name);
            fflush(stdout);
            getppid();
            int right = operations[n].call(i);
            getppid();
            require(right, "a result differs");
        }
    return 0;
}

/* Compares every result with the inputs before anything is timed. */
static void check(void) {
    uint8_t public[PK_LEN], signature[SIG_LEN];
    for (uint32_t i = 0; i < keys; i++)
        require(peer_keygen(&key[i], public) && memcmp(public, key[i].public, PK_LEN) == 0,
                "key generation differs");
    for (uint32_t i = 0; i < messages; i++) {
        struct message *m = &message[i];
        struct peer_key *k = &key[m->key];
        require(peer_sign(k, m->bytes, signature), "signing fails");
        require(memcmp(signature, m->signature, SIG_LEN) == 0, "a signature differs");
        require(peer_verify_cold(k, m->bytes, m->signature), "a valid signature is rejected");
        m->signature[i % SIG_LEN] ^= 1;
        require(!peer_verify_cold(k, m->bytes, m->signature), "a forgery is accepted");
        if (strstr(PEER_OPERATIONS, "verify_prepared")) {
            require(!peer_verify_prepared(k, m->bytes, m->signature), "a forgery is accepted");
            m->signature[i % SIG_LEN] ^= 1;
            require(peer_verify_prepared(k, m->bytes, m->signature), "a valid signature is rejected");
        } else {
            m->signature[i % SIG_LEN] ^= 1;
        }
    }
}

int main(int argc, char **argv) {
    char operation[32];
    uint64_t first, end;
    load();
    check();
    if (argc > 1)
        return count_all(argv[1]);
    printf("%s\n", PEER_OPERATIONS);
    fflush(stdout);
    while (scanf("%31s %" SCNu64 " %" SCNu64, operation, &first, &end) == 3) {
        int (*call)(size_t) = find(operation);
        require(call != NULL && strstr(PEER_OPERATIONS, operation) != NULL, "no such operation");
        int right = call(end);
        uint64_t count = end - first, *ticks = array(count, sizeof *ticks);
        uint64_t processor = processor_ns();
        for (uint64_t i = 0; i < count; i++) {
            uint64_t begin = now();
            right &= call(first + i);
            ticks[i] = now() - begin;
        }
        processor = processor_ns() - processor;
        require(right, "a result differs");
        printf("%" PRIu64, processor);
        for (uint64_t i = 0; i < count; i++)
            printf(" %" PRIu64, ticks[i]);
        printf("\n");
        fflush(stdout);
        free(ticks);
    }
    return 0;
}
