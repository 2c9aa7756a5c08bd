#!/usr/bin/env python3
"""Checks kernels of a linked program for all inputs with tools that share no code with this workspace:
angr (VEX) executes the machine code on unknown inputs, and bitwuzla decides the statements.

    python3 -m venv target/venv && target/venv/bin/pip install angr bitwuzla 'bitstring<4.4' 'pycparser==3.0'
    target/venv/bin/python contrib/proofs/second_opinion.py PROGRAM [pack_eta | row_product]

PROGRAM is for x86-64 (kernels of AVX2) or AArch64 (NEON), with symbols. Without the tools the script
prints NOT RUN and ends with status 77. Statements:

- pack_eta, eta = 2 and 4: each of the 256 fields is eta minus its coefficient, for -eta <= s <= eta.
- row_product, 4 to 8 terms: each of the 256 coefficients is one expression, up to the names of its inputs.
  With products as unknown numbers of 64 bits it is Montgomery's reduction of their sum, which is below q
  in magnitude and, times 2^32, congruent to the sum modulo q, for sums below 2^31 q.

Each statement has a control, a false one, which bitwuzla has to refute.
"""
import logging
import sys
import tempfile

try:
    import angr
    import bitwuzla
    import claripy
    import z3
except ImportError as error:
    print(f"NOT RUN: {error}")
    sys.exit(77)

Q = 8_380_417
Q_INVERSE = pow(Q, -1, 1 << 32)
A, B, OUT, END = 0x1000_0000, 0x2000_0000, 0x3000_0000, 0xDEAD_0000
to_z3 = claripy.backends.z3.convert


def decide(*assertions):
    """Whether the assertions have a solution, by bitwuzla."""
    solver = z3.SolverFor("QF_BV")
    solver.add(*assertions)
    with tempfile.NamedTemporaryFile("w", suffix=".smt2") as file:
        file.write("(set-logic QF_BV)\n" + solver.to_smt2())
        file.flush()
        manager, options = bitwuzla.TermManager(), bitwuzla.Options()
        parser = bitwuzla.Parser(manager, options)
        parser.parse(file.name, True)
        return str(parser.bitwuzla().check_sat())


class Statement:
    """Counts what is proved: the negation has no solution, and that of the control has one."""

    failed = 0

    @classmethod
    def check(cls, name, negation, control):
        answers = decide(*negation), decide(*control)
        is_proved = [answer.split(".")[-1].lower() for answer in answers] == ["unsat", "sat"]
        cls.failed += not is_proved
        print(f"{name}: {'proved' if is_proved else 'OPEN'}, {answers[0]}; control {answers[1]}", flush=True)


class Kernel:
    """A function of the program, executed on unknown inputs."""

    def __init__(self, project, module, name):
        end = f"{len(module)}{module}{len(name)}{name}17h"
        backend = "4neon" if project.arch.name == "AARCH64" else "4avx2"
        found = [s for s in project.loader.main_object.symbols if backend + end in s.name]
        if len(found) != 1:
            sys.exit(f"{len(found)} functions are {backend}{end}")
        self.project, self.at, self.name = project, found[0].rebased_addr, name

    def run(self, arguments, inputs):
        """The state after the only path; `inputs` are polynomials by address."""
        options = {angr.options.SYMBOL_FILL_UNCONSTRAINED_MEMORY, angr.options.SYMBOL_FILL_UNCONSTRAINED_REGISTERS}
        state = self.project.factory.call_state(self.at, *arguments, add_options=options, ret_addr=END)
        for at, polynomial in inputs:
            for n, coefficient in enumerate(polynomial):
                state.memory.store(at + 4 * n, coefficient, endness="Iend_LE")
        manager = self.project.factory.simulation_manager(state)
        manager.explore(find=END)
        if len(manager.found) != 1 or manager.active or manager.deadended or manager.errored:
            sys.exit(f"{self.name}: not one path, {manager}")
        return manager.found[0]


def polynomial(name):
    return [claripy.BVS(f"{name}_{n}", 32, explicit_name=True) for n in range(256)]


def pack_eta(project):
    kernel = Kernel(project, "pack", "pack_eta")
    for eta, width in ((2, 3), (4, 4)):
        s = polynomial("s")
        state = kernel.run((eta, A, OUT, 32 * width), [(A, s)])
        packed = claripy.Concat(*(state.memory.load(OUT + n, 1) for n in reversed(range(32 * width))))
        fields = [claripy.Extract(width * n + width - 1, width * n, packed) for n in range(256)]
        in_range = [to_z3(claripy.And(c.SGE(-eta), c.SLE(eta))) for c in s]

        def differs(top):
            wanted = (claripy.Extract(width - 1, 0, claripy.BVV(top, 32) - c) for c in s)
            return to_z3(claripy.Or(*(field != want for field, want in zip(fields, wanted))))

        name = f"pack_eta, eta = {eta}: 256 fields"
        Statement.check(name, [*in_range, differs(eta)], [*in_range, differs(eta - 1)])


