//! What only the admin listener answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

use super::problem::Problem;
use super::{Gate, metrics};

pub(super) fn routes() -> Router<Arc<Gate>> {
    Router::new().route("/metrics", get(read_metrics))
}

async fn read_metrics(State(gate): State<Arc<Gate>>) -> Result<impl IntoResponse, Problem> {
    let text = gate.metrics.render().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("no metrics: {error}"))
    })?;
    Ok(([(CONTENT_TYPE, metrics::MEDIA_TYPE)], text))
}
