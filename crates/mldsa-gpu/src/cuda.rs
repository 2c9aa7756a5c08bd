//! CUDA's driver interface. PTX is embedded, and no toolkit takes part.
#![allow(unsafe_code, reason = "the driver's interface is C")]

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{NonNull, null_mut};

use crate::driver::{Argument, Device, Done, Driver, Kernel, Memory};
use crate::error::GpuError;
use crate::library::functions;

#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";

type Handle = *mut c_void;

functions! {
    /// The driver's functions, with the signatures of `cuda.h`.
    Api {
        init = "cuInit" (c_uint) -> c_int;
        driver_version = "cuDriverGetVersion" (*mut c_int) -> c_int;
        device = "cuDeviceGet" (*mut c_int, c_int) -> c_int;
        device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int) -> c_int;
        total_memory = "cuDeviceTotalMem_v2" (*mut usize, c_int) -> c_int;
        retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int) -> c_int;
        release = "cuDevicePrimaryCtxRelease_v2" (c_int) -> c_int;
        set_current = "cuCtxSetCurrent" (Handle) -> c_int;
        load = "cuModuleLoadData" (*mut Handle, *const c_void) -> c_int;
        unload = "cuModuleUnload" (Handle) -> c_int;
        function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char) -> c_int;
        allocate = "cuMemAlloc_v2" (*mut u64, usize) -> c_int;
        free = "cuMemFree_v2" (u64) -> c_int;
        host_allocate = "cuMemHostAlloc" (*mut Handle, usize, c_uint) -> c_int;
        host_free = "cuMemFreeHost" (Handle) -> c_int;
        stream = "cuStreamCreate" (*mut Handle, c_uint) -> c_int;
        stream_free = "cuStreamDestroy_v2" (Handle) -> c_int;
        stream_query = "cuStreamQuery" (Handle) -> c_int;
        stream_wait = "cuStreamSynchronize" (Handle) -> c_int;
        upload = "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle) -> c_int;
        download = "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle) -> c_int;
        fill = "cuMemsetD8Async" (u64, u8, usize, Handle) -> c_int;
        launch = "cuLaunchKernel" (
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
            *mut *mut c_void, *mut *mut c_void,
        ) -> c_int;
    }
}

const OUT_OF_MEMORY: c_int = 2;
const NO_DEVICE: c_int = 100;
const INVALID_DEVICE: c_int = 101;
const NOT_READY: c_int = 600;

fn check(call: &'static str, code: c_int) -> Result<(), GpuError> {
    match code {
        0 => Ok(()),
        OUT_OF_MEMORY => Err(GpuError::Memory),
        NO_DEVICE | INVALID_DEVICE => Err(GpuError::NoDevice),
        code => Err(GpuError::Driver { call, code }),
    }
}

/// Unpacks the PTX of a set, from `ptx.sh`: members of gzip without a name.
fn ptx(set: u32) -> Result<Vec<u8>, GpuError> {
    let packed: &[u8] = match set {
        44 => include_bytes!("../ptx/44.ptx.gz"),
        65 => include_bytes!("../ptx/65.ptx.gz"),
        _ => include_bytes!("../ptx/87.ptx.gz"),
    };
    const HEADER: [u8; 4] = [0x1f, 0x8b, 8, 0];
    let body = packed.strip_prefix(&HEADER).and_then(|rest| rest.get(6..));
    let text = body.and_then(|body| miniz_oxide::inflate::decompress_to_vec(body).ok());
    let mut text = text.ok_or(GpuError::Unsuitable("readable PTX"))?;
    text.push(0);
    Ok(text)
}

pub(crate) struct Cuda {
    api: Api,
    number: c_int,
    device: Device,
    context: Handle,
    module: Handle,
    functions: Vec<Handle>,
    streams: Vec<Handle>,
    memory: Vec<Memory>,
    page_locked: Vec<Handle>,
}

