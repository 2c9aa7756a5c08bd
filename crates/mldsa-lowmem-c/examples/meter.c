/* Prints stack and instructions of each operation on QEMU's mps2-an386, for 16 keys, messages and
 * randomizers: those of the meter in contrib/boards. One set: -DSET=44. */
#include "mldsa_lowmem.h"

void print(const char *text);
void finish(int status);

#define JOIN(A, B, C) A##B##C
#define NAME(A, B, C) JOIN(A, B, C)
#define CALL(F) NAME(mldsa_lowmem_, SET, _##F)
#define LEN(L) NAME(MLDSA_LOWMEM_, SET, _##L##_LEN)
#define TIMER ((volatile uint32_t *)0x40000000) /* 25 MHz; an instruction takes 1 ns. */
#define INPUTS 16
#define DEPTH 2500 /* Words below the caller that are painted. */

static uint8_t pk[LEN(PK)], sk[LEN(SK)], signature[LEN(SIGNATURE)], work[LEN(WORK)];
static uint8_t seed[32], message[32], rnd[32], mu[64];
static mldsa_lowmem_signer signer;
static int status;

static void empty(void) { }
#ifdef KEYGEN
static void keygen(void) { status |= CALL(keygen)(seed, pk, sk); }
#endif
#ifdef VERIFY
static void verify(void) { status |= CALL(verify)(pk, message, 32, 0, 0, signature); }
#endif
#ifdef SIGN
static void sign(void) { status |= CALL(sign)(sk, pk, message, 32, 0, 0, rnd, signature); }
#endif
#ifdef SIGN_CACHED
static void sign_cached(void) { status |= CALL(sign_mu_cached)(sk, pk, mu, rnd, work, signature); }
#endif
#ifdef SLICES
static void slice(void)
{
    int result = CALL(signer_step)(&signer);
    status = result == MLDSA_LOWMEM_WORKING || result == MLDSA_LOWMEM_WORKING_STATE ? 1 : result;
}
#endif

static void print_number(uint32_t number)
{
    char text[11];
    int at = 10;
    text[at] = 0;
    do
        text[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    print(text + at);
}

static uint32_t deepest, ticks;

__attribute__((noinline)) static void measure(void (*call)(void))
{
    volatile uint32_t *top = (volatile uint32_t *)__builtin_frame_address(0) - 32;
    for (int n = 0; n < DEPTH; n++)
        top[-n] = 0x5bd1e995;
    uint32_t before = TIMER[1];
    call();
    ticks += before - TIMER[1];
    int n = DEPTH - 1;
    while (n > 0 && top[-n] == 0x5bd1e995)
        n--;
    if (4 * (n + 33) > (int)deepest)
        deepest = 4 * (uint32_t)(n + 33);
}

/* `memory` is what the operation needs besides the stack. */
static void row(const char *name, void (*call)(void), uint32_t memory)
{
    int whole = memory != sizeof signer;
    deepest = 0;
    ticks = 0;
    for (int n = 0; n < INPUTS; n++) {
        mldsa_lowmem_mu hash;
        for (int i = 0; i < 32; i++)
            seed[i] = message[i] = rnd[i] = (uint8_t)(n + 1);
        seed[31] = 1;
        message[31] = 2;
        rnd[31] = 3;
#ifdef NEEDS_KEYS
        status |= CALL(keygen)(seed, pk, sk);
        status |= mldsa_lowmem_mu_start(&hash, sk + 64, 0, 0) | mldsa_lowmem_mu_update(&hash, message, 32);
        status |= mldsa_lowmem_mu_finish(&hash, mu);
        status |= CALL(sign_mu)(sk, pk, mu, rnd, signature);
#endif
#ifdef SLICES
        if (!whole)
            status |= CALL(signer_start)(&signer, sk, pk, mu, rnd, signature);
#endif
        (void)hash;
        do
            measure(call);
        while (!whole && status == 1);
    }
    print(name);
    print(" ");
    print_number(deepest + memory);
    print(" ");
    print_number((uint32_t)((uint64_t)ticks * 40 / INPUTS / 10000));
    print("\n");
}

int main(void)
{
    TIMER[2] = TIMER[1] = 0xffffffff;
    TIMER[0] = 1;
    row("empty", empty, 0);
    (void)work;
#ifdef KEYGEN
    row("keygen", keygen, 0);
#endif
#ifdef VERIFY
    row("verify", verify, 0);
#endif
#ifdef SIGN
    row("sign", sign, 0);
#endif
#ifdef SIGN_CACHED
    row("sign_mu_cached", sign_cached, sizeof work);
#endif
#ifdef SLICES
    row("signer", slice, sizeof signer);
#endif
    finish(status);
    return 0;
}