def extended(term):
    """The number of 32 bits that a term extends with its sign to 64 bits, if it does."""
    if term.decl().kind() == z3.Z3_OP_SIGN_EXT:
        return term.arg(0)
    parts, stack = [], [term]
    while stack:
        part = stack.pop()
        if part.decl().kind() == z3.Z3_OP_CONCAT:
            stack.extend(reversed(part.children()))
        else:
            parts.append(part)
    number = parts[-1]
    signs = parts[:-1]
    is_sign = lambda p: p.decl().kind() == z3.Z3_OP_EXTRACT and p.params() == [31, 31] and z3.eq(p.arg(0), number)
    return number if number.size() == 32 and len(signs) == 32 and all(map(is_sign, signs)) else None


def abstracted(term, products, known):
    """The term with unknown numbers in the place of the products of inputs."""
    if term.get_id() in known:
        return known[term.get_id()]
    children = [abstracted(child, products, known) for child in term.children()]
    result = term.decl()(*children) if children else term
    if term.decl().kind() == z3.Z3_OP_BMUL and term.num_args() == 2:
        pair = [term.arg(0), term.arg(1)]
        if term.size() == 64:
            pair = [extended(factor) for factor in pair]
        for x, y, product in products:
            if None not in pair and any(z3.eq(pair[i], x) and z3.eq(pair[1 - i], y) for i in (0, 1)):
                result = product if term.size() == 64 else z3.Extract(31, 0, product)
    known[term.get_id()] = result
    return result


def factor(total):
    """The multiple of q that makes the lower half of a sum zero."""
    return z3.SignExt(32, z3.Extract(31, 0, total) * z3.BitVecVal(Q_INVERSE, 32))


def montgomery(total):
    return z3.Extract(63, 32, total - factor(total) * z3.BitVecVal(Q, 64))


def row_product(project):
    kernel = Kernel(project, "product", "row_product")
    for terms in (4, 5, 6, 7, 8):
        a, b = ([polynomial(f"{name}{j}") for j in range(terms)] for name in "ab")
        rows = [(A + 1024 * j, p) for j, p in enumerate(a)] + [(B + 1024 * j, p) for j, p in enumerate(b)]
        state = kernel.run((A, terms, B, terms, OUT), rows)
        x, y = ([z3.BitVec(f"{name}{j}", 32) for j in range(terms)] for name in "xy")
        shapes = set()
        for n in range(256):
            term = to_z3(state.memory.load(OUT + 4 * n, 4, endness="Iend_LE"))
            names = [(to_z3(p[n]), v) for polys, new in ((a, x), (b, y)) for p, v in zip(polys, new)]
            term = z3.substitute(term, *names)
            shapes.add(term.sexpr())
        if len(shapes) != 1:
            sys.exit(f"row_product, {terms} terms: the coefficients are {len(shapes)} expressions")
        products = [(x[j], y[j], z3.BitVec(f"p{j}", 64)) for j in range(terms)]
        term = abstracted(term, products, {})
        total = sum((product for _, _, product in products[1:]), products[0][2])
        different = [term != montgomery(total)]
        control = [term != montgomery(total + 1)]
        Statement.check(f"row_product, {terms} terms: 256 coefficients", different, control)
    total, bound = z3.BitVec("total", 64), z3.BitVecVal(Q << 31, 64)
    in_range, out = [total < bound, total > -bound], montgomery(total)
    outside = lambda most: z3.Not(z3.And(out > -most, out < most))
    Statement.check("Montgomery: |out| < q", [*in_range, outside(Q)], [*in_range, outside(Q // 2)])
    lower = lambda multiple: z3.Extract(31, 0, total - factor(total) * z3.BitVecVal(multiple, 64)) != 0
    Statement.check("Montgomery: the lower half is zero", [lower(Q)], [lower(Q + 1)])


def main():
    for name in ("angr", "cle", "claripy", "pyvex"):
        logging.getLogger(name).setLevel("CRITICAL")
    rows = {"pack_eta": pack_eta, "row_product": row_product}
    if not 2 <= len(sys.argv) <= 3 or len(sys.argv) == 3 and sys.argv[2] not in rows:
        sys.exit(__doc__)
    project = angr.Project(sys.argv[1], auto_load_libs=False)
    for name, check in rows.items():
        if name in sys.argv[2:] or len(sys.argv) == 2:
            check(project)
    print(f"statements that are open: {Statement.failed}")
    sys.exit(1 if Statement.failed else 0)


main()
