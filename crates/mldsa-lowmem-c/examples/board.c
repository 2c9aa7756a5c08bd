/* Start of a program on an emulated board, and output by semihosting. */
#include <stddef.h>
#include <stdint.h>

int main(void);
void print(const char *text);
void finish(int status);
void start(void);

extern uint32_t bss_start[], bss_end[];
extern char stack_top[];

static void call_host(uintptr_t operation, uintptr_t argument)
{
#ifdef __riscv
    register uintptr_t a0 __asm__("a0") = operation, a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n.option norvc\n"
                     "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
#else
    register uintptr_t r0 __asm__("r0") = operation, r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#endif
}

void print(const char *text) { call_host(4, (uintptr_t)text); }

void finish(int status)
{
    /* Only this reason is success. */
    call_host(0x18, status == 0 ? 0x20026 : 0x20023);
    for (;;) { }
}

void start(void)
{
    for (uint32_t *word = bss_start; word < bss_end; word++)
        *word = 0;
    main();
}

/* What compilers call, where there is no C library. The archive has copies of its own. */
void *memcpy(void *to, const void *from, size_t len)
{
    for (size_t n = 0; n < len; n++)
        ((volatile char *)to)[n] = ((const char *)from)[n];
    return to;
}
void *memset(void *to, int value, size_t len)
{
    for (size_t n = 0; n < len; n++)
        ((volatile char *)to)[n] = (char)value;
    return to;
}

#ifdef __riscv
__asm__(".section .vectors,\"ax\"\n.globl _start\n_start:\n"
        ".option push\n.option norelax\nla sp, stack_top\n.option pop\nj start\n");
#else
__attribute__((section(".vectors"), used)) static const void *vectors[] = { stack_top, start };
#endif
