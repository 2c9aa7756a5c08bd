//! OpenCL 1.2: the driver compiles the source of the kernels.
#![allow(unsafe_code, reason = "the driver's interface is C")]

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr::{NonNull, from_ref, null, null_mut};
use std::ffi::CString;
use std::sync::Mutex;

use crate::driver::{Argument, Device, Done, Driver, Kernel, Memory, SOURCE};
use crate::error::GpuError;
use crate::library::functions;
use crate::lock::lock;

#[cfg(windows)]
const LIBRARY: &str = "OpenCL.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libOpenCL.so.1";

type Handle = *mut c_void;

functions! {
    /// The functions of OpenCL 1.2, with the signatures of `cl.h`.
    Api {
        platforms = "clGetPlatformIDs" (c_uint, *mut Handle, *mut c_uint) -> c_int;
        devices = "clGetDeviceIDs" (Handle, u64, c_uint, *mut Handle, *mut c_uint) -> c_int;
        device_info = "clGetDeviceInfo" (Handle, c_uint, usize, Handle, *mut usize) -> c_int;
        context = "clCreateContext" (
            *const isize, c_uint, *const Handle, Handle, Handle, *mut c_int,
        ) -> Handle;
        context_free = "clReleaseContext" (Handle) -> c_int;
        queue = "clCreateCommandQueue" (Handle, Handle, u64, *mut c_int) -> Handle;
        queue_free = "clReleaseCommandQueue" (Handle) -> c_int;
        program = "clCreateProgramWithSource" (
            Handle, c_uint, *const *const c_char, *const usize, *mut c_int,
        ) -> Handle;
        program_free = "clReleaseProgram" (Handle) -> c_int;
        build = "clBuildProgram" (
            Handle, c_uint, *const Handle, *const c_char, Handle, Handle,
        ) -> c_int;
        build_info = "clGetProgramBuildInfo" (
            Handle, Handle, c_uint, usize, Handle, *mut usize,
        ) -> c_int;
        kernel = "clCreateKernel" (Handle, *const c_char, *mut c_int) -> Handle;
        kernel_free = "clReleaseKernel" (Handle) -> c_int;
        argument = "clSetKernelArg" (Handle, c_uint, usize, *const c_void) -> c_int;
        buffer = "clCreateBuffer" (Handle, u64, usize, Handle, *mut c_int) -> Handle;
        buffer_free = "clReleaseMemObject" (Handle) -> c_int;
        map = "clEnqueueMapBuffer" (
            Handle, Handle, c_uint, u64, usize, usize, c_uint, *const Handle, *mut Handle,
            *mut c_int,
        ) -> Handle;
        unmap = "clEnqueueUnmapMemObject" (
            Handle, Handle, Handle, c_uint, *const Handle, *mut Handle,
        ) -> c_int;
        write = "clEnqueueWriteBuffer" (
            Handle, Handle, c_uint, usize, usize, *const c_void, c_uint, *const Handle,
            *mut Handle,
        ) -> c_int;
        read = "clEnqueueReadBuffer" (
            Handle, Handle, c_uint, usize, usize, *mut c_void, c_uint, *const Handle,
            *mut Handle,
        ) -> c_int;
        fill = "clEnqueueFillBuffer" (
            Handle, Handle, *const c_void, usize, usize, usize, c_uint, *const Handle,
            *mut Handle,
        ) -> c_int;
        run = "clEnqueueNDRangeKernel" (
            Handle, Handle, c_uint, *const usize, *const usize, *const usize, c_uint,
            *const Handle, *mut Handle,
        ) -> c_int;
        flush = "clFlush" (Handle) -> c_int;
        finish = "clFinish" (Handle) -> c_int;
        event_info = "clGetEventInfo" (Handle, c_uint, usize, Handle, *mut usize) -> c_int;
        event_free = "clReleaseEvent" (Handle) -> c_int;
    }
}

/// Properties of a device.
const ADDRESS_BITS: c_uint = 0x100d;
const MEMORY: c_uint = 0x101f;
const LITTLE: c_uint = 0x1026;
const NAME: c_uint = 0x102b;
const VERSION: c_uint = 0x102d;

const DEVICE_NOT_FOUND: c_int = -1;
const BUILD_FAILURE: c_int = -11;
const PLATFORM_NOT_FOUND: c_int = -1001;

