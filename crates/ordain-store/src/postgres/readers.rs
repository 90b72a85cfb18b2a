//! Connections that read beside the writer.

use super::session::{Server, Session};
use crate::StoreError;
use crate::limits::READERS;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Mutex;

/// A few connections in turn. Each serves many readers at once: the server answers in order.
pub(super) struct Readers {
    server: Arc<Server>,
    slots: Vec<Mutex<Option<Arc<Session>>>>,
    turn: AtomicUsize,
}

impl Readers {
    pub(super) fn new(server: Arc<Server>) -> Self {
        let slots = std::iter::repeat_with(Mutex::default).take(READERS).collect();
        Self { server, slots, turn: AtomicUsize::new(0) }
    }

    /// One that is connected, as far as we know. The caller that used it when it broke got the error.
    pub(super) async fn session(&self) -> Result<Arc<Session>, StoreError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % READERS;
        let Some(slot) = self.slots.get(turn) else { return Err(StoreError::Closed) };
        let mut slot = slot.lock().await;
        match slot.as_ref() {
            Some(session) if !session.client.is_closed() => Ok(Arc::clone(session)),
            _ => {
                let session = Arc::new(Session::open(&self.server).await?);
                *slot = Some(Arc::clone(&session));
                Ok(session)
            }
        }
    }
}
