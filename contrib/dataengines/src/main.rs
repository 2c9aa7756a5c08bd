//! Runs SQL with the functions of this library: `dataengines help`.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use ballista::prelude::SessionContextExt;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::default_session_builder;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::execution::context::SessionContext;
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionConfig;
use tokio::runtime;

// A row group takes more than 100 MB: this allocator keeps the pages for the next one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn core::error::Error + Send + Sync>;

const HELP: &str = "\
dataengines sql FILE QUERY           in this process, over the table `rows`
dataengines remote PORT FILE QUERY   through a scheduler on this machine
dataengines scheduler PORT
dataengines executor SCHEDULER PORT GRPC_PORT FOLDER      with its files in FOLDER";

/// Executors ask for tasks. With tasks that are pushed, Ballista 55 forgets to give back the slot of a task
/// whose stage is rolled back because another executor is gone, and a query may never end.
const POLICY: TaskSchedulingPolicy = TaskSchedulingPolicy::PullStaged;

fn session(config: SessionConfig) -> datafusion::error::Result<SessionState> {
    let mut state = default_session_builder(config)?;
    dataengines::register(&mut state)?;
    Ok(state)
}

/// Reads byte strings without views: those of DELTA_BYTE_ARRAY have offsets of 32 bits that wrap at 4 GiB in the crate
/// `parquet` 59, so that a row could be verified with the bytes of another.
fn without_views(mut config: SessionConfig) -> SessionConfig {
    config
        .options_mut()
        .execution
        .parquet
        .schema_force_view_types = false;
    config
}

/// Prints the rows of a query, and the seconds that it took as an error line.
async fn query(mut context: SessionContext, file: &str, sql: &str) -> Result<(), Failure> {
    let started = Instant::now();
    dataengines::register(&mut context)?;
    dataengines::register_parquet(&context, "rows", file).await?;
    for batch in context.sql(sql).await?.collect().await? {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter();
            let values = values.map(|column| array_value_to_string(column, row));
            println!("{}", values.collect::<Result<Vec<_>, _>>()?.join(" "));
        }
    }
    eprintln!("seconds {:.2}", started.elapsed().as_secs_f64());
    Ok(())
}

async fn run(args: &[&str]) -> Result<(), Failure> {
    match args {
        ["sql", file, sql] => {
            // Reading and verifying take turns in a partition: with two partitions for each processor, one
            // verifies while the other waits for its rows.
            let processors = thread::available_parallelism().map_or(1, usize::from);
            let config = SessionConfig::new().with_target_partitions(2 * processors);
            let config = without_views(config);
            query(SessionContext::new_with_config(config), file, sql).await
        }
        ["remote", port, file, sql] => {
            // The adaptive planner of Ballista 55 never ends a query whose stage has to run again because an
            // executor is gone.
            let config = without_views(SessionConfig::new_with_ballista());
            let state =
                default_session_builder(config.with_ballista_adaptive_query_planner(false))?;
            let url = format!("df://localhost:{port}");
            query(
                SessionContext::remote_with_state(&url, state).await?,
                file,
                sql,
            )
            .await
        }
        ["scheduler", port] => {
            let config = SchedulerConfig {
                bind_port: port.parse()?,
                override_session_builder: Some(Arc::new(session)),
                scheduling_policy: POLICY,
                // An executor that is gone is missed soon.
                executor_timeout_seconds: 10,
                no_executors_grace_period_seconds: 10,
                expire_dead_executor_interval_seconds: 1,
                ..SchedulerConfig::default()
            };
            let cluster = BallistaCluster::new_from_config(&config).await?;
            let address = format!("127.0.0.1:{port}").parse()?;
            Ok(start_server(cluster, address, Arc::new(config)).await?)
        }
        ["executor", scheduler, port, grpc_port, work] => {
            let registry =
                BallistaFunctionRegistry::from(&session(without_views(SessionConfig::new()))?);
            let config = ExecutorProcessConfig {
                scheduler_port: scheduler.parse()?,
                scheduler_connect_timeout_seconds: 60,
                port: port.parse()?,
                grpc_port: grpc_port.parse()?,
                work_dir: Some((*work).to_owned()),
                vcores: 1,
                task_scheduling_policy: POLICY,
                override_function_registry: Some(Arc::new(registry)),
                ..ExecutorProcessConfig::default()
            };
            Ok(start_executor_process(Arc::new(config)).await?)
        }
        _ => Err(HELP.into()),
    }
}

/// Stack of a thread: DataFusion recurses for each operator of a query, and Ballista's executors do so too.
const STACK: usize = 1 << 28;

fn main() -> ExitCode {
    let run = async {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        run(&args).await
    };
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build();
    // A panic of a decoder is an error.
    let done = runtime.map_err(Failure::from).and_then(|runtime| {
        let task = runtime.spawn(run);
        runtime
            .block_on(task)
            .unwrap_or_else(|panic| Err(panic.into()))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
