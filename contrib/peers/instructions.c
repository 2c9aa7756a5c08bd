/* QEMU TCG plugin: how often each instruction was executed between two calls of
 * getppid, a line of its encoding and the count for each, and a last line with a dot, on
 * standard output. contrib/peers/instructions.py reads them. Debian ships no header of the
 * plugin interface, so what is used of its version 1 is declared here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void qemu_info_t;
enum { ADD_U64 = 0 };
typedef void (*on_translation_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*on_call_t)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translation_t);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, on_call_t);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

EXPORT int qemu_plugin_version = 1;

/* Of Linux for AArch64 and RISC-V. */
enum { GETPPID = 173 };

/* One counter for each encoding, found by hashing; an encoding of zero is no instruction. */
enum { PLACES = 1 << 20 };
static struct {
    uint32_t encoding;
    uint64_t count;
} counted[PLACES];

static uint64_t *counter(uint32_t encoding)
{
    uint32_t place = encoding * 2654435769u >> 12;
    for (size_t tried = 0; tried < PLACES; tried++, place = (place + 1) % PLACES) {
        if (!counted[place].encoding)
            counted[place].encoding = encoding;
        if (counted[place].encoding == encoding)
            return &counted[place].count;
    }
    fputs("the table is full\n", stderr);
    exit(1);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t n = 0; n < qemu_plugin_tb_n_insns(block); n++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, n);
        uint32_t encoding = 0;
        memcpy(&encoding, qemu_plugin_insn_data(instruction), qemu_plugin_insn_size(instruction));
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD_U64, counter(encoding), 1);
    }
}

static void on_call(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b,
                    uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    static bool inside;
    (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number != GETPPID)
        return;
    for (size_t place = 0; place < PLACES; place++) {
        if (inside && counted[place].count)
            printf("%08x %llu\n", counted[place].encoding, (unsigned long long)counted[place].count);
        counted[place].count = 0;
    }
    if (inside)
        puts(".");
    fflush(stdout);
    inside = !inside;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call);
    return 0;
}
