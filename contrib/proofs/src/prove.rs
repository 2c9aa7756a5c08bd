//! Runs rows on a program.

use crate::audit::audit;
use crate::image::Image;
use crate::places::{Program, backends, places};
use crate::row::{Execution, Report, execute};
use crate::rows::Row;
use crate::{parallel, rejection};

/// Runs a row on an entry. Panics of the domain count as open.
pub(crate) fn prove(
    image: &Image,
    backend: &'static str,
    entry: u64,
    row: &Row,
    stacks: core::ops::Range<i64>,
) -> Report {
    let report = Report::open(row.kernel, backend, row.parameter.clone());
    let attempt = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        let mut copy = report.clone();
        for step in stacks.clone() {
            let (machine, result) = execute(image, backend, entry, &row.arguments, step);
            copy.executed = machine.executed;
            copy.code = machine.code_executed();
            copy.data = machine
                .memory
                .data_read
                .iter()
                .map(|(&at, &len)| (at, len))
                .collect();
            match result {
                Err(stop) => {
                    copy.verdicts = core::array::from_fn(|_| Err(stop.reason()));
                    return copy;
                }
                Ok(regions) if step == stacks.start => {
                    let mut execution = Execution::new(machine, regions);
                    let (value, range, exhausted) = (row.check)(&mut execution)
                        .unwrap_or_else(|text| (Err(text.clone()), Err(text), 0));
                    let audited = audit(&execution.machine.terms, 0x2545_f491_4f6c_dd1d);
                    let (value, range) = match audited {
                        Ok(_) => (value, range),
                        Err(text) => (Err(text.clone()), Err(text)),
                    };
                    copy.verdicts = [value, range, Ok(String::new()), Ok(String::new())];
                    copy.exhausted = exhausted;
                }
                Ok(_) => {}
            }
        }
        copy
    }));
    attempt.unwrap_or(report)
}

/// Runs the rows, each with as many places of the stack, and gives each to `print` when it is done.
pub(crate) fn reports(
    program: &Program,
    wanted: &dyn Fn(&str, &str, &str) -> bool,
    stacks: i64,
    print: fn(&Report),
) -> Result<Vec<Report>, String> {
    let of_row = |backend: &str, row: &Row| wanted(backend, row.kernel, &row.parameter);
    let all = places(&program.image, &of_row)?;
    let mut reports = parallel::map(all.len(), |n| {
        let (backend, entry, row) = &all[n];
        let report = prove(program.of(row), backend, *entry, row, 0..stacks);
        print(&report);
        report
    })?;
    reports.extend(rejection::reports(&program.image, wanted, print)?);
    for &backend in backends(&program.image) {
        let rows: Vec<_> = reports.iter().filter(|r| r.backend == backend).collect();
        let proved = rows.iter().filter(|r| r.is_proved()).count();
        println!("{backend}: {proved} of {} rows proved", rows.len());
    }
    Ok(reports)
}

/// Prints a row unless it is proved.
pub(crate) fn print_open(report: &Report) {
    if !report.is_proved() {
        print(report);
    }
}

/// Prints a row.
pub(crate) fn print(report: &Report) {
    let names = ["value", "range", "constant time", "memory"];
    let mut text = format!(
        "{}::{} {}: {} instructions, {} cases",
        report.backend, report.kernel, report.parameter, report.executed, report.exhausted
    );
    for (name, verdict) in names.iter().zip(&report.verdicts) {
        text.push_str(&match verdict {
            Ok(detail) => format!("\n    {name}: proved {detail}"),
            Err(detail) => format!("\n    {name}: open, {detail}"),
        });
    }
    println!("{text}");
}
