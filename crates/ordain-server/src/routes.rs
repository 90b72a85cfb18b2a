//! The router: one handler for each operation of the table.

use crate::api::{
    actions, approvers, control, documents, events, evidence, grants, ledger, notes, permits, projects,
    server, servers, sessions, tokens, wait,
};
use crate::app::App;
use crate::console;
use axum::Router;
use axum::http::Method as HttpMethod;
use axum::routing::{MethodFilter, MethodRouter, on};
use ordain_api::{Access, Method, OPERATIONS, Operation, OperationId};

pub(crate) fn router() -> Router<App> {
    let add = |router: Router<App>, operation: &Operation| router.route(operation.path, handler(operation));
    OPERATIONS.iter().fold(console::router(), add)
}

fn handler(operation: &Operation) -> MethodRouter<App> {
    let method = match operation.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    };
    match operation.id {
        OperationId::SubmitAction => on(method, actions::submit),
        OperationId::Act => on(method, actions::act),
        OperationId::ListActions => on(method, actions::list),
        OperationId::GetAction => on(method, actions::status),
        OperationId::StreamActionEvents => on(method, wait::events),
        OperationId::GetView => on(method, events::view),
        OperationId::GetDossier => on(method, ledger::dossier),
        OperationId::RecordVerdict => on(method, actions::record_verdict),
        OperationId::AddEvidence => on(method, evidence::add),
        OperationId::GetPermit => on(method, permits::show),
        OperationId::UsePermit => on(method, permits::spend),
        OperationId::ReportOutcome => on(method, permits::outcome),
        OperationId::GetCheckpoint => on(method, ledger::checkpoint),
        OperationId::GetProof => on(method, ledger::proof),
        OperationId::GetConsistency => on(method, ledger::consistency),
        OperationId::ListEntries => on(method, ledger::entries),
        OperationId::CheckRecords => on(method, ledger::fsck),
        OperationId::GetDocument => on(method, ledger::document),
        OperationId::StreamEvents => on(method, events::stream),
        OperationId::GetGate => on(method, control::status),
        OperationId::Halt => on(method, control::halt),
        OperationId::Resume => on(method, control::resume),
        OperationId::StartObservation => on(method, control::start_observation),
        OperationId::EndObservation => on(method, control::end_observation),
        OperationId::PushPolicy => on(method, control::push_policy),
        OperationId::GetPolicy => on(method, control::policy),
        OperationId::GetActTerms => on(method, approvers::terms),
        OperationId::EnrolApproverKey => on(method, approvers::enrol),
        OperationId::ListApproverKeys => on(method, approvers::list),
        OperationId::RevokeApproverKey => on(method, approvers::revoke),
        OperationId::RotateKey => on(method, control::rotate_key),
        OperationId::CreateToken => on(method, tokens::create),
        OperationId::ListTokens => on(method, tokens::list),
        OperationId::RevokeToken => on(method, tokens::revoke),
        OperationId::ListGrants => on(method, grants::list),
        OperationId::RevokeGrant => on(method, grants::revoke),
        OperationId::CreateSession => on(method, sessions::create),
        OperationId::EndSession => on(method, sessions::end),
        OperationId::RegisterProject => on(method, projects::register),
        OperationId::ListProjects => on(method, projects::list),
        OperationId::ForgetProject => on(method, projects::forget),
        OperationId::ListServers => on(method, servers::list),
        OperationId::GetServer => on(method, servers::get),
        OperationId::ReportListing => on(method, servers::report),
        OperationId::PinServer => on(method, servers::pin),
        OperationId::BlockTool => on(method, servers::block),
        OperationId::TransformIntent => on(method, documents::transform),
        OperationId::VerifyDocument => on(method, documents::verify),
        OperationId::DraftNote => on(method, notes::draft),
        OperationId::GetFailedDraft => on(method, notes::failure),
        OperationId::ValidateNote => on(method, notes::validate),
        OperationId::GetHealth => on(method, server::health),
        OperationId::GetReady => on(method, server::ready),
        OperationId::GetMetrics => on(method, server::metrics),
        OperationId::GetKeys => on(method, server::keys),
        OperationId::GetDescription => on(method, server::description),
    }
}

/// The operation with this path of the table and this method.
pub(crate) fn find(method: &HttpMethod, path: &str) -> Option<&'static Operation> {
    // A caller that may read something may ask for its head.
    let name = if method == HttpMethod::HEAD { Method::Get.name() } else { method.as_str() };
    OPERATIONS.iter().find(|operation| operation.path == path && operation.method.name() == name)
}

/// A path of the table, as the table has it.
pub(crate) fn known(path: &str) -> Option<&'static str> {
    let operation = OPERATIONS.iter().map(|operation| operation.path).find(|known| *known == path);
    operation.or_else(|| console::known(path))
}

/// Whether a path is answered without a token.
pub(crate) fn is_open(path: &str) -> bool {
    OPERATIONS.iter().any(|operation| operation.path == path && operation.access == Access::Anybody)
}
