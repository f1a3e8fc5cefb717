//! `tollgate explain`: what becomes of a call, and why.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use tollgate::{
    AppliesTo, Call, Explained, Explanation, Matched, Mode, OnPlan, PolicyKind, Scope, Time,
};

use crate::args::ExplainArgs;
use crate::table::{Column, endpoint_name, table, thousands};
use crate::terms::Terms;

/// The times that the worst case is told for.
const TIMES: [(&str, u64); 4] = [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400)];

/// Says which entry answers, by which limits, and the most that the client can get.
pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let config = tollgate_config::load(&args.config)?;
    let call = Call::new(&args.client, &args.endpoint);
    let call = args.tenant.iter().fold(call, |call, tenant| call.tenant(tenant));
    let call = args.plan.iter().fold(call, |call, plan| call.plan(plan));
    let call = args.cost.into_iter().fold(call, Call::cost);
    let explanation = config.explain(&call);
    write!(anstream::stdout(), "{}", told(&explanation))?;
    Ok(ExitCode::SUCCESS)
}

fn told(explanation: &Explanation<'_>) -> String {
    let mut lines = vec![format!("entry    {}", entry(explanation))];
    lines.extend(plan(explanation).map(|plan| format!("plan     {plan}")));
    if explanation.cost != 1 {
        lines.push(format!("cost     {}", thousands(explanation.cost)));
    }
    if let Some((denials, time)) = explanation.policy.penalty().filter(|_| !explanation.is_exempt) {
        let time = humantime::format_duration(time);
        lines.push(format!("penalty  blocked for {time} after {denials} denials in a row"));
    }
    lines.push(format!("limits   {}", limits(explanation)));
    let mosts = TIMES.map(|(name, seconds)| {
        let most = explanation.most_in(Duration::from_secs(seconds));
        format!("{} in any {name}", most.map_or_else(|| "no limit".to_owned(), thousands))
    });
    lines.push(format!("at most  {}\n", mosts.join(", ")));
    lines.join("\n")
}

/// Which entry answers, and why.
fn entry(explanation: &Explanation<'_>) -> String {
    match explanation.matched {
        Matched::Exactly(name) => format!("{}: it has this very name", endpoint_name(Some(name))),
        Matched::ByPath(name) => {
            format!("{}: the path, for no entry has the method too", endpoint_name(Some(name)))
        }
        Matched::ByPattern(name) => {
            format!("{}: its pattern is the most specific that matches", endpoint_name(Some(name)))
        }
        Matched::ByDefault | _ => "default: no entry has this name".to_owned(),
    }
}

/// Which plan the client is on, by whose word, and what the entry gives to it; nothing where there is no plan.
fn plan(explanation: &Explanation<'_>) -> Option<String> {
    let unknown = explanation
        .unknown_plan
        .map(|name| format!("no plan is called {name:?}, so the call is as one that names none"));
    let why = match explanation.plan {
        OnPlan::Override => {
            let until = explanation.rule.until();
            let until = until.map_or_else(
                || "for good".to_owned(),
                |time| format!("until {}", time_of_day(time)),
            );
            return Some(format!("whatever it is, the client has an override here, {until}"));
        }
        OnPlan::ByClient(name) => Some(format!("{}: the client is on it by name", shown(name))),
        OnPlan::ByCall(name) => Some(format!("{}: the call names it", shown(name))),
        OnPlan::ByPrefix { prefix, plan } => {
            Some(format!("{}: the client's name begins with {prefix:?}", shown(plan)))
        }
        OnPlan::None | _ => None,
    };
    let gives_nothing = explanation.rule.applies_to() == AppliesTo::Everybody;
    let why = why.map(|why| {
        if gives_nothing {
            format!("{why}; the entry gives it what it gives everybody")
        } else {
            why
        }
    });
    match (unknown, why) {
        (Some(unknown), Some(why)) => Some(format!("{why} ({unknown})")),
        (unknown, why) => why.or(unknown),
    }
}

fn shown(name: &str) -> String {
    endpoint_name(Some(name))
}

/// A time of day in UTC.
fn time_of_day(time: Time) -> String {
    let since_1970 = Duration::from_nanos(time.as_nanos());
    let time = SystemTime::UNIX_EPOCH.checked_add(since_1970).unwrap_or(SystemTime::UNIX_EPOCH);
    humantime::format_rfc3339(time).to_string()
}

fn limits(explanation: &Explanation<'_>) -> String {
    if explanation.is_exempt {
        return "none: the client is exempt".to_owned();
    }
    match explanation.rule.kind() {
        PolicyKind::Unlimited => "none: the entry is unlimited".to_owned(),
        PolicyKind::Deny => "all calls are denied".to_owned(),
        PolicyKind::Limits | _ => {
            let mut table = table(&[
                ("limit", Column::Text),
                ("of", Column::Text),
                ("counted by", Column::Text),
                ("algorithm", Column::Text),
                ("burst", Column::Figure),
                ("rate", Column::Text),
                ("worst case", Column::Text),
            ]);
            for explained in &explanation.limits {
                table.add_row(row(explained));
            }
            format!("a call must pass all of these\n\n{}\n", table.trim_fmt())
        }
    }
}

fn row(explained: &Explained<'_>) -> [String; 7] {
    let limit = &explained.limit;
    let terms = Terms::of(limit.algorithm);
    let name = limit.limit_name.map_or_else(|| "-".to_owned(), |name| endpoint_name(Some(name)));
    let trial = if limit.mode == Mode::Shadow { " (shadow: denies nobody)" } else { "" };
    let times =
        if explained.times > 1 { format!(" (× {})", explained.times) } else { String::new() };
    let key = match (explained.key, limit.scope) {
        (Some(key), scope) => format!("{} {key:?}", scope.word()),
        (None, Scope::Tenant) => "tenant: none is given, so the call is an error".to_owned(),
        (None, _) => "everybody".to_owned(),
    };
    [
        format!("{name}{times}{trial}"),
        endpoint_name(Some(limit.owner.name())),
        key,
        limit.algorithm.name().to_owned(),
        thousands(u64::from(limit.algorithm.limit())),
        terms.rate,
        terms.worst_case,
    ]
}
