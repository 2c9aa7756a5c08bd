//! Libraries of drivers, opened when the program runs.
#![allow(unsafe_code, reason = "functions of C libraries")]

use libloading::Library;

use crate::error::GpuError;

/// Opens a library by its bare name, which the system looks for where its administrator put
/// libraries. No path and no variable of this crate leads elsewhere.
pub(crate) fn open(name: &'static str) -> Result<Library, GpuError> {
    #[cfg(windows)]
    // SAFETY: a library of the driver in the system's folder, and nowhere else.
    let opened = unsafe {
        use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library as Windows};
        Windows::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32).map(Library::from)
    };
    #[cfg(not(windows))]
    // SAFETY: the initialisers of the driver's library are trusted as its functions are.
    let opened = unsafe { Library::new(name) };
    opened.map_err(|_| GpuError::NoDriver(name))
}

/// A struct of the functions of one library, which stays open as long as the struct lives. A
/// missing function is an error when the library is opened.
macro_rules! functions {
    ($(#[$doc:meta])* $api:ident { $($name:ident = $symbol:literal ($($argument:ty),* $(,)?) -> $result:ty;)* }) => {
        $(#[$doc])*
        struct $api {
            $($name: unsafe extern "system" fn($($argument),*) -> $result,)*
            _library: libloading::Library,
        }

        impl $api {
            fn open(library: &'static str) -> Result<Self, GpuError> {
                let library = crate::library::open(library)?;
                $(
                    // SAFETY: the type is that of the driver's header.
                    let $name = *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }
                        .map_err(|_| GpuError::NoDriver($symbol))?;
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}
pub(crate) use functions;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    functions! {
        /// A library without one of the functions, as an old driver is.
        Old {
            present = "getpid" () -> i32;
            missing = "cuNewFunction" (i32) -> i32;
        }
    }

    functions! {
        Good {
            present = "getpid" () -> i32;
        }
    }

    #[test]
    fn a_missing_library_or_function_is_an_error() {
        const LIBC: &str = "libc.so.6";
        let good = Good::open(LIBC).expect("the C library");
        // SAFETY: `getpid` takes nothing.
        assert_eq!(unsafe { (good.present)() }, std::process::id() as i32);
        let old = Old::open(LIBC).map(|old| (old.present as usize, old.missing as usize));
        assert_eq!(old, Err(GpuError::NoDriver("cuNewFunction")));
        let none = Good::open("libcuda.so.0").map(|_| ());
        assert_eq!(none, Err(GpuError::NoDriver("libcuda.so.0")));
    }
}
