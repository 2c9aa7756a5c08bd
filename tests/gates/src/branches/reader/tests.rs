//! Examples of each kind in every dialect, and of jumps that are left out.

use super::*;

fn kinds(dialect: Dialect, body: &str) -> BTreeMap<Kind, usize> {
    let lines: String = body
        .split(';')
        .map(|line| format!("\t{}\n", line.trim()))
        .collect();
    let text = lines
        .replace("\t.L:", ".L:")
        .replace(", ", ",\u{0}")
        .replace(' ', "\t");
    let mut found = Found::default();
    read(
        dialect,
        &format!("function:\n{}", text.replace('\u{0}', " ")),
        &mut found,
    );
    found.jumps.remove("function").expect("a function")
}

fn one(kind: Kind) -> BTreeMap<Kind, usize> {
    BTreeMap::from([(kind, 1)])
}

#[test]
fn signs_are_found_in_every_dialect() {
    for (dialect, body) in [
        (Dialect::Thumb, "adds r0, r0, r1; bmi .L"),
        (Dialect::Thumb, "cmp r0, #0; it mi; popmi {r4, pc}"),
        (Dialect::Arm64, "tbnz w0, #31, .L"),
        (Dialect::Arm64, "cmp w0, w1; b.lt .L"),
        (Dialect::Riscv, "bltz a0, .L"),
        (Dialect::X86, "testl %eax, %eax; js .L"),
    ] {
        assert_eq!(kinds(dialect, body), one(Kind::Sign), "{body}");
    }
}

#[test]
fn elements_of_rows_are_found_in_every_dialect() {
    for (dialect, body) in [
        (Dialect::Thumb, "ldrb r0, [r1, r2]; cmp r0, #8; bhi .L"),
        (
            Dialect::Thumb,
            "ldm r1!, {r0}; lsls r0, r0, #4; cmp r0, #0; beq .L",
        ),
        (
            Dialect::Thumb,
            "ldr r0, [r1]; cbz r0, .L; .L:; adds r1, r1, #4",
        ),
        (
            Dialect::Arm64,
            "ldr w0, [x1], #4; and w0, w0, #15; cbnz w0, .L",
        ),
        (
            Dialect::Riscv,
            "lw a0, 0(a1); srai a0, a0, 13; bnez a0, .L; .L:; addi a1, a1, 4",
        ),
        (Dialect::X86, "cmpb $8, (%rdi,%rax); ja .L"),
        (
            Dialect::X86,
            "movl (%rdi), %ecx; andl $15, %ecx; cmpl $8, %ecx; ja .L; .L:; addq $4, %rdi",
        ),
    ] {
        assert_eq!(kinds(dialect, body), one(Kind::Loaded), "{body}");
    }
}

#[test]
fn counters_fields_and_stacks_are_left_out() {
    for (dialect, body) in [
        (Dialect::Thumb, "adds r0, r0, #4; cmp r0, r1; bne .L"),
        (Dialect::Thumb, "ldr r0, [r1, #8]; cmp r0, #2; bne .L"),
        (Dialect::Thumb, "cmp r0, #0; it mi; addmi r0, r0, r1"),
        (Dialect::Arm64, "cmp sp, x9; b.le .L"),
        (
            Dialect::Riscv,
            "addi a5, a4, -32; sll a3, a3, a4; bltz a5, .L",
        ),
        (Dialect::Riscv, "lw a0, 8(sp); bnez a0, .L; addi sp, sp, 16"),
        (
            Dialect::X86,
            "addl %ecx, (%rdi,%rax,4); incq %rax; cmpq $256, %rax; jne .L",
        ),
    ] {
        assert_eq!(kinds(dialect, body), BTreeMap::new(), "{body}");
    }
}

#[test]
fn comparisons_of_memory_are_found_in_every_dialect() {
    for (dialect, body) in [
        (Dialect::Thumb, "bl memcmp"),
        (Dialect::Arm64, "bl bcmp"),
        (Dialect::Riscv, "call memcmp"),
        (Dialect::X86, "callq *bcmp@GOTPCREL(%rip)"),
    ] {
        assert_eq!(kinds(dialect, body), one(Kind::Compare), "{body}");
    }
}
