//! All members of a session in one process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aleph_bft::{
    DelayConfig, LocalIO, NetworkData, NodeCount, NodeIndex, SignatureSet, SpawnHandle as _,
    Terminator, create_config, run_session,
};
use aleph_bft_mock::{
    Data, DataProvider, FinalizationHandler, Hasher64, Loader, Router, Saver, Spawner,
};
use futures::StreamExt as _;
use futures::channel::oneshot;
use measure::{Finality, How, Meter, ProcessTime, Row};
use mldsa_core::{ParameterSet, SigningKey};
use parking_lot::Mutex;

use crate::keychain::{Committee, Keys};

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Members.
    pub members: usize,
    /// Data that each of them brings.
    pub items: usize,
    /// The last so many sign wrongly.
    pub spoil: usize,
    /// When it has to be over.
    pub limit: Duration,
}

/// What a run has shown.
#[derive(Debug)]
pub struct Run {
    /// What it cost.
    pub row: Row,
    /// The data in the order in which every member who signs rightly has finalised it.
    pub order: Vec<Data>,
}

type Wire = NetworkData<Hasher64, Data, Vec<u8>, SignatureSet<Vec<u8>>>;

/// Runs one session until all who sign rightly have finalised all that they have brought.
///
/// # Errors
/// If too many sign wrongly, the orders differ, somebody's data is missing or too much, or it
/// takes too long.
pub async fn run<P: ParameterSet>(plan: Plan, how: How) -> Result<Run, String> {
    if how == How::Batched {
        return Err("this engine asks for one signature at a time".into());
    }
    if 3 * plan.spoil >= plan.members {
        return Err("a third of the members, or more, sign wrongly".into());
    }
    let meter = Arc::new(Meter::default());
    let members = NodeCount(plan.members);
    let key = |n: usize| {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&(n as u64 + 1).to_le_bytes());
        SigningKey::<P>::from_seed(&seed)
    };
    let keys: Vec<_> = (0..plan.members).map(key).collect();
    let committee = Committee::new(&keys, how, Arc::clone(&meter));
    let honest = plan.members - plan.spoil;

    let (router, networks) = Router::<Wire>::new(members);
    let spawner = Spawner::new();
    spawner.spawn("router", router);
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    let (mut outputs, mut exits, mut sessions) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (network, _)) in networks.into_iter().enumerate() {
        let keychain = Keys::new(n, &keys[n], committee.clone(), n >= honest);
        let (handler, output) = FinalizationHandler::new();
        let (exit, exited) = oneshot::channel();
        let saver: Saver = Arc::new(Mutex::new(Vec::new())).into();
        let first = n * plan.items;
        let data = DataProvider::new_range(first, first + plan.items);
        let io = LocalIO::new(data, handler, saver, Loader::new(Vec::new()));
        let config = create_config(members, NodeIndex(n), 0, 5000, delays(), Duration::ZERO)
            .map_err(|_| "the engine does not like its configuration")?;
        let terminator = Terminator::create_root(exited, "member");
        let session = run_session(config, io, network, keychain, spawner, terminator);
        sessions.push(tokio::spawn(session));
        exits.push(exit);
        outputs.push(output);
    }
    let finalised = async {
        let mut orders = Vec::new();
        for output in outputs.iter_mut().take(honest) {
            let data = output.take(honest * plan.items).collect::<Vec<Data>>();
            orders.push(data.await);
        }
        orders
    };
    let orders = tokio::time::timeout(plan.limit, finalised).await;
    let (wall, cpu) = (start.elapsed(), cpu.elapsed());
    for exit in exits {
        // Whoever has ended already does not hear it.
        let _ = exit.send(());
    }
    for session in sessions {
        session.await.map_err(|error| error.to_string())?;
    }
    let orders = orders.map_err(|_| format!("not finalised in {:?}", plan.limit))?;

    let order = orders.first().cloned().unwrap_or_default();
    if orders.iter().any(|other| *other != order) {
        return Err("orders differ".into());
    }
    let mut data = order.clone();
    data.sort_unstable();
    if !data.iter().copied().eq(0..(honest * plan.items) as Data) {
        return Err("not everything was finalised, or what nobody brought".into());
    }
    let engine = "aleph-bft 0.45.4";
    let views = order.len() as u64;
    let row = Row::new(
        engine,
        "one process",
        P::NAME,
        how,
        plan.members,
        views,
        wall,
        cpu,
        &meter,
        &Finality::default(),
    );
    if (row.invalid > 0) != (plan.spoil > 0) {
        return Err("there are wrong signatures if and only if they are refused".into());
    }
    Ok(Run { row, order })
}

/// Short for one process; those of the engine are meant for the internet.
fn delays() -> DelayConfig {
    let constant = |milliseconds| Arc::new(move |_| Duration::from_millis(milliseconds));
    DelayConfig {
        tick_interval: Duration::from_millis(5),
        unit_rebroadcast_interval_min: Duration::from_millis(400),
        unit_rebroadcast_interval_max: Duration::from_millis(500),
        unit_creation_delay: constant(50),
        coord_request_delay: constant(100),
        coord_request_recipients: Arc::new(|attempt| if attempt == 0 { 3 } else { 1 }),
        parent_request_delay: constant(50),
        parent_request_recipients: Arc::new(|_| 1),
        newest_request_delay: constant(50),
    }
}
