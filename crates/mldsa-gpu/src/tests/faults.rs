//! Devices that give wrong verdicts, fail or hang: an OpenCL device behind a switch. No verdict is lost or made up.
#![allow(unsafe_code, reason = "a driver, whose contract it passes on")]

use core::mem::replace;
use core::ptr::NonNull;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use batch_verify::{BatchVerifier, Item, Threads};
use mldsa_core::{Context, MlDsa44, ParameterSet};

use super::{options, usable};
use crate::batch::Signed;
use crate::driver::{Argument, Device, Done, Driver, Kernel, Memory};
use crate::gpu::opener;
use crate::layout::{Layout, POISON};
use crate::probe::CONTEXT;
use crate::state::Shared;
use crate::worker::{Command, KEYS};
use crate::{Gpu, GpuError, GpuOptions};

/// What the device does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    None,
    /// The codes of all slots are this one.
    AllAre(u8),
    /// The first slot that is this code becomes that one.
    One(u8, u8),
    /// The codes of batches of more than so many slots are those of valid signatures.
    Large(usize),
    /// Each slot has the code of the one before it.
    Late,
    /// The kernels do not start.
    Launch,
    /// A copy fails for want of memory.
    Memory,
    /// A queue is never idle.
    Hang,
    /// The driver does not return from a call as long as this lasts.
    Stuck,
}

const VALID: u8 = 0xc5;
const MISMATCH: u8 = 0xb4;

pub(crate) type Switch = Arc<Mutex<Fault>>;

struct Faulty {
    driver: Box<dyn Driver>,
    device: Device,
    switch: Switch,
    downloads: HashMap<usize, *mut [u8]>,
    /// Bytes of each memory.
    sizes: HashMap<Memory, usize>,
}

impl Faulty {
    /// Whether the memory that a kernel writes suffices for what it writes.
    fn has_room(&self, kernel: Kernel, arguments: &[Argument]) -> bool {
        let layout = Layout::of::<MlDsa44>();
        let word = |n: usize| match arguments[n] {
            Argument::Word(word) => word as usize,
            Argument::Memory(_) => panic!("{kernel:?}: {n} is no word"),
        };
        let room = |n: usize| match arguments[n] {
            Argument::Memory(memory) => self.sizes[&memory],
            Argument::Word(_) => panic!("{kernel:?}: {n} is no memory"),
        };
        match kernel {
            Kernel::Messages => room(5).min(room(6)) >= 64 * word(0),
            Kernel::Expand => room(6) >= word(1) * layout.raw / layout.polynomials,
            Kernel::Prepare => true,
            Kernel::LatticePrepared => room(6) >= layout.w1 * word(0) && room(7) >= word(0),
            Kernel::LatticeEncoded => {
                let end = word(0) + word(1);
                room(6) >= layout.raw * word(1) && room(8) >= layout.w1 * end && room(9) >= end
            }
            Kernel::Challenges => room(6) >= word(0),
        }
    }

    fn fault(&self) -> Fault {
        *self.switch.lock().expect("a switch")
    }
}