fn check(call: &'static str, code: c_int) -> Result<(), GpuError> {
    match code {
        0 => Ok(()),
        // Of an object, resources, the host; a buffer's size.
        -4 | -5 | -6 | -61 => Err(GpuError::Memory),
        DEVICE_NOT_FOUND | PLATFORM_NOT_FOUND => Err(GpuError::NoDevice),
        code => Err(GpuError::Driver { call, code }),
    }
}

/// Returns a handle that was made, or the error.
fn made(call: &'static str, handle: Handle, code: c_int) -> Result<Handle, GpuError> {
    check(call, code)?;
    match handle.is_null() {
        true => Err(GpuError::Driver { call, code }),
        false => Ok(handle),
    }
}

/// Kind of devices to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gpu,
    Cpu,
}

/// Loaders find their platforms at the first call, and not all of them lock.
static FIRST_CALL: Mutex<()> = Mutex::new(());

impl Api {
    /// Lists all devices of a kind, in the order of the platforms.
    fn all(&self, kind: Kind) -> Result<Vec<Handle>, GpuError> {
        let kind = match kind {
            Kind::Gpu => 1 << 2 | 1 << 3, // GPUs and accelerators
            Kind::Cpu => 1 << 1,
        };
        let _locked = lock(&FIRST_CALL);
        let (mut platforms, mut count, mut found) = ([null_mut(); 16], 0, Vec::new());
        // SAFETY: room for 16 handles, and a counter.
        let code = unsafe { (self.platforms)(16, platforms.as_mut_ptr(), &mut count) };
        check("clGetPlatformIDs", code)?;
        for &platform in platforms.iter().take(count as usize) {
            let (mut devices, mut count) = ([null_mut(); 64], 0);
            // SAFETY: room for 64 handles, and a counter.
            let code =
                unsafe { (self.devices)(platform, kind, 64, devices.as_mut_ptr(), &mut count) };
            if code == 0 {
                found.extend(devices.iter().take(count as usize));
            }
        }
        Ok(found)
    }

    fn number<T: Default>(&self, device: Handle, what: c_uint) -> Result<T, GpuError> {
        let mut value = T::default();
        let to = core::ptr::from_mut(&mut value).cast();
        // SAFETY: the size is that of the value.
        let code = unsafe { (self.device_info)(device, what, size_of::<T>(), to, null_mut()) };
        check("clGetDeviceInfo", code).map(|()| value)
    }

    fn text(&self, device: Handle, what: c_uint) -> Result<String, GpuError> {
        let (mut text, mut len) = ([0u8; 512], 0);
        // SAFETY: room for 512 bytes, and their number.
        let code =
            unsafe { (self.device_info)(device, what, 512, text.as_mut_ptr().cast(), &mut len) };
        check("clGetDeviceInfo", code)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).trim().into())
    }
}

pub(crate) struct OpenCl {
    api: Api,
    handle: Handle,
    device: Device,
    context: Handle,
    program: Handle,
    kernels: Vec<Handle>,
    queues: Vec<Handle>,
    /// Of the last download of each queue.
    events: Vec<Handle>,
    buffers: Vec<Handle>,
    /// Mapped buffers with their addresses.
    mapped: Vec<(Handle, Handle)>,
}

impl OpenCl {
    /// Opens device `index` of a kind and compiles the kernels of a set.
    pub(crate) fn open(index: u32, kind: Kind, set: u32) -> Result<Self, GpuError> {
        let api = Api::open(LIBRARY)?;
        let handle = *api
            .all(kind)?
            .get(index as usize)
            .ok_or(GpuError::NoDevice)?;
        if api.number::<c_uint>(handle, LITTLE)? != 1 {
            return Err(GpuError::Unsuitable("words with the low byte first"));
        }
        if api.number::<c_uint>(handle, ADDRESS_BITS)? != 64 {
            return Err(GpuError::Unsuitable("addresses of 64 bits"));
        }
        let device = Device {
            interface: "OpenCL",
            name: api.text(handle, NAME)?,
            driver: api.text(handle, VERSION)?,
            memory: api.number(handle, MEMORY)?,
        };
        let mut code = 0;
        // SAFETY: one device; no properties and no callback.
        let context =
            unsafe { (api.context)(null(), 1, &handle, null_mut(), null_mut(), &mut code) };
        let context = made("clCreateContext", context, code)?;
        let mut cl = Self {
            api,
            handle,
            device,
            context,
            program: null_mut(),
            kernels: Vec::new(),
            queues: Vec::new(),
            events: Vec::new(),
            buffers: Vec::new(),
            mapped: Vec::new(),
        };
        cl.compile(kind, set)?;
        Ok(cl)
    }

