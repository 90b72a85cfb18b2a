//! Turns: work that takes a processor for a while is done for few at once, and for one principal one after the other.

use ordain_api::Problem;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The requests that wait for a turn. A principal with a hundred requests waits with one of them; the others
/// wait behind it, and so not before the requests of others.
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    of_one: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

/// A turn; the next one begins when it is dropped.
pub(crate) struct Turn {
    _of_all: OwnedSemaphorePermit,
    _of_one: OwnedSemaphorePermit,
}

impl Turns {
    /// So many at once.
    pub(crate) fn new(at_once: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(at_once)), of_one: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) async fn wait(&self, principal: &str) -> Result<Turn, Problem> {
        let stopping = |_| Problem::busy("the server is stopping");
        let of_one = self.of(principal).acquire_owned().await.map_err(stopping)?;
        let of_all = self.all.clone().acquire_owned().await.map_err(stopping)?;
        Ok(Turn { _of_all: of_all, _of_one: of_one })
    }

    /// The queue of one principal; queues in which nobody waits are forgotten.
    fn of(&self, principal: &str) -> Arc<Semaphore> {
        let mut of_one = self.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = of_one.get(principal).and_then(Weak::upgrade) {
            return queue;
        }
        of_one.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(Semaphore::new(1));
        of_one.insert(principal.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The second principal waits for one request of a first one with many, not for all of them.
    #[tokio::test]
    async fn a14_one_principal_does_not_keep_others_from_their_turn() {
        let turns = Arc::new(Turns::new(1));
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (number, who) in (0_u32..).zip(["greedy"; 50].into_iter().chain(["other"])) {
            let (turns, done) = (turns.clone(), done.clone());
            tasks.push(tokio::spawn(async move {
                // In the order in which they are named.
                tokio::time::sleep(Duration::from_millis(1) * number).await;
                let turn = turns.wait(who).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
                done.lock().unwrap().push(who);
                drop(turn);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let done = done.lock().unwrap();
        assert_eq!(done.len(), 51);
        assert!(done.iter().position(|who| *who == "other").unwrap() <= 6, "{done:?}");
    }

    #[tokio::test]
    async fn queues_that_are_empty_are_forgotten() {
        let turns = Turns::new(1);
        for number in 0..100 {
            drop(turns.wait(&number.to_string()).await.unwrap());
        }
        assert!(turns.of_one.lock().unwrap().len() <= 1);
    }
}
