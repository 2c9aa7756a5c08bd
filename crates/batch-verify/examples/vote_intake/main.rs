//! A node that takes votes in over TCP: validators on localhost, some of them
//! flooding it with forgeries in other names, an intake with a budget for each peer,
//! and its figures in the text format of Prometheus.
//!
//! `cargo run --release -p batch-verify --example vote_intake -- [validators] [rounds]
//! [forgeries for each honest vote]`

mod figures;
#[cfg(test)]
mod tests;

use core::error::Error;
use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context as Task, Poll, Waker};
use core::time::Duration;
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;
use std::thread;
use std::time::Instant;

use batch_verify::{
    Admission, BatchVerifier, Intake, IntakeError, Item, KeySet, Outcome, OwnedItem, Pending,
    Priority, SignerId,
};
use mldsa_core::{Context, MlDsa65, ParameterSet, Randomness, SigningKey};

use figures::Figures;

const NETWORK: &[u8] = b"example/vote-intake/v1";
/// Forgeries that a peer may send before it is heard no more, until some are forgiven.
const FORGERIES: f64 = 100.0;
/// None in the test, whose counts must not depend on time.
const FORGIVEN_A_SECOND: f64 = if cfg!(test) { 0.0 } else { 50.0 };
const ROUND: Duration = Duration::from_millis(30);

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Fallible<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, otherwise| words.get(at).map_or(Ok(otherwise), |word| word.parse());
    let (validators, rounds, flood) = (word(0, 100)?, word(1, 100)?, word(2, 10)?);
    let crowd = |forgeries| Crowd {
        validators,
        rounds,
        forgeries,
    };
    if let Some(address) = words.get(3) {
        return crowd(flood).send(address.parse()?);
    }
    println!("{validators} validators, {rounds} rounds, ML-DSA-65");
    let mut slowest = [Vec::new(), Vec::new()];
    // In turn, so that what else the machine does falls on both.
    for run_of in 0..2 * RUNS {
        let forgeries = [0, flood][run_of % 2];
        let crowd = crowd(forgeries);
        let night = run(crowd, |address| crowd.send_from_elsewhere(address))?;
        println!("\nforgeries for each honest vote: {forgeries}");
        println!("  honest votes valid    {:>10}", night.honest.len());
        println!("  forged votes refused  {:>10}", night.refused);
        for (error, count) in &night.drops {
            println!("  {:<22}{count:>10}", format!("{error:?}"));
        }
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            println!("  honest, {name:<14}{:>10.1} us", night.micros(share));
        }
        slowest[run_of % 2].push(night.micros(0.99));
        if run_of + 2 >= 2 * RUNS {
            println!("{}", night.figures);
        }
    }
    let [calm, flooded] = slowest.map(|mut all| {
        all.sort_unstable_by(f64::total_cmp);
        all[RUNS / 2]
    });
    println!("honest p99, median of {RUNS} runs: {calm:.1} us, in the flood {flooded:.1} us");
    println!("ratio {:.2}", flooded / calm);
    Ok(())
}

const RUNS: usize = 3;

/// What a run showed.
struct Night {
    /// From arrival to verdict of every honest vote, sorted.
    honest: Vec<Duration>,
    /// Forged votes that were looked at and refused.
    refused: usize,
    /// Votes without a verdict.
    drops: HashMap<IntakeError, usize>,
    /// What an operator's scraper got.
    figures: String,
}

impl Night {
    fn micros(&self, share: f64) -> f64 {
        let at = (share * self.honest.len().saturating_sub(1) as f64) as usize;
        let time = self.honest.get(at).map_or(0.0, Duration::as_secs_f64);
        time * 1e6
    }
}

/// One vote on the wire: 4 bytes of length; signer, round, signature. Little endian.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    signer: u32,
    round: u64,
    signature: Vec<u8>,
}

const HEAD: usize = 4 + 8;

