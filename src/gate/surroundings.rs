//! What a gate is given of the world outside, since it does no input or output:
//! which addresses a name has, and what a symlink points to.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

/// A name that no address is known of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name could not be resolved")]
pub struct Unresolved;

/// The world outside, as far as a gate may ask about it. Each trial, or each
/// session, has its own.
pub trait Surroundings: Send + Sync + Debug {
    /// Every address of a host: in lower case, without a dot at its end. Never
    /// an empty list.
    ///
    /// # Errors
    /// Where the name doesn't resolve. Nothing is known then, and a check takes
    /// that for no proof.
    fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved>;

    /// What the symlink at an absolute path points to, as it is written in the
    /// link; `None` where no link is.
    fn target(&self, path: &str) -> Option<String>;
}

/// Surroundings told beforehand. Without anything told, no name resolves and no
/// path is a link.
#[derive(Debug, Default)]
pub struct Told {
    world: Arc<World>,
    /// How often a name was asked for.
    asked: Mutex<BTreeMap<String, usize>>,
}

#[derive(Debug, Default)]
struct World {
    names: BTreeMap<String, Vec<Vec<IpAddr>>>,
    links: BTreeMap<String, String>,
}

impl Told {
    /// A world in which each name has successive answers (the last one stays),
    /// and each link a target.
    pub fn new(names: BTreeMap<String, Vec<Vec<IpAddr>>>, links: BTreeMap<String, String>) -> Self {
        Self { world: Arc::new(World { names, links }), asked: Mutex::default() }
    }

    /// The same world before anything was asked.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self { world: Arc::clone(&self.world), asked: Mutex::default() }
    }
}

impl Surroundings for Told {
    fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let answers = self.world.names.get(host).ok_or(Unresolved)?;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asked.entry(host.to_owned()).or_default();
        let answer = answers.get(*count).or(answers.last()).filter(|answer| !answer.is_empty()).ok_or(Unresolved)?;
        *count += 1;
        Ok(answer.clone())
    }

    fn target(&self, path: &str) -> Option<String> {
        self.world.links.get(path).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_answers_belong_to_one_trial() {
        let (first, second): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let names = BTreeMap::from([("a.example".to_owned(), vec![vec![first], vec![second]])]);
        let told = Told::new(names, BTreeMap::from([("/a".to_owned(), "b".to_owned())]));
        let trial = told.afresh();
        for expected in [first, second, second] {
            assert_eq!(trial.addresses("a.example"), Ok(vec![expected]));
        }
        assert_eq!(told.afresh().addresses("a.example"), Ok(vec![first]));
        assert_eq!(told.addresses("b.example"), Err(Unresolved));
        assert_eq!((told.target("/a").as_deref(), told.target("/b")), (Some("b"), None));
    }
}
