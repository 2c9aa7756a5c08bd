/* QEMU TCG plugin: the address of every instruction and of everything it loads
 * and stores, as 64-bit words in the order of execution, on standard output. The
 * layout of a word is in record.rs. Debian ships no header of the plugin
 * interface, so what is used of its version 1 is declared here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct {
    const char *target_name;
} qemu_info_t;
enum { NO_REGISTERS = 0 };
enum { LOADS_AND_STORES = 3 };
typedef void (*on_translation_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*on_exit_t)(qemu_plugin_id_t, void *);
typedef void (*on_instruction_t)(unsigned, void *);
typedef void (*on_access_t)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translation_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, on_instruction_t, int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, on_access_t, int, int, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, on_exit_t, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);

EXPORT int qemu_plugin_version = 1;

static uint64_t words[1 << 15];
static size_t filled;
static bool arm, arm64, i386;

static void flush(void)
{
    const char *bytes = (const char *)words;
    size_t left = filled * sizeof *words;
    while (left) {
        ssize_t written = write(STDOUT_FILENO, bytes, left);
        if (written <= 0)
            _exit(1);
        bytes += written;
        left -= (size_t)written;
    }
    filled = 0;
}

static void emit(uint64_t word)
{
    words[filled++] = word;
    if (filled == sizeof words / sizeof *words)
        flush();
}

static void on_instruction(unsigned cpu, void *word)
{
    (void)cpu;
    emit((uintptr_t)word);
}

static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *unused)
{
    (void)cpu;
    (void)unused;
    emit(address | (qemu_plugin_mem_is_store(info) ? 2ull : 1ull) << 62);
}

/* Whether it leaves its return address in the link register, on i386 on the stack. */
static bool is_call(const uint8_t *code, size_t size)
{
    if (i386)
        return code[0] == 0xe8 || (size > 1 && code[0] == 0xff && (code[1] & 0x38) == 0x10);
    uint16_t first = code[0] | code[1] << 8;
    if (arm) {
        uint16_t second = size == 4 ? code[2] | code[3] << 8 : 0;
        bool bl = size == 4 && (first & 0xf800) == 0xf000 && (second & 0xd000) == 0xd000;
        bool blx = size == 2 && (first & 0xff80) == 0x4780;
        return bl || blx;
    }
    if (arm64) {
        uint32_t word = first | (uint32_t)(code[2] | code[3] << 8) << 16;
        bool bl = (word & 0xfc000000) == 0x94000000;
        bool blr = (word & 0xfffffc1f) == 0xd63f0000;
        return bl || blr;
    }
    if (size == 2)
        return (first & 0xe003) == 0x2001 || ((first & 0xf07f) == 0x9002 && first != 0x9002);
    unsigned opcode = first & 0x7f, destination = first >> 7 & 0x1f;
    return (opcode == 0x6f || opcode == 0x67) && destination == 1;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t n = 0; n < qemu_plugin_tb_n_insns(block); n++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, n);
        size_t size = qemu_plugin_insn_size(instruction);
        uint64_t word = qemu_plugin_insn_vaddr(instruction) | (uint64_t)size << 56;
        if (is_call(qemu_plugin_insn_data(instruction), size))
            word |= 1ull << 61;
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_instruction, NO_REGISTERS,
                                               (void *)(uintptr_t)word);
        qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS,
                                         LOADS_AND_STORES, NULL);
    }
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    flush();
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    arm = strcmp(info->target_name, "arm") == 0;
    arm64 = strcmp(info->target_name, "aarch64") == 0;
    i386 = strcmp(info->target_name, "i386") == 0;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
    return 0;
}