impl Driver for Faulty {
    fn device(&self) -> &Device {
        &self.device
    }
    fn teams(&self) -> u32 {
        self.driver.teams()
    }
    fn allocate(&mut self, bytes: usize) -> Result<Memory, GpuError> {
        let memory = self.driver.allocate(bytes)?;
        self.sizes.insert(memory, bytes);
        Ok(memory)
    }
    fn page_locked(&mut self, bytes: usize) -> Result<NonNull<u8>, GpuError> {
        self.driver.page_locked(bytes)
    }
    fn add_queue(&mut self) -> Result<usize, GpuError> {
        self.driver.add_queue()
    }
    unsafe fn upload(&mut self, queue: usize, to: Memory, at: usize, from: *const [u8]) -> Done {
        match self.fault() {
            Fault::Memory => Err(GpuError::Memory),
            // SAFETY: by the caller.
            _ => unsafe { self.driver.upload(queue, to, at, from) },
        }
    }
    fn fill(&mut self, queue: usize, to: Memory, byte: u8, len: usize) -> Result<(), GpuError> {
        self.driver.fill(queue, to, byte, len)
    }
    unsafe fn download(&mut self, queue: usize, to: *mut [u8], from: Memory) -> Done {
        self.downloads.insert(queue, to);
        // SAFETY: by the caller.
        unsafe { self.driver.download(queue, to, from) }
    }
    unsafe fn launch(
        &mut self,
        queue: usize,
        kernel: Kernel,
        groups: u32,
        arguments: &[Argument],
    ) -> Result<(), GpuError> {
        match self.fault() {
            _ if !self.has_room(kernel, arguments) => Err(GpuError::Unsuitable("room")),
            Fault::Launch => Err(GpuError::Driver {
                call: "launch",
                code: -7,
            }),
            // SAFETY: by the caller.
            _ => unsafe { self.driver.launch(queue, kernel, groups, arguments) },
        }
    }
    fn start(&mut self, queue: usize) -> Result<(), GpuError> {
        self.driver.start(queue)
    }
    fn is_idle(&mut self, queue: usize) -> Result<bool, GpuError> {
        while self.fault() == Fault::Stuck {
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.fault() == Fault::Hang || !self.driver.is_idle(queue)? {
            return Ok(false);
        }
        // SAFETY: the target of the last download, which has ended.
        let codes = unsafe { &mut *self.downloads[&queue] };
        match self.fault() {
            Fault::AllAre(code) => codes.fill(code),
            Fault::One(from, to) => {
                if let Some(code) = codes.iter_mut().find(|code| **code == from) {
                    *code = to;
                }
            }
            Fault::Large(slots) if codes.len() > slots => codes.fill(VALID),
            Fault::Late => codes.rotate_right(1),
            _ => {}
        }
        Ok(true)
    }
    fn wait(&mut self, queue: usize) -> Result<(), GpuError> {
        self.driver.wait(queue)
    }
}

fn open(
    name: &'static str,
    switch: &Switch,
    options: GpuOptions,
) -> Result<Gpu<MlDsa44>, GpuError> {
    let switch = switch.clone();
    let opener = move |set| {
        let driver = opener(super::options().device)(set)?;
        let device = Device {
            name: name.into(),
            ..driver.device().clone()
        };
        let driver = Faulty {
            driver,
            device,
            switch,
            downloads: HashMap::new(),
            sizes: HashMap::new(),
        };
        Ok(Box::new(driver) as Box<dyn Driver>)
    };
    Gpu::open_with(Box::new(opener), options)
}

/// The reports of `batch-verify` on the probes, which have every class of verdict, are right with what
/// is left of the device.
pub(crate) fn right_verdicts<P: ParameterSet>(gpu: &Gpu<P>) {
    let context = Context::new(CONTEXT).expect("a context");
    let probes = &gpu.shared.probes;
    let items = probes.all.iter().map(|probe| {
        let (message, signature) = (&probe.message[..], &probe.signature[..]);
        Item::new(&probes.key, message, context, signature)
    });
    let verifier = BatchVerifier::<P>::builder().threads(Threads::Inline);
    let verifier = verifier.accelerator(gpu.clone()).build();
    let report = verifier.expect("a verifier").verify_batch(items);
    let wanted: Vec<_> = probes.all.iter().map(|probe| probe.verdict).collect();
    assert_eq!(report.verdicts(), wanted);
}

/// A good device and the switch that makes it bad.
pub(crate) fn faulty(name: &'static str, options: GpuOptions) -> Option<(Gpu<MlDsa44>, Switch)> {
    let switch = Switch::new(Mutex::new(Fault::None));
    Some((usable(open(name, &switch, options))?, switch))
}

/// Opens a good device, makes it bad, and looks at the verdicts and at the reason for which it is
/// given up.
fn one_fault(name: &'static str, fault: Fault, options: GpuOptions) -> Option<(GpuError, Switch)> {
    let switch = Switch::new(Mutex::new(Fault::None));
    let gpu = usable(open(name, &switch, options))?;
    right_verdicts(&gpu);
    assert_eq!(
        (gpu.fault(), gpu.counts().batches_without_device),
        (None, 0)
    );
    *switch.lock().expect("a switch") = fault;
    right_verdicts(&gpu);
    let error = gpu.fault().cloned();
    right_verdicts(&gpu);
    Some((
        error.unwrap_or_else(|| panic!("{fault:?} was not noticed")),
        switch,
    ))
}

#[test]
fn a_wrong_answer_switches_the_device_off_for_the_process() {
    let all = |cross_check| GpuOptions {
        cross_check,
        ..options()
    };
    let rare = None;
    for (name, fault, cross_check) in [
        ("accepts all", Fault::AllAre(VALID), rare),
        ("rejects all", Fault::AllAre(MISMATCH), rare),
        ("writes nothing", Fault::AllAre(POISON), rare),
        ("writes zeros", Fault::AllAre(0), rare),
        ("stops halfway", Fault::AllAre(0x78), rare),
        ("mixes up slots", Fault::Late, rare),
        ("rejects one", Fault::One(VALID, MISMATCH), rare),
        ("accepts one", Fault::One(MISMATCH, VALID), Some(1)),
        (
            "takes one reason for another",
            Fault::One(MISMATCH, 0x1e),
            Some(1),
        ),
    ] {
        let Some((error, switch)) = one_fault(name, fault, all(cross_check)) else {
            return;
        };
        assert_eq!(error, GpuError::WrongVerdict, "{name}");
        // Not even when it is right again.
        *switch.lock().expect("a switch") = Fault::None;
        assert_eq!(
            open(name, &switch, options()).err(),
            Some(GpuError::WrongVerdict)
        );
    }
}

#[test]
fn a_wrong_answer_at_open_is_an_error() {
    for (name, fault) in [
        ("accepts all at open", Fault::AllAre(VALID)),
        ("rejects one at open", Fault::One(VALID, MISMATCH)),
        ("accepts one at open", Fault::One(MISMATCH, VALID)),
    ] {
        let opened = open(name, &Switch::new(Mutex::new(fault)), options());
        let Err(error) = &opened else {
            panic!("{name} was not noticed")
        };
        if *error != GpuError::WrongVerdict {
            assert!(usable(opened).is_none());
            return;
        }
    }
}

#[test]
fn a_fault_of_the_measurement_is_an_error() {
    let options = GpuOptions {
        threshold: None,
        ..options()
    };
    // The measurement has larger batches than the self-test.
    let switch = Switch::new(Mutex::new(Fault::Large(400)));
    let opened = open("is wrong when it is measured", &switch, options);
    if !matches!(opened, Err(GpuError::WrongVerdict)) {
        assert!(usable(opened).is_none(), "not noticed");
    }
}

#[test]
fn an_error_of_the_driver_leaves_the_batch_to_the_cpu() {
    static REPORTS: Mutex<Vec<GpuError>> = Mutex::new(Vec::new());
    let on_fault = |error: &GpuError| REPORTS.lock().expect("reports").push(error.clone());
    let options = GpuOptions {
        on_fault: Some(on_fault),
        ..options()
    };
    let launch = GpuError::Driver {
        call: "launch",
        code: -7,
    };
    for (name, fault, wanted) in [
        ("no launch", Fault::Launch, launch),
        ("no memory", Fault::Memory, GpuError::Memory),
    ] {
        let Some((error, switch)) = one_fault(name, fault, options.clone()) else {
            return;
        };
        assert_eq!(error, wanted);
        // It is another handle's to try again.
        *switch.lock().expect("a switch") = Fault::None;
        right_verdicts(&open(name, &switch, options.clone()).expect("a device"));
        // Reported once, although two batches met it.
        assert_eq!(
            core::mem::take(&mut *REPORTS.lock().expect("reports")),
            [wanted]
        );
    }
}

/// Returns the state of the only handle, when the other threads have let go of it.
fn only(gpu: &mut Gpu<MlDsa44>) -> &mut Shared<MlDsa44> {
    while Arc::strong_count(&gpu.shared) > 1 {
        std::thread::yield_now();
    }
    Arc::get_mut(&mut gpu.shared).expect("the only handle")
}

/// The deadline is that of a part, which is sent when the one before it has been answered.
#[test]
fn registration_of_many_keys_is_not_late() {
    let options = GpuOptions {
        encoded_keys: 2_560,
        ..options()
    };
    let Some((mut gpu, _)) = faulty("registers in parts", options) else {
        return;
    };
    let (sender, commands) = channel();
    let of_worker = replace(&mut only(&mut gpu).commands, sender);
    let keys = vec![gpu.shared.probes.key.clone(); 2_560];
    let in_parts = move || {
        let mut parts = Vec::new();
        while let Ok(Command::Register { keys, reply, .. }) = commands.recv() {
            assert!(commands.try_recv().is_err(), "sent before the answer");
            parts.push(keys.len());
            reply.send(Ok(())).expect("a caller that waits");
        }
        parts
    };
    let parts = std::thread::spawn(in_parts);
    let ids = gpu.register(crate::registry::Table::Encoded, &keys);
    only(&mut gpu).commands = of_worker;
    assert_eq!(parts.join().expect("parts"), [KEYS; 10]);
    assert_eq!(ids.map(|ids| ids.len()), Ok(2_560));
    assert_eq!(gpu.fault(), None);
}

#[test]
fn a_device_that_hangs_is_given_up_at_the_deadline() {
    for (name, fault) in [("hangs", Fault::Hang), ("is stuck", Fault::Stuck)] {
        let Some((mut gpu, switch)) = faulty(name, options()) else {
            return;
        };
        right_verdicts(&gpu);
        // Opening may take as long as it does on a loaded machine.
        only(&mut gpu).options.deadline = Duration::from_millis(300);
        *switch.lock().expect("a switch") = fault;
        right_verdicts(&gpu);
        assert_eq!(gpu.fault(), Some(&GpuError::Deadline));
        // The block is not used again, since the device may still read it; memory of the host
        // takes its place.
        assert_eq!(gpu.shared.free.lock().expect("blocks").len(), 3);
        assert_eq!(gpu.shared.replaced.lock().expect("blocks").len(), 1);
        right_verdicts(&gpu);
        assert_eq!(
            gpu.register(crate::registry::Table::Encoded, &[]).err(),
            Some(GpuError::Deadline)
        );
        *switch.lock().expect("a switch") = Fault::None;
    }
}

#[test]
fn batches_of_every_size_fit_the_memory_of_the_device() {
    let Some((gpu, _)) = faulty("has no more than it needs", options()) else {
        return;
    };
    let probe = gpu.shared.probes.valid[0].clone();
    let context = Context::new(CONTEXT).expect("a context");
    // Matrices of 257 to 498 items fit at a time, and those of 512 go in two parts.
    for items in [1, 300, 498, 512] {
        let mut batch = gpu.batch_with_keys().expect("a batch");
        for _ in 0..items {
            let signed = Signed::Message(context, &probe.message);
            let pushed = batch.push(&gpu.shared.probes.key, signed, &probe.signature);
            pushed.expect("room");
        }
        assert_eq!(batch.submit().wait(), vec![Ok(()); items]);
        assert_eq!(gpu.fault(), None, "{items}");
    }
}

#[test]
fn a_wrong_answer_switches_off_every_handle_of_the_device() {
    static REPORTS: Mutex<Vec<GpuError>> = Mutex::new(Vec::new());
    let options = GpuOptions {
        on_fault: Some(|error| REPORTS.lock().expect("reports").push(error.clone())),
        ..options()
    };
    let name = "is wrong for one of two";
    let (Some((wrong, switch)), Some((other, _))) =
        (faulty(name, options.clone()), faulty(name, options))
    else {
        return;
    };
    right_verdicts(&other);
    *switch.lock().expect("a switch") = Fault::AllAre(VALID);
    right_verdicts(&wrong);
    right_verdicts(&other);
    for gpu in [wrong, other] {
        assert_eq!(gpu.fault(), Some(&GpuError::WrongVerdict));
    }
    let reports = REPORTS.lock().expect("reports");
    assert_eq!(*reports, [GpuError::WrongVerdict, GpuError::WrongVerdict]);
}
