// Inputs of board and host. A device takes both secrets from its random number
// generator; here the host needs them too.
pub const SEED: [u8; 32] = *b"a seed that is no secret anymore";
pub const RND: [u8; 32] = *b"bytes that hedge one signature..";
pub const MESSAGE: &[u8] = b"temperature 21.5 C, door closed";
