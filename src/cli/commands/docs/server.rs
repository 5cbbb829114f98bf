//! `stead docs --serve`: the site on a loopback address, until a stop signal.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the sockets of this server are an edge"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::signals;
use crate::guide::library::Library;
use crate::guide::site::{self, SiteFile};
use crate::report::json;

/// What the pages may load: their own files, and the empty icon in each page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// JSON output of `docs --serve`.
#[derive(Serialize)]
struct ServedDocument<'a> {
    schema_version: json::SchemaVersion,
    url: &'a str,
}

/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The files of the site, by path.
type Files = BTreeMap<String, (&'static str, Bytes)>;

/// Serves the documentation until a stop signal.
///
/// # Errors
/// When the port cannot be used.
pub(super) async fn serve(
    session: &CommandContext,
    library: &Library,
    port: u16,
) -> Result<Exit, CliFailure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).await.map_err(|error| {
        CliFailure::new(Exit::Failed, format!("the address {address} cannot be used: {error}"))
            .help("--port 0 selects a free port.")
    })?;
    let address = listener.local_addr().map_err(anyhow::Error::from)?;
    let entry = |file: SiteFile| (file.path, (file.media_type, Bytes::from(file.text)));
    let files: Rc<Files> = Rc::new(site::site_files(library).into_iter().map(entry).collect());
    let url = format!("http://{address}/");
    let ui = &session.ui;
    if ui.json {
        let document = ServedDocument { schema_version: json::SCHEMA_VERSION, url: &url };
        ui.write_result(&json::to_pretty(&document));
    } else {
        ui.write_result(&format!("The documentation is at {url}\n"));
        ui.hint("Ctrl-C stops the server.");
    }
    let (stop, tasks) = (Cell::new(true), LocalSet::new());
    let ended =
        tasks.run_until(signals::watch_stop_signals(accept(&listener, &files), &stop, || {}, || {})).await;
    ended.map_err(anyhow::Error::from)?;
    Ok(Exit::Done)
}

/// Accepts connections, each in a task of its own. Connections end with the command: a page is small, and no work is lost.
async fn accept(listener: &TcpListener, files: &Rc<Files>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The process is most likely out of file descriptors: let connections end before the next attempt.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            while connections.try_join_next().is_some() {}
            continue;
        };
        let files = files.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let response = respond(&files, request.method(), request.uri().path());
            async move { Ok::<_, Infallible>(response) }
        });
        let connection =
            http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        // An error is a client that disconnected.
        connections.spawn_local(async move { drop(connection.await) });
        while connections.try_join_next().is_some() {}
    }
}

/// Returns the file of a path; a folder has its `index.html`, and `/` the first page.
fn respond(files: &Files, method: &Method, path: &str) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = path.trim_start_matches('/');
    let found = files.get(path).or_else(|| files.get("index.html").filter(|_| path.is_empty()));
    let Some((media_type, text)) = found else {
        let folder = path.trim_end_matches('/');
        let page = [format!("{folder}/index.html"), format!("{folder}.html")];
        return match page.iter().find(|page| files.contains_key(*page)) {
            Some(page) => redirect(page),
            None => plain(StatusCode::NOT_FOUND, "no such page; the documentation begins at /\n"),
        };
    };
    let mut response = Response::new(Full::new(text.clone()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The picture has its style inside.
    if media_type.starts_with("text/") {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
    response
}

fn redirect(page: &str) -> Response<Full<Bytes>> {
    let mut response = plain(StatusCode::FOUND, "");
    // The addresses of pages are plain ASCII.
    if let Ok(location) = HeaderValue::from_str(&format!("/{page}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_pages_folders_and_nothing_else() {
        let file = |path: &str| (path.to_owned(), ("text/html", Bytes::from_static(b"x")));
        let files: Files =
            [file("index.html"), file("how-to/a.html"), file("reference/kinds/index.html")].into();
        let status = |method, path| respond(&files, &method, path).status().as_u16();
        assert_eq!(status(Method::GET, "/"), 200);
        assert_eq!(status(Method::HEAD, "/how-to/a.html"), 200);
        assert_eq!(status(Method::POST, "/"), 405);
        for (path, to) in
            [("/how-to/a", "/how-to/a.html"), ("/reference/kinds/", "/reference/kinds/index.html")]
        {
            let response = respond(&files, &Method::GET, path);
            assert_eq!(response.headers()[LOCATION], to);
        }
        for (path, code) in [("/../Cargo.toml", 404), ("/etc/passwd", 404), ("//", 200), ("/nothing", 404)]
        {
            assert_eq!(status(Method::GET, path), code, "{path}");
        }
        assert_eq!(respond(&files, &Method::PUT, "/").headers()[ALLOW], "GET, HEAD");
    }
}