impl Frame {
    fn new(signer: usize, round: usize, signature: Vec<u8>) -> Self {
        Self {
            signer: signer as u32,
            round: round as u64,
            signature,
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(4 + HEAD + self.signature.len());
        bytes.extend(((HEAD + self.signature.len()) as u32).to_le_bytes());
        bytes.extend(self.signer.to_le_bytes());
        bytes.extend(self.round.to_le_bytes());
        bytes.extend(&self.signature);
        to.write_all(&bytes)
    }

    /// The next frame; `None` at the end. A length out of range is an error before
    /// anything is kept for it.
    fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut len = [0; 4];
        // An end within the length is no end between two frames.
        let (first, others) = len.split_at_mut(1);
        match from.read_exact(first) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        from.read_exact(others)?;
        let len = u32::from_le_bytes(len) as usize;
        if !(HEAD..=HEAD + MlDsa65::SIG_LEN).contains(&len) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a length out of range",
            ));
        }
        let (mut head, mut signature) = ([0; HEAD], vec![0; len - HEAD]);
        from.read_exact(&mut head)?;
        from.read_exact(&mut signature)?;
        let [a, b, c, d, round @ ..] = head;
        Ok(Some(Self {
            signer: u32::from_le_bytes([a, b, c, d]),
            round: u64::from_le_bytes(round),
            signature,
        }))
    }
}

/// What validators sign.
fn message(round: u64) -> [u8; 12] {
    let mut message = *b"vote        ";
    message[4..].copy_from_slice(&round.to_le_bytes());
    message
}

/// So many forgeries at once for each peer, and so many a second.
#[derive(Default)]
struct Budget(Mutex<HashMap<u64, Spent>>);

/// Forgeries that are held against a peer, at that time.
#[derive(Clone, Copy)]
struct Spent(f64, Instant);

impl Spent {
    fn now(self) -> f64 {
        let Self(forged, at) = self;
        (forged - at.elapsed().as_secs_f64() * FORGIVEN_A_SECOND).max(0.0)
    }
}

impl Admission for Budget {
    fn admits(&self, peer: u64, _: usize) -> bool {
        let spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.get(&peer).is_none_or(|spent| spent.now() < FORGERIES)
    }

    fn verdict(&self, peer: u64, outcome: Outcome) {
        if !outcome.is_valid() {
            let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let before = spent.get(&peer).map_or(0.0, |spent| spent.now());
            spent.insert(peer, Spent(before + 1.0, Instant::now()));
        }
    }
}

/// What the thread that awaits the answers is told.
enum Event {
    Arrived(Pending<MlDsa65>, Instant),
    Woken(usize),
    /// A peer has hung up: which of its votes never got into the queue.
    Refused(HashMap<IntakeError, usize>),
}

struct Bell(usize, Mutex<Sender<Event>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let sender = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody listens any more once all are answered.
        let _ = sender.send(Event::Woken(self.0));
    }
}

/// Awaits the answers to so many votes, as a runtime would, and sorts them.
fn collect(events: &Receiver<Event>, bells: &Sender<Event>, votes: usize) -> Night {
    let mut night = Night {
        honest: Vec::new(),
        refused: 0,
        drops: HashMap::new(),
        figures: String::new(),
    };
    let mut open = HashMap::new();
    let (mut arrived, mut answered) = (0, 0);
    while answered < votes {
        let (number, mut pending, since) = match events.recv() {
            Ok(Event::Arrived(pending, since)) => {
                arrived += 1;
                (arrived, pending, since)
            }
            Ok(Event::Refused(errors)) => {
                for (error, count) in errors {
                    *night.drops.entry(error).or_default() += count;
                    answered += count;
                }
                continue;
            }
            Ok(Event::Woken(number)) => match open.remove(&number) {
                Some((pending, since)) => (number, pending, since),
                None => continue,
            },
            Err(_) => break,
        };
        let bell = Arc::new(Bell(number, Mutex::new(bells.clone())));
        match Pin::new(&mut pending).poll(&mut Task::from_waker(&Waker::from(bell))) {
            Poll::Pending => {
                open.insert(number, (pending, since));
                continue;
            }
            Poll::Ready(Ok(Outcome::Valid)) => night.honest.push(since.elapsed()),
            Poll::Ready(Ok(_)) => night.refused += 1,
            Poll::Ready(Err(error)) => *night.drops.entry(error).or_default() += 1,
        }
        answered += 1;
    }
    night.honest.sort_unstable();
    night
}