    fn compile(&mut self, kind: Kind, set: u32) -> Result<(), GpuError> {
        let (text, len, mut code) = (SOURCE.as_ptr().cast(), SOURCE.len(), 0);
        // SAFETY: one text with its length.
        let program = unsafe { (self.api.program)(self.context, 1, &text, &len, &mut code) };
        self.program = made("clCreateProgramWithSource", program, code)?;
        let small = if kind == Kind::Cpu { " -D SMALL" } else { "" };
        let options = CString::new(format!("-cl-std=CL1.2 -D SET={set}{small}"));
        let options = options.map_err(|_| GpuError::Options)?;
        // SAFETY: a program, its device and a string with its zero; no callback.
        match unsafe {
            let options = options.as_ptr();
            (self.api.build)(program, 1, &self.handle, options, null_mut(), null_mut())
        } {
            BUILD_FAILURE => return Err(GpuError::Compiler(self.log().into())),
            code => check("clBuildProgram", code)?,
        }
        for kernel in Kernel::ALL {
            // SAFETY: a program that was built and a string with its zero.
            let handle = unsafe { (self.api.kernel)(program, kernel.name().as_ptr(), &mut code) };
            self.kernels.push(made("clCreateKernel", handle, code)?);
        }
        Ok(())
    }

    /// Reads the first 4,000 bytes of the compiler's messages.
    fn log(&self) -> String {
        const LOG: c_uint = 0x1183;
        let (mut text, mut len) = (vec![0u8; 1 << 20], 0);
        // SAFETY: room for that many bytes, and their number.
        let code = unsafe {
            let to = text.as_mut_ptr().cast();
            (self.api.build_info)(self.program, self.handle, LOG, text.len(), to, &mut len)
        };
        let len = if code == 0 { len.min(4000) } else { 0 };
        String::from_utf8_lossy(&text[..len]).into_owned()
    }

    fn new_buffer(&self, flags: u64, bytes: usize) -> Result<Handle, GpuError> {
        let mut code = 0;
        // SAFETY: no memory of the host is passed.
        let buffer =
            unsafe { (self.api.buffer)(self.context, flags, bytes.max(16), null_mut(), &mut code) };
        made("clCreateBuffer", buffer, code)
    }
}

impl Driver for OpenCl {
    fn device(&self) -> &Device {
        &self.device
    }

