//! MCP servers: what they list, and what of it is approved.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, Named, Typed, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{BlockedTool, ListingReport, NewPins};

pub(crate) async fn list(State(app): State<App>, By(caller): By) -> Result<Response, ErrorResponse> {
    ok(&app.gate.servers(&caller).await?)
}

pub(crate) async fn get(
    State(app): State<App>,
    By(caller): By,
    Named(server): Named,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.server(&caller, &server).await?)
}

pub(crate) async fn report(
    State(app): State<App>,
    By(caller): By,
    Named(server): Named,
    Typed(report): Typed<ListingReport>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.report_listing(&caller, &server, &report).await?)
}

pub(crate) async fn pin(
    State(app): State<App>,
    By(caller): By,
    Named(server): Named,
    Typed(new): Typed<NewPins>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.pin_server(&caller, &server, &new).await?)
}

pub(crate) async fn block(
    State(app): State<App>,
    By(caller): By,
    Named(server): Named,
    Typed(BlockedTool { tool }): Typed<BlockedTool>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.block_tool(&caller, &server, &tool).await?)
}
