//! Table of the orders that move accepted candidates to the front of a register.

/// For every set of accepted candidates among eight, those in front, and how many.
pub(super) static ACCEPTED: [([u8; 8], usize); 256] = {
    let mut table = [([0; 8], 0); 256];
    let mut set = 0;
    while set < 256 {
        let mut n = 0;
        while n < 8 {
            if set >> n & 1 == 1 {
                let (order, count) = &mut table[set];
                order[*count] = n as u8;
                *count += 1;
            }
            n += 1;
        }
        set += 1;
    }
    table
};
