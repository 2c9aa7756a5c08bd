//! Session with all members in one process.

use std::sync::Arc;
use std::time::Duration;

use aleph_bft::{
    DelayConfig, LocalIO, NetworkData, NodeCount, NodeIndex, SignatureSet, SpawnHandle as _,
    Terminator, create_config, run_session,
};
use aleph_bft_mock::{
    Data, DataProvider, FinalizationHandler, Hasher64, Loader, Router, Saver, Spawner,
};
use anyhow::{Context as _, anyhow, ensure};
use futures::StreamExt as _;
use futures::channel::oneshot;
use harness::{check_faulty, signing_key};
use mldsa_core::{ParameterSet, SigningKey};
use parking_lot::Mutex;

use crate::keychain::{Keys, Validators};

/// Parameters of a session.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of members.
    pub members: usize,
    /// Data items of each member.
    pub items: usize,
    /// The last `byzantine` members send wrong signatures.
    pub byzantine: usize,
    /// Time after which the session has failed.
    pub limit: Duration,
}

/// Result of a session.
#[derive(Debug)]
pub struct Session {
    /// Signatures that the members have rejected.
    pub rejected: u64,
    /// Data in the order in which all honest members have finalised it.
    pub order: Vec<Data>,
}

type Wire = NetworkData<Hasher64, Data, Vec<u8>, SignatureSet<Vec<u8>>>;

/// Runs one session until all honest members have finalised the data of all honest members.
///
/// # Errors
/// A plan that the engine does not support, different orders, missing or foreign data, or a
/// timeout.
pub async fn run<P: ParameterSet>(plan: Plan) -> anyhow::Result<Session> {
    check_faulty(plan.members, plan.byzantine)?;
    let members = NodeCount(plan.members);
    let keys: Vec<SigningKey<P>> = (0..plan.members).map(signing_key).collect();
    let validators = Validators::new(&keys);
    let honest = plan.members - plan.byzantine;

    let (router, networks) = Router::<Wire>::new(members);
    let spawner = Spawner::new();
    spawner.spawn("router", router);
    let (mut outputs, mut exits, mut sessions) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (network, _)) in networks.into_iter().enumerate() {
        let keychain = Keys::new(n, &keys[n], validators.clone(), n >= honest);
        let (handler, output) = FinalizationHandler::new();
        let (exit, exited) = oneshot::channel();
        let saver: Saver = Arc::new(Mutex::new(Vec::new())).into();
        let first = n * plan.items;
        let data = DataProvider::new_range(first, first + plan.items);
        let io = LocalIO::new(data, handler, saver, Loader::new(Vec::new()));
        let config = create_config(members, NodeIndex(n), 0, 5000, delays(), Duration::ZERO)
            .map_err(|_| anyhow!("invalid engine configuration"))?;
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
    for exit in exits {
        // Fails if the session has ended already.
        let _ = exit.send(());
    }
    for session in sessions {
        session.await?;
    }
    let orders = orders.with_context(|| format!("not finalised in {:?}", plan.limit))?;

    let order = orders.first().cloned().unwrap_or_default();
    ensure!(
        orders.iter().all(|other| *other == order),
        "members finalised different orders"
    );
    let mut data = order.clone();
    data.sort_unstable();
    ensure!(
        data.iter().copied().eq(0..(honest * plan.items) as Data),
        "finalised data is not the data of the honest members"
    );
    let rejected = validators.rejected();
    ensure!(
        (rejected > 0) == (plan.byzantine > 0),
        "{rejected} signatures rejected with {} byzantine members",
        plan.byzantine
    );
    Ok(Session { rejected, order })
}

/// Delays for members in one process; the defaults of the engine are for wide-area networks.
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
