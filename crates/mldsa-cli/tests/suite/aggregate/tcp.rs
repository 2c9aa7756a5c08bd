//! Members on hosts of their own, with messages over TCP.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::thread;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};

use super::members::{SIGN, TestCommittee, good};
use super::*;

/// A port that stays reserved for listeners that allow a second socket on it, as those of `std` do.
struct Port {
    _reserved: OwnedFd,
    address: SocketAddr,
}

impl Port {
    fn new() -> Self {
        let reserved = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        sockopt::set_socket_reuseaddr(&reserved, true).unwrap();
        bind(&reserved, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = getsockname(&reserved).unwrap().try_into().unwrap();
        Self {
            _reserved: reserved,
            address,
        }
    }
}

/// A committee of four with a copy of the shared directory for each member.
struct Hosts {
    committee: TestCommittee,
    ports: [Port; 4],
}

impl Hosts {
    fn new(name: &str) -> Self {
        let committee = TestCommittee::new(name);
        committee.join(&[0, 1, 2, 3]);
        committee.agree(&[0, 1, 2, 3], "");
        for n in 0..4 {
            let copied = Command::new("cp")
                .arg("-r")
                .arg(committee.place.path("committee"))
                .arg(committee.place.path(&format!("committee-{n}")))
                .status();
            assert!(copied.unwrap().success());
        }
        Self {
            committee,
            ports: [(); 4].map(|()| Port::new()),
        }
    }

    fn sign(&self, n: usize, more: &str) -> Child {
        let mut more = format!("--committee committee-{n} {SIGN} {more}");
        for (peer, port) in self.ports.iter().enumerate() {
            let option = if peer == n { "--listen" } else { "--peer" };
            more += &format!(" {option} {}", port.address);
        }
        self.committee.start(n, "sign", &more)
    }

    /// Three members sign, the first of which is ready before the others begin.
    fn decide(&self, is_ready: impl Fn() -> bool) {
        let sign = |n: usize| self.sign(n, &format!("--out decision-{n}"));
        let mut first = sign(0);
        while !is_ready() {
            let status = first.try_wait().unwrap();
            assert!(status.is_none(), "the first member has ended: {status:?}");
            thread::sleep(Duration::from_millis(1));
        }
        let running = [first, sign(1), sign(2)];
        running.into_iter().for_each(|child| drop(good(child)));
        let first = self.committee.place.get("decision-0");
        for n in 1..3 {
            assert_eq!(self.committee.place.get(&format!("decision-{n}")), first);
        }
    }
}

#[test]
fn members_on_other_hosts_sign_over_tcp() {
    let hosts = Hosts::new("hosts");
    hosts.decide(|| true);
    // A certificate was not written if the time was over while the member answered others.
    good(hosts.sign(0, "--out again --timeout 0"));
    let place = &hosts.committee.place;
    assert_eq!(place.get("again"), place.get("decision-0"));
}

/// Each member has more connections than it accepts, which send garbage, or a message that never ends,
/// and are opened again when they are closed.
#[test]
fn a_flood_of_connections_stops_no_decision() {
    let hosts = Hosts::new("flood");
    let is_over = AtomicBool::new(false);
    let flooded = AtomicUsize::new(0);
    thread::scope(|scope| {
        for port in &hosts.ports[..3] {
            let count = (port.address == hosts.ports[0].address).then_some(&flooded);
            let is_over = &is_over;
            scope.spawn(move || flood(port.address, count, is_over));
        }
        // Also if a check fails.
        let _over = Over(&is_over);
        hosts.decide(|| flooded.load(Ordering::Relaxed) >= FLOOD);
    });
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connections to each member.
const FLOOD: usize = 600;

fn flood(address: SocketAddr, count: Option<&AtomicUsize>, is_over: &AtomicBool) {
    let mut open: Vec<Option<TcpStream>> = (0..FLOOD).map(|_| None).collect();
    for number in 0_usize.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let stream = &mut open[number % FLOOD];
        let is_new = stream.is_none();
        if is_new {
            *stream = TcpStream::connect(address).ok();
        }
        let content: &[u8] = match number % 4 {
            // Too long.
            0 => &[0xff; 9],
            // No message.
            1 => b"\0\0\0\x08MLADSAM4",
            // The beginning of a message, then a byte at a time.
            _ if is_new => b"\0\0\x10\0MLADSAM4",
            _ => &[0],
        };
        let sent = stream.as_mut().map(|stream| stream.write_all(content));
        if !matches!(sent, Some(Ok(()))) {
            *stream = None;
        }
        match count {
            Some(count) if stream.is_some() => drop(count.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
        if number > FLOOD || stream.is_none() {
            thread::sleep(Duration::from_millis(2));
        }
    }
}
