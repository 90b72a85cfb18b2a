//! A transport to a gate in this process: the same router, without a network.

use crate::app::App;
use ordain_client::{Reply, Request, Transport, TransportError};
use ordain_gate::Caller;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A gate in this process, and the caller that every request comes from.
#[derive(Clone)]
pub struct InProcess {
    /// The runtime that the gate works on.
    pub runtime: Arc<Runtime>,
    /// The gate and its router.
    pub app: App,
    /// The caller.
    pub caller: Caller,
}

impl Transport for InProcess {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        let Request { method, path, body, signed, wait: _ } = request;
        let caller = self.caller.clone().with_statements(signed.clone());
        let call = self.app.call(caller, method.name(), path, body.clone());
        Ok(self.runtime.block_on(call))
    }
}
