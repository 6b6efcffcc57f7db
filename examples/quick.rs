//! tmp
use gateproof::{plan::*, runner::*, score::*, transport};
use std::path::Path;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let kinds: Vec<transport::Kind> = std::env::args().nth(2).map_or(vec![transport::Kind::Memory], |t| {
        t.split(',')
            .map(|t| match t {
                "http" => transport::Kind::Http,
                "stdio" => transport::Kind::Stdio,
                _ => transport::Kind::Memory,
            })
            .collect()
    });
    let suite = match Suite::load(Path::new(&dir)) {
        Ok(s) => s,
        Err(PlanError::Corpus(gateproof::case::CorpusError::Files(errors))) => {
            for e in errors {
                println!("{:?}", miette::Report::new(e));
            }
            return;
        }
        Err(e) => panic!("{e}"),
    };
    let mut sel = Selection::new([Arm::Direct, Arm::Naive, Arm::Guarded], kinds);
    if let Some(f) = std::env::args().nth(3) {
        sel.filter = f.parse().unwrap();
    }
    let trials = sel.trials(&suite);
    let schedule = Schedule {
        jobs: 2,
        settings: Settings { program: Some("target/debug/gateproof".into()), ..Settings::default() },
        stop: Stop::default(),
    };
    let at = std::time::Instant::now();
    let records = run(&trials, &schedule, |n, e| Record::new(&n.trial, e), |_| {});
    let took = at.elapsed();
    for r in &records {
        if r.standing() != Standing::AsExpected {
            println!(
                "{} {} {} {:?} {:?} {:?} by {:?}",
                r.case.id,
                r.arm,
                r.transport,
                r.status(),
                r.verdict.as_ref().map(|v| v.reasons.clone()),
                r.untested,
                r.stopped_by
            );
            if std::env::args().nth(4).is_some() {
                if let Some((t, trail)) = &r.evidence {
                    for e in &t.events {
                        match e {
                            gateproof::transcript::Event::Crossed(c) => println!(
                                "   {:?} {:?} {} {:?}",
                                c.leg,
                                c.direction,
                                c.message.text().chars().take(300).collect::<String>(),
                                c.dress.status
                            ),
                            o => println!("   {o:?}"),
                        }
                    }
                    println!("   {trail:?}");
                }
            }
        }
    }
    for c in scorecards(&records) {
        println!(
            "{} {} attacks {} benign {} utility {} robust {} leaks {} denied-reqs {} blocked {} untested {}",
            c.arm,
            c.transport,
            c.attacks,
            c.benign,
            c.utility,
            c.robustness,
            c.leaks,
            c.requests_for_denied,
            c.blocked,
            c.untested
        );
    }
    println!("{} trials in {took:?} = {:.0}/s", trials.len(), trials.len() as f64 / took.as_secs_f64());
}