impl Cuda {
    /// Opens device `index` on this thread and loads the kernels of a set.
    pub(crate) fn open(index: u32, set: u32) -> Result<Self, GpuError> {
        let api = Api::open(LIBRARY)?;
        let index = c_int::try_from(index).map_err(|_| GpuError::NoDevice)?;
        let (mut version, mut number, mut memory) = (0, 0, 0);
        let mut name = [0; 256];
        let (mut context, mut module) = (null_mut(), null_mut());
        // SAFETY: results go to locals of the types of `cuda.h`; the name has room for 255
        // characters and a zero.
        unsafe {
            check("cuInit", (api.init)(0))?;
            check("cuDriverGetVersion", (api.driver_version)(&mut version))?;
            check("cuDeviceGet", (api.device)(&mut number, index))?;
            check(
                "cuDeviceGetName",
                (api.device_name)(name.as_mut_ptr(), 255, number),
            )?;
            check("cuDeviceTotalMem", (api.total_memory)(&mut memory, number))?;
            check(
                "cuDevicePrimaryCtxRetain",
                (api.retain)(&mut context, number),
            )?;
        }
        let name = name.map(|c| c as u8);
        let name = CStr::from_bytes_until_nul(&name).map_or("?".into(), CStr::to_string_lossy);
        let mut cuda = Self {
            api,
            number,
            device: Device {
                interface: "CUDA",
                name: name.into_owned(),
                driver: format!("{}.{}", version / 1000, version % 1000 / 10),
                memory: memory as u64,
            },
            context,
            module: null_mut(),
            functions: Vec::new(),
            streams: Vec::new(),
            memory: Vec::new(),
            page_locked: Vec::new(),
        };
        let text = ptx(set)?;
        // SAFETY: the context was retained; the text ends in a zero and is copied by the call.
        unsafe {
            check("cuCtxSetCurrent", (cuda.api.set_current)(context))?;
            check(
                "cuModuleLoadData",
                (cuda.api.load)(&mut module, text.as_ptr().cast()),
            )?;
        }
        cuda.module = module;
        for kernel in Kernel::ALL {
            let mut function = null_mut();
            // SAFETY: a loaded module and a string with its zero.
            let code =
                unsafe { (cuda.api.function)(&mut function, module, kernel.name().as_ptr()) };
            check("cuModuleGetFunction", code)?;
            cuda.functions.push(function);
        }
        Ok(cuda)
    }
}

impl Driver for Cuda {
    fn device(&self) -> &Device {
        &self.device
    }

    fn teams(&self) -> u32 {
        4
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, GpuError> {
        let mut memory = 0;
        // SAFETY: writes the address to a local.
        check("cuMemAlloc", unsafe {
            (self.api.allocate)(&mut memory, bytes.max(16))
        })?;
        self.memory.push(memory);
        Ok(memory)
    }

    fn page_locked(&mut self, bytes: usize) -> Result<NonNull<u8>, GpuError> {
        const PORTABLE: c_uint = 1;
        let bytes = bytes.max(16);
        let mut memory = null_mut();
        // SAFETY: writes the address to a local.
        let code = unsafe { (self.api.host_allocate)(&mut memory, bytes, PORTABLE) };
        check("cuMemHostAlloc", code)?;
        let start = NonNull::new(memory.cast::<u8>()).ok_or(GpuError::Memory)?;
        self.page_locked.push(memory);
        // SAFETY: new memory of that many bytes.
        unsafe { start.write_bytes(0, bytes) };
        Ok(start)
    }

    fn add_queue(&mut self) -> Result<usize, GpuError> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = null_mut();
        // SAFETY: writes the handle to a local.
        check("cuStreamCreate", unsafe {
            (self.api.stream)(&mut stream, NON_BLOCKING)
        })?;
        self.streams.push(stream);
        Ok(self.streams.len() - 1)
    }

