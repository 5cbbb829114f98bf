//! `SentRequests`: the requests that one apply sent, by the resource for which it sent them. In: each request that left,
//! with its answer; out: what the ledger's history keeps of them. Bodies are never kept: they may have secrets.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::cloud::http::message::SentRequest;
use crate::ledger::state::run_details::{MAX_KEPT_REQUESTS, RequestRun};
use crate::model::address::{Address, Name};

/// The requests of one apply.
#[derive(Debug, Default)]
pub(in crate::apply) struct SentRequests(RefCell<BTreeMap<Address, Vec<RequestRun>>>);

impl SentRequests {
    /// Records a request; very many of one resource are not all kept.
    pub(in crate::apply) fn record(&self, address: &Address, sent: SentRequest) {
        let mut all = self.0.borrow_mut();
        let requests = all.entry(address.clone()).or_default();
        if requests.len() < MAX_KEPT_REQUESTS {
            let method = Name::new(sent.method.to_string());
            requests.push(RequestRun(method, sent.path, sent.status, sent.request_id));
        }
    }

    /// Takes the requests that were sent for an address.
    pub(in crate::apply) fn take(&self, address: &Address) -> Vec<RequestRun> {
        self.0.borrow_mut().remove(address).unwrap_or_default()
    }
}
