//! The table: each row is printed and saved at once, so that a run that is stopped keeps its rows.

use std::io::Write;

use super::cases::tflops;
use super::timing::Times;
use super::Outcome;

pub struct Row {
    pub ours: String,
    pub peer: String,
    /// Rows and columns; of many matrices at once, those of each.
    pub m: usize,
    pub n: usize,
    pub ours_times: Times,
    pub peer_times: Times,
    pub ours_flops: f64,
    pub peer_flops: f64,
    /// Our rate over that of our product of the same order.
    pub share: Option<f64>,
    /// A third contender, or a remark, for information.
    pub also: Option<(String, Option<Times>)>,
    pub difference: f64,
}

const TABLE_HEAD: &str =
    "| ours / peer | n | ours ms | peer ms | ours TFLOP/s | peer TFLOP/s | peer time / ours | \
     share of our product | also | difference |
|:---|---:|---:|---:|---:|---:|---:|---:|:---|---:|
";
const CSV_HEAD: &str =
    "ours,peer,n,ours_ms,ours_least_ms,ours_most_ms,peer_ms,peer_least_ms,peer_most_ms,\
ours_tflops,peer_tflops,peer_over_ours,share_of_product,also,also_ms,difference,m
";

impl Row {
    fn ratio(&self) -> f64 {
        self.peer_times.median / self.ours_times.median
    }

    fn rates(&self) -> (f64, f64) {
        (
            tflops(self.ours_flops, self.ours_times.median),
            tflops(self.peer_flops, self.peer_times.median),
        )
    }

    fn markdown(&self) -> String {
        let (ours, peer) = self.rates();
        let share = self.share.map_or(String::new(), |s| format!("{s:.2}"));
        let also = match &self.also {
            Some((what, Some(t))) => format!("{what} {:.3} ms", t.median),
            Some((what, None)) => what.clone(),
            None => String::new(),
        };
        let shape = if self.m == self.n {
            self.n.to_string()
        } else {
            format!("{} x {}", self.m, self.n)
        };
        format!(
            "| {} / {} | {} | {:.3} | {:.3} | {ours:.2} | {peer:.2} | {:.2} | {share} | {also} | \
             {:.1e} |\n",
            self.ours,
            self.peer,
            shape,
            self.ours_times.median,
            self.peer_times.median,
            self.ratio(),
            self.difference
        )
    }

    fn csv(&self) -> String {
        let (ours, peer) = self.rates();
        let triple = |t: &Times| format!("{:.5},{:.5},{:.5}", t.median, t.least, t.most);
        let share = self.share.map_or(String::new(), |s| format!("{s:.4}"));
        let also = match &self.also {
            Some((what, Some(t))) => format!("\"{what}\",{:.5}", t.median),
            Some((what, None)) => format!("\"{what}\","),
            None => ",".to_string(),
        };
        format!(
            "\"{}\",\"{}\",{},{},{},{ours:.3},{peer:.3},{:.4},{share},{also},{:.2e},{}\n",
            self.ours,
            self.peer,
            self.n,
            triple(&self.ours_times),
            triple(&self.peer_times),
            self.ratio(),
            self.difference,
            self.m
        )
    }
}

/// The table so far, on the screen and in the files that the environment names.
pub struct Report {
    head: String,
    table: String,
    csv: String,
    failures: String,
}

impl Report {
    /// `head`: what stands above the table.
    pub fn new(head: String) -> Outcome<Self> {
        print!("{head}\n{TABLE_HEAD}");
        std::io::stdout().flush()?;
        let report = Report {
            head,
            table: TABLE_HEAD.to_string(),
            csv: CSV_HEAD.to_string(),
            failures: String::new(),
        };
        report.save()?;
        Ok(report)
    }

    pub fn add(&mut self, row: &Row) -> Outcome<()> {
        let line = row.markdown();
        print!("{line}");
        std::io::stdout().flush()?;
        self.table += &line;
        self.csv += &row.csv();
        self.save()
    }

    /// A row that could not be measured, and why.
    pub fn fail(&mut self, what: &str, n: usize, why: &dyn std::error::Error) -> Outcome<()> {
        let line = format!("- not measured: {what}, n = {n}: {why}\n");
        eprint!("{line}");
        self.failures += &line;
        self.save()
    }

    pub fn failed(&self) -> bool {
        !self.failures.is_empty()
    }

    fn save(&self) -> Outcome<()> {
        if let Ok(path) = std::env::var("CUDAFACTOR_BENCH_OUT") {
            std::fs::write(path, &self.csv)?;
        }
        if let Ok(path) = std::env::var("CUDAFACTOR_BENCH_MD") {
            let gap = if self.failed() { "\n" } else { "" };
            let text = format!("{}\n{}{gap}{}", self.head, self.table, self.failures);
            std::fs::write(path, text)?;
        }
        Ok(())
    }
}