    unsafe fn upload(&mut self, queue: usize, to: Memory, at: usize, from: *const [u8]) -> Done {
        let to = to + at as u64;
        // SAFETY: by the caller.
        let code = unsafe { (self.api.upload)(to, from.cast(), from.len(), self.streams[queue]) };
        check("cuMemcpyHtoDAsync", code)
    }

    fn fill(&mut self, queue: usize, to: Memory, byte: u8, len: usize) -> Result<(), GpuError> {
        // SAFETY: memory of the device, which its driver checks.
        let code = unsafe { (self.api.fill)(to, byte, len, self.streams[queue]) };
        check("cuMemsetD8Async", code)
    }

    unsafe fn download(&mut self, queue: usize, to: *mut [u8], from: Memory) -> Done {
        // SAFETY: by the caller.
        let code = unsafe { (self.api.download)(to.cast(), from, to.len(), self.streams[queue]) };
        check("cuMemcpyDtoHAsync", code)
    }

    unsafe fn launch(
        &mut self,
        queue: usize,
        kernel: Kernel,
        groups: u32,
        arguments: &[Argument],
    ) -> Result<(), GpuError> {
        let mut words = [0u64; 16];
        let mut pointers = [null_mut::<c_void>(); 16];
        for ((argument, word), pointer) in arguments.iter().zip(&mut words).zip(&mut pointers) {
            // A word of 32 bits lies at the front of its 64 bits.
            *word = match *argument {
                Argument::Memory(memory) => memory,
                Argument::Word(value) => u64::from(value).to_le(),
            };
            *pointer = core::ptr::from_mut(word).cast();
        }
        let (function, stream) = (self.functions[kernel as usize], self.streams[queue]);
        let threads = kernel.threads(self.teams());
        // SAFETY: by the caller; the values are copied by the call.
        let code = unsafe {
            let extra = null_mut();
            let pointers = pointers.as_mut_ptr();
            (self.api.launch)(
                function, groups, 1, 1, threads, 1, 1, 0, stream, pointers, extra,
            )
        };
        check("cuLaunchKernel", code)
    }

    fn start(&mut self, _queue: usize) -> Result<(), GpuError> {
        Ok(())
    }

    fn is_idle(&mut self, queue: usize) -> Result<bool, GpuError> {
        // SAFETY: a live stream.
        match unsafe { (self.api.stream_query)(self.streams[queue]) } {
            NOT_READY => Ok(false),
            code => check("cuStreamQuery", code).map(|()| true),
        }
    }

    fn wait(&mut self, queue: usize) -> Result<(), GpuError> {
        // SAFETY: a live stream.
        check("cuStreamSynchronize", unsafe {
            (self.api.stream_wait)(self.streams[queue])
        })
    }
}

impl Drop for Cuda {
    /// Frees everything. Errors have no consequence: the memory of a lost device is lost with it.
    fn drop(&mut self) {
        // SAFETY: handles of this value, each given back once, the context last.
        unsafe {
            for &stream in &self.streams {
                (self.api.stream_wait)(stream);
                (self.api.stream_free)(stream);
            }
            for &memory in &self.memory {
                (self.api.free)(memory);
            }
            for &memory in &self.page_locked {
                (self.api.host_free)(memory);
            }
            if !self.module.is_null() {
                (self.api.unload)(self.module);
            }
            if !self.context.is_null() {
                (self.api.set_current)(null_mut());
                (self.api.release)(self.number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_text_with_all_kernels_for_old_drivers() {
        for set in [44, 65, 87] {
            let text = String::from_utf8(ptx(set).expect("PTX")).expect("text");
            assert!(text.contains(".version 7.0") && text.contains(".target sm_70"));
            assert!(text.ends_with('\0'));
            for kernel in Kernel::ALL {
                let name = kernel.name().to_str().expect("a name");
                assert!(text.contains(&format!(".visible .entry {name}(")), "{name}");
            }
        }
    }
}
