//! Connects a client to the emulator in the same process, without a socket: a request is a function call, which
//! takes no virtual time.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use super::virtual_time::VirtualTime;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::http::message::{HttpRequest, HttpResponse, SignedUpload, TransportError};
use crate::emulator::control::read_export;
use crate::emulator::seed::{Seed, seed_objects, seed_shop};
use crate::emulator::world::{self, RateTier, World, WorldSetup, handle_request};
use crate::model::clock::Clock;
use crate::model::schema::Method;

/// API key of the account in every test; an imported world gets it, too.
pub(super) const KEY: &str = "sk_test";

/// An emulated cloud with its virtual clock.
#[derive(Clone)]
pub(in crate::cli) struct InProcessTransport {
    world: Rc<RefCell<World>>,
    time: VirtualTime,
}

impl InProcessTransport {
    /// Returns a new cloud with the objects of `seed`, empty for `None`. A seed's relative path starts at `directory`.
    ///
    /// # Errors
    /// When the seed is invalid, its file cannot be read, or its objects cannot be created.
    pub(in crate::cli) fn new(
        time: &VirtualTime,
        seed: Option<&str>,
        directory: &Path,
    ) -> Result<Self, CliFailure> {
        let setup = WorldSetup { seed: 1, api_key: KEY.to_owned(), tier: RateTier::Standard };
        let now = time.now();
        let mut world = World::new(&setup, now);
        let planted = match seed.map(str::parse::<Seed>) {
            None => Ok(()),
            Some(Err(error)) => Err(error.to_string()),
            Some(Ok(Seed::Shop)) => seed_shop(&mut world, KEY, now),
            Some(Ok(Seed::Objects(count))) => seed_objects(&mut world, KEY, count, now),
            Some(Ok(Seed::File(path))) => {
                let export = stack_files::read_bytes(&directory.join(path))?;
                let imported = read_export(&export).and_then(|export| world.import(export));
                world.set_key(KEY, RateTier::Standard);
                imported
            }
        };
        planted.map_err(|why| {
            CliFailure::new(Exit::Failed, format!("the objects of given.world cannot be created: {why}"))
        })?;
        // An imported world can be newer than the start time, and its times must not be in the future.
        time.not_before(world.latest_time());
        Ok(Self { world: Rc::new(RefCell::new(world)), time: time.clone() })
    }

    fn handle_request(&self, request: &world::ApiRequest) -> HttpResponse {
        let now = self.time.now();
        let response = handle_request(&mut self.world.borrow_mut(), request, now);
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let (status, body) = (response.status, response.body);
        HttpResponse {
            status,
            retry_after: None,
            limit: None,
            remaining: None,
            date: Some(date.into()),
            request_id: None,
            body,
        }
    }

    /// Returns the cloud's response.
    pub(super) fn exchange(&self, request: &HttpRequest) -> HttpResponse {
        self.handle_request(&api_request(request))
    }

    /// Uploads bytes to an address that the cloud signed.
    ///
    /// # Errors
    /// When the address is of another service.
    pub(super) fn upload(&self, upload: &SignedUpload) -> Result<HttpResponse, TransportError> {
        let nowhere =
            || TransportError::NotPermitted { reason: "the address is not the emulator's".to_owned() };
        let (address, query) = upload.url.expose().split_once('?').ok_or_else(nowhere)?;
        let path = address.find("/uploads/").map(|at| &address[at..]).ok_or_else(nowhere)?;
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Ok(self.handle_request(&world::ApiRequest {
            method: Method::Put,
            path: path.to_owned(),
            query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            api_key: None,
            project: None,
            body: upload.into_chunks().collect::<Vec<_>>().concat(),
        }))
    }
}

/// Returns the request as the emulated world receives it, with the key of the account.
pub(super) fn api_request(request: &HttpRequest) -> world::ApiRequest {
    let query = request.query.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    world::ApiRequest {
        method: request.method,
        path: request.path.clone(),
        query: query.collect(),
        api_key: Some(KEY.to_owned()),
        project: request.project.as_ref().map(ToString::to_string),
        body: request.body.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default(),
    }
}