/// Answers one request for the figures.
fn serve(listener: &TcpListener, figures: &Figures) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut request = [0; 512];
    let _ = stream.read(&mut request)?;
    let body = figures.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn scrape(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer
        .split_once("\r\n\r\n")
        .map(|(_, body)| body.to_owned());
    body.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// One peer: what it sends goes into the intake until it hangs up or sends nonsense. Whoever
/// awaits answers is not woken for what is refused at once.
fn listen(stream: TcpStream, peer: u64, intake: &Intake<MlDsa65>, events: &Sender<Event>) {
    let mut refused = HashMap::new();
    // A peer that breaks the codec is hung up on, and that is all.
    let _ = take_in(stream, peer, intake, events, &mut refused);
    // Nobody listens any more once all are answered.
    let _ = events.send(Event::Refused(refused));
}

fn take_in(
    stream: TcpStream,
    peer: u64,
    intake: &Intake<MlDsa65>,
    events: &Sender<Event>,
    refused: &mut HashMap<IntakeError, usize>,
) -> io::Result<()> {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    while let Some(vote) = Frame::read(&mut stream)? {
        let message = message(vote.round);
        let signer = SignerId::new(vote.signer);
        let item = OwnedItem::from(Item::new(signer, &message, &vote.signature));
        let since = Instant::now();
        match intake.submit_from(peer, Priority::OwnRound, item) {
            Ok(pending) => {
                if events.send(Event::Arrived(pending, since)).is_err() {
                    break;
                }
            }
            Err(error) => *refused.entry(error).or_default() += 1,
        }
    }
    Ok(())
}

/// Who votes, and who floods.
#[derive(Clone, Copy)]
struct Crowd {
    /// Each votes once in every round.
    validators: usize,
    rounds: usize,
    /// For each honest vote, by one flooder for ten validators.
    forgeries: usize,
}

impl Crowd {
    fn keys(self) -> Vec<SigningKey<MlDsa65>> {
        let key = |n: usize| {
            let mut seed = [0; 32];
            seed[..8].copy_from_slice(&n.to_le_bytes());
            SigningKey::from_seed(&seed)
        };
        (0..self.validators).map(key).collect()
    }

    fn flooders(self) -> usize {
        match self.forgeries {
            0 => 0,
            _ => self.validators.div_ceil(10),
        }
    }

    /// What each flooder sends.
    fn flood(self) -> usize {
        self.validators * self.rounds * self.forgeries / self.flooders().max(1)
    }

    fn votes(self) -> usize {
        self.validators * self.rounds + self.flood() * self.flooders()
    }

    /// Sends all of it to the node.
    fn send(self, address: SocketAddr) -> Fallible<()> {
        let context = Context::new(NETWORK)?;
        // Votes are signed before the clock starts. A vote that is sent again has to be
        // the same: votes are signed deterministically.
        let sign = |key: &SigningKey<MlDsa65>, round: usize| -> Fallible<Vec<u8>> {
            let signature = key.sign(&message(round as u64), context, Randomness::Deterministic)?;
            Ok(signature.as_ref().to_vec())
        };
        let all = |key| (0..self.rounds).map(|round| sign(key, round)).collect();
        let signed: Vec<Vec<Vec<u8>>> = self.keys().iter().map(all).collect::<Fallible<_>>()?;
        let start = Instant::now();
        let wait_until = |due: Duration| thread::sleep(due.saturating_sub(start.elapsed()));
        let wait_until = &wait_until;
        thread::scope(|scope| {
            for (signer, signed) in signed.iter().enumerate() {
                scope.spawn(move || -> io::Result<()> {
                    let mut stream = TcpStream::connect(address)?;
                    stream.set_nodelay(true)?;
                    for (round, signature) in signed.iter().enumerate() {
                        wait_until(
                            ROUND * round as u32 + Duration::from_micros(137 * signer as u64),
                        );
                        Frame::new(signer, round, signature.clone()).write(&mut stream)?;
                    }
                    Ok(())
                });
            }
            for flooder in 0..self.flooders() {
                let signed = &signed;
                scope.spawn(move || -> io::Result<()> {
                    let mut stream = TcpStream::connect(address)?;
                    let count = self.flood();
                    for n in 0..count {
                        wait_until(ROUND * self.rounds as u32 * n as u32 / count as u32);
                        // In somebody's name, well formed, and wrong.
                        let (signer, round) =
                            ((n * 7 + flooder) % self.validators, n % self.rounds);
                        let mut signature = signed[signer][round].clone();
                        signature[n % 48] ^= 1 << (n % 7) | 0x80;
                        Frame::new(signer, round, signature).write(&mut stream)?;
                    }
                    Ok(())
                });
            }
        });
        Ok(())
    }

    /// The same in a process of its own, which comes after the node where both want a CPU:
    /// peers are other machines.
    fn send_from_elsewhere(self, address: SocketAddr) -> Fallible<()> {
        let program = std::env::current_exe()?;
        let Self {
            validators,
            rounds,
            forgeries,
        } = self;
        let arguments = [validators, rounds, forgeries].map(|word| word.to_string());
        let run =
            |program: &mut Command| program.args(&arguments).arg(address.to_string()).status();
        let nice = run(Command::new("nice").args(["-n", "19"]).arg(&program));
        // Not every system has it.
        let status = nice.or_else(|_| run(&mut Command::new(&program)))?;
        if !status.success() {
            return Err("the crowd has failed".into());
        }
        Ok(())
    }
}

/// One node, and a crowd that `send` has send to it.
fn run(crowd: Crowd, send: impl FnOnce(SocketAddr) -> Fallible<()> + Send) -> Fallible<Night> {
    let keys = crowd.keys();
    let public = keys
        .iter()
        .map(|key| key.verifying_key().as_bytes().as_slice());
    let verifier = BatchVerifier::builder()
        .keys(KeySet::from_public_keys(public)?)
        .context(NETWORK)
        .build()?;
    let told = Figures::default();
    let intake = Intake::builder(verifier)
        .admission(Budget::default())
        .metrics(told.clone())
        .build();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let figures = TcpListener::bind("127.0.0.1:0")?;
    let scraped = figures.local_addr()?;
    let (sender, events) = mpsc::channel();
    thread::scope(|scope| -> Fallible<Night> {
        let accepting = sender.clone();
        let intake = &intake;
        let peers = (crowd.validators + crowd.flooders()) as u64;
        scope.spawn(move || {
            for (peer, stream) in (0..peers).zip(listener.incoming()) {
                let Ok(stream) = stream else { break };
                let events = accepting.clone();
                scope.spawn(move || listen(stream, peer, intake, &events));
            }
        });
        scope.spawn(move || serve(&figures, &told).ok());
        let sending = scope.spawn(move || {
            if let Err(error) = send(address) {
                // Else the node would wait for its votes for ever.
                eprintln!("vote_intake: {error}");
                std::process::exit(1);
            }
        });
        let mut night = collect(&events, &sender, crowd.votes());
        intake.drain();
        night.figures = scrape(scraped)?;
        sending.join().map_err(|_| "the crowd panicked")?;
        Ok(night)
    })
}
