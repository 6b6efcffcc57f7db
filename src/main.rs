//! interim
fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a.get(1).map(String::as_str) == Some("__bridge") {
        let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        rt.block_on(gateproof::transport::bridge::run_bridge(&a[3], &a[5], a.clone(), std::env::vars().collect()))
            .unwrap();
    }
}