    fn teams(&self) -> u32 {
        1
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, GpuError> {
        const READ_WRITE: u64 = 1;
        let buffer = self.new_buffer(READ_WRITE, bytes)?;
        self.buffers.push(buffer);
        Ok(buffer as Memory)
    }

    fn page_locked(&mut self, bytes: usize) -> Result<NonNull<u8>, GpuError> {
        const READ_WRITE_ON_HOST: u64 = 1 | 1 << 4;
        const READ_WRITE: u64 = 3;
        let bytes = bytes.max(16);
        let buffer = self.new_buffer(READ_WRITE_ON_HOST, bytes)?;
        self.buffers.push(buffer);
        let (queue, mut code, none) = (self.queues[0], 0, null_mut());
        // SAFETY: the whole buffer; the call waits.
        let start = unsafe {
            let (api, code) = (&self.api, &mut code);
            (api.map)(
                queue,
                buffer,
                1,
                READ_WRITE,
                0,
                bytes,
                0,
                null(),
                none,
                code,
            )
        };
        let start = made("clEnqueueMapBuffer", start, code)?;
        self.mapped.push((buffer, start));
        let start = NonNull::new(start.cast::<u8>()).ok_or(GpuError::Memory)?;
        // SAFETY: mapped memory of that many bytes.
        unsafe { start.write_bytes(0, bytes) };
        Ok(start)
    }

    fn add_queue(&mut self) -> Result<usize, GpuError> {
        let mut code = 0;
        // SAFETY: a live context and its device.
        let queue = unsafe { (self.api.queue)(self.context, self.handle, 0, &mut code) };
        self.queues.push(made("clCreateCommandQueue", queue, code)?);
        self.events.push(null_mut());
        Ok(self.queues.len() - 1)
    }

    unsafe fn upload(&mut self, queue: usize, to: Memory, at: usize, from: *const [u8]) -> Done {
        let (queue, to, none) = (self.queues[queue], to as Handle, null_mut());
        let (len, from) = (from.len(), from.cast());
        // SAFETY: by the caller.
        let code = unsafe { (self.api.write)(queue, to, 0, at, len, from, 0, null(), none) };
        check("clEnqueueWriteBuffer", code)
    }

    fn fill(&mut self, queue: usize, to: Memory, byte: u8, len: usize) -> Result<(), GpuError> {
        let (queue, to, none) = (self.queues[queue], to as Handle, null_mut());
        let byte = from_ref(&byte).cast();
        // SAFETY: the pattern is copied; the driver checks the length.
        let code = unsafe { (self.api.fill)(queue, to, byte, 1, 0, len, 0, null(), none) };
        check("clEnqueueFillBuffer", code)
    }

    unsafe fn download(&mut self, queue: usize, to: *mut [u8], from: Memory) -> Done {
        let (handle, from, mut event) = (self.queues[queue], from as Handle, null_mut());
        let (len, to, event_to) = (to.len(), to.cast(), &mut event);
        // SAFETY: by the caller.
        let code = unsafe { (self.api.read)(handle, from, 0, 0, len, to, 0, null(), event_to) };
        check("clEnqueueReadBuffer", code)?;
        let before = core::mem::replace(&mut self.events[queue], event);
        if !before.is_null() {
            // SAFETY: an event of ours, given back once.
            unsafe { (self.api.event_free)(before) };
        }
        Ok(())
    }

    unsafe fn launch(
        &mut self,
        queue: usize,
        kernel: Kernel,
        groups: u32,
        arguments: &[Argument],
    ) -> Result<(), GpuError> {
        let handle = self.kernels[kernel as usize];
        for (n, argument) in (0..).zip(arguments) {
            let (len, value): (usize, *const c_void) = match argument {
                Argument::Memory(memory) => (size_of::<Handle>(), from_ref(memory).cast()),
                Argument::Word(word) => (4, from_ref(word).cast()),
            };
            // SAFETY: the value is copied by the call.
            check("clSetKernelArg", unsafe {
                (self.api.argument)(handle, n, len, value)
            })?;
        }
        let local = kernel.threads(self.teams()) as usize;
        let global = groups as usize * local;
        let (queue, zero, none) = (self.queues[queue], null(), null_mut());
        // SAFETY: by the caller.
        let code =
            unsafe { (self.api.run)(queue, handle, 1, zero, &global, &local, 0, null(), none) };
        check("clEnqueueNDRangeKernel", code)
    }

    fn start(&mut self, queue: usize) -> Result<(), GpuError> {
        // SAFETY: a live queue.
        check("clFlush", unsafe { (self.api.flush)(self.queues[queue]) })
    }

    fn is_idle(&mut self, queue: usize) -> Result<bool, GpuError> {
        const STATUS: c_uint = 0x11d3;
        const COMPLETE: c_int = 0;
        let event = self.events[queue];
        if event.is_null() {
            return Ok(true);
        }
        let mut status = -1;
        let to = core::ptr::from_mut(&mut status).cast();
        // SAFETY: a live event; the status is an int.
        let code =
            unsafe { (self.api.event_info)(event, STATUS, size_of::<c_int>(), to, null_mut()) };
        check("clGetEventInfo", code)?;
        match status {
            COMPLETE => Ok(true),
            waiting if waiting > COMPLETE => Ok(false),
            code => Err(GpuError::Driver {
                call: "a command of a queue",
                code,
            }),
        }
    }

    fn wait(&mut self, queue: usize) -> Result<(), GpuError> {
        // SAFETY: a live queue.
        check("clFinish", unsafe { (self.api.finish)(self.queues[queue]) })
    }
}

impl Drop for OpenCl {
    /// Frees everything. Errors have no consequence: the memory of a lost device is lost with it.
    fn drop(&mut self) {
        // SAFETY: handles of this value, each given back once, the context last.
        unsafe {
            for &queue in &self.queues {
                (self.api.finish)(queue);
            }
            for &event in self.events.iter().filter(|event| !event.is_null()) {
                (self.api.event_free)(event);
            }
            if let Some(&queue) = self.queues.first() {
                for &(buffer, start) in &self.mapped {
                    (self.api.unmap)(queue, buffer, start, 0, null(), null_mut());
                }
                (self.api.finish)(queue);
            }
            for &buffer in &self.buffers {
                (self.api.buffer_free)(buffer);
            }
            for &kernel in &self.kernels {
                (self.api.kernel_free)(kernel);
            }
            if !self.program.is_null() {
                (self.api.program_free)(self.program);
            }
            for &queue in &self.queues {
                (self.api.queue_free)(queue);
            }
            (self.api.context_free)(self.context);
        }
    }
}
