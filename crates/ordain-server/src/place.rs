//! Places: how many requests are worked on at once, altogether and of one principal.

use crate::app::{App, Shared};
use crate::limits::REQUESTS_OF_ONE_MAX;
use ordain_api::{Problem, ProblemCode};
use std::sync::{Arc, PoisonError};

/// A principal's place. A stream keeps it until it ends.
#[derive(Clone)]
pub(crate) struct Place(
    #[expect(dead_code, reason = "it is given back when the last of them is dropped")] Arc<Taken>,
);

struct Taken {
    shared: Arc<Shared>,
    principal: String,
}

impl Place {
    pub(crate) fn take(app: &App, principal: &str) -> Result<Self, Problem> {
        let mut of_one = app.shared.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of_one.entry(principal.to_owned()).or_default();
        if *count >= REQUESTS_OF_ONE_MAX {
            let problem = format!("`{principal}` has {REQUESTS_OF_ONE_MAX} requests under way already");
            return Err(Problem::new(ProblemCode::TooMany, problem));
        }
        *count += 1;
        Ok(Self(Arc::new(Taken { shared: Arc::clone(&app.shared), principal: principal.to_owned() })))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut of_one = self.shared.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = of_one.get_mut(&self.principal) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                of_one.remove(&self.principal);
            }
        }
    }
}
