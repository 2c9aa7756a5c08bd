//! Straight-line EVM code with a stack whose slots have names: what Yul's
//! `verbatim` takes.

use core::cmp::Ordering;

use ruint::aliases::U256;

/// An instruction that takes and gives stack items only, or reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    /// Sum.
    Add = 0x01,
    /// Product.
    Mul = 0x02,
    /// Top minus second.
    Sub = 0x03,
    /// Top modulo second.
    Mod = 0x06,
    /// Product of the first two modulo the third.
    MulMod = 0x09,
    /// Whether the top is below the second.
    Lt = 0x10,
    /// Conjunction.
    And = 0x16,
    /// Disjunction.
    Or = 0x17,
    /// Exclusive disjunction.
    Xor = 0x18,
    /// Complement.
    Not = 0x19,
    /// Second shifted left by the top.
    Shl = 0x1b,
    /// Second shifted right by the top.
    Shr = 0x1c,
    /// Drop the top.
    Pop = 0x50,
    /// Memory word at the top.
    Mload = 0x51,
    /// Second to memory at the top.
    Mstore = 0x52,
}

impl Op {
    /// Items taken and given.
    const fn effect(self) -> (usize, usize) {
        match self {
            Self::Not | Self::Mload => (1, 1),
            Self::Pop => (1, 0),
            Self::Mstore => (2, 0),
            Self::MulMod => (3, 1),
            _ => (2, 1),
        }
    }
}

/// A program under construction.
#[derive(Debug)]
pub struct Asm {
    stack: Vec<String>,
    code: Vec<u8>,
    inputs: usize,
}

impl Asm {
    /// A program that starts with these items, the first on top.
    pub fn new<S: Into<String>>(inputs: impl IntoIterator<Item = S>) -> Self {
        let mut stack: Vec<String> = inputs.into_iter().map(Into::into).collect();
        stack.reverse();
        Self {
            inputs: stack.len(),
            stack,
            code: Vec::new(),
        }
    }

    /// Pushes a constant in the fewest bytes.
    pub fn push(&mut self, value: impl TryInto<U256>) -> &mut Self {
        let Ok(value) = value.try_into() else {
            panic!("constant out of range");
        };
        let bytes = value.to_be_bytes_trimmed_vec();
        self.code.push(0x5f + bytes.len() as u8);
        self.code.extend(bytes);
        self.stack.push(String::new());
        self
    }

    /// Names the top.
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        *self.stack.last_mut().expect("empty stack") = name.into();
        self
    }

    /// Copies the named item to the top.
    pub fn dup(&mut self, name: &str) -> &mut Self {
        let depth = self.depth(name);
        self.dup_n(depth)
    }

    /// Copies the named item to the top and adds a constant.
    pub fn dup_add(&mut self, name: &str, offset: usize) -> &mut Self {
        self.dup(name);
        if offset > 0 {
            self.push(offset).op(&[Op::Add]);
        }
        self
    }

    /// Shifts the top so that bit `from` becomes bit `to`.
    pub fn shift(&mut self, from: usize, to: usize) -> &mut Self {
        match from.cmp(&to) {
            Ordering::Greater => self.push(from - to).op(&[Op::Shr]),
            Ordering::Less => self.push(to - from).op(&[Op::Shl]),
            Ordering::Equal => self,
        }
    }

    /// Copies the top.
    pub fn dup_top(&mut self) -> &mut Self {
        self.dup_n(1)
    }

    fn dup_n(&mut self, depth: usize) -> &mut Self {
        assert!(depth <= 16, "too deep to copy: {:?}", self.stack);
        self.code.push(0x7f + depth as u8);
        self.stack.push(String::new());
        self
    }

    /// Exchanges the top with the item `n` below it.
    pub fn swap(&mut self, n: usize) -> &mut Self {
        assert!((1..=16).contains(&n), "too deep to swap: {:?}", self.stack);
        self.code.push(0x8f + n as u8);
        let top = self.stack.len() - 1;
        self.stack.swap(top, top - n);
        self
    }

    /// Puts the top into the named slot; what was there is the nameless top.
    pub fn swap_into(&mut self, name: &str) -> &mut Self {
        let n = self.depth(name) - 1;
        self.swap(n);
        let top = self.stack.len() - 1;
        self.stack.swap(top, top - n);
        self
    }

    /// Appends instructions.
    pub fn op(&mut self, ops: &[Op]) -> &mut Self {
        for &op in ops {
            let (taken, given) = op.effect();
            let left = self
                .stack
                .len()
                .checked_sub(taken)
                .expect("stack underflow");
            self.stack.truncate(left);
            self.stack.resize(left + given, String::new());
            self.code.push(op as u8);
        }
        self
    }

    /// Drops `n` items.
    pub fn pop(&mut self, n: usize) -> &mut Self {
        for _ in 0..n {
            self.op(&[Op::Pop]);
        }
        self
    }

    fn depth(&self, name: &str) -> usize {
        let at = self.stack.iter().rposition(|item| item == name);
        self.stack.len() - at.unwrap_or_else(|| panic!("no {name} in {:?}", self.stack))
    }

    /// The Yul expression that runs the program on `arguments`.
    pub fn verbatim(&self, arguments: &[String]) -> String {
        assert_eq!(arguments.len(), self.inputs, "arguments");
        let code: String = self.code.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut text = format!(
            "verbatim_{}i_{}o(hex\"{code}\"",
            self.inputs,
            self.stack.len()
        );
        for argument in arguments {
            text.push_str(", ");
            text.push_str(argument);
        }
        text.push(')');
        text
    }
}
