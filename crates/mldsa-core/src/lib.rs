#![no_std]
//! ML-DSA core.
