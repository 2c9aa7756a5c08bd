//! Table of the lead over the fastest peer.

use benches::table::Table;
use benches::{Op, Set, cells, missing_peers};

use super::Row;

/// Peers that may be the fastest.
const PEERS: [&str; 4] = ["wolfssl", "mldsa-native", "aws-lc-rs", "libcrux-ml-dsa"];

/// Least leads that this project aims at on CPUs with full-width 512-bit execution, for ML-DSA-44,
/// 65 and 87. On Zen 4, which splits 512-bit operations, the aim is 1.15 in every row.
const AIMS: [(&str, Op, [f64; 3]); 10] = [
    ("avx512", Op::Keygen, [1.4; 3]),
    ("avx512", Op::Sign, [1.5, 1.4, 1.35]),
    ("avx512", Op::SignPrepared, [1.7, 1.6, 1.45]),
    ("avx512", Op::VerifyCold, [1.75; 3]),
    ("avx2", Op::Keygen, [1.15; 3]),
    ("avx2", Op::Sign, [1.15; 3]),
    ("avx2", Op::VerifyCold, [1.25; 3]),
    ("portable", Op::Keygen, [1.15; 3]),
    ("portable", Op::Sign, [1.3; 3]),
    ("portable", Op::VerifyCold, [1.15; 3]),
];

/// Markdown: for each backend and operation, the time of the fastest peer over ours, by parameter
/// set, with the peer's name and the aim. Of the ratios of minima and of medians the smaller one.
/// Peers built for AVX-512 count against ours of that backend only, and portable C alone against
/// our portable backend; a peer without prepared keys counts with its call from the encoded key.
pub(super) fn lead(rows: &[Row]) -> String {
    let columns = [
        "backend",
        "op",
        "ML-DSA-44",
        "ML-DSA-65",
        "ML-DSA-87",
        "aim",
    ];
    let mut table = Table::new(&columns);
    for backend in ["avx512", "avx2", "neon", "portable"] {
        for op in Op::SINGLE {
            let leads = Set::ALL.map(|set| lead_of(rows, set, backend, op));
            if leads.iter().all(Option::is_none) {
                continue;
            }
            let aim = AIMS.iter().find(|aim| (aim.0, aim.1) == (backend, op));
            let aim = aim.map(|aim| aim.2.map(|aim| aim.to_string()).join(" / "));
            let [first, second, third] = leads.map(Option::unwrap_or_default);
            let aim = aim.unwrap_or_default();
            table.push(cells![backend, op.name(), first, second, third, aim]);
        }
    }
    let mut text = String::from("\n### Time of the fastest peer over ours\n\n");
    text += &table.markdown();
    for peer in missing_peers() {
        text += &format!("\n{peer}: NOT RUN, contrib/peers/peers/build.sh makes it");
    }
    text + "\n"
}

fn lead_of(rows: &[Row], set: Set, backend: &str, op: Op) -> Option<String> {
    let of_set = || rows.iter().filter(|row| row.set == set.name());
    let ours =
        of_set().find(|row| (row.peer, row.backend, row.op) == ("ours", backend, op.name()))?;
    let peers = of_set().filter(|row| PEERS.contains(&row.peer));
    let peers = peers.filter(|row| match backend {
        "avx512" => true,
        "portable" => row.backend == backend,
        _ => row.backend != "avx512",
    });
    let peers = peers.filter(|row| row.op == op.name() || row.op == op.reference().name());
    let peers: Vec<_> = peers.collect();
    let lead = |figure: fn(&Row) -> f64| {
        let fastest = peers
            .iter()
            .min_by(|a, b| figure(a).total_cmp(&figure(b)))?;
        Some((figure(fastest) / figure(ours), fastest.peer))
    };
    let leads = [lead(Row::figure)?, lead(Row::middle)?];
    let (lead, peer) = leads.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!("{lead:.2} {peer}"))
}
