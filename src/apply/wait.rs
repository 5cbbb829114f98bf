//! Waiting for objects to come to rest, or to be gone.

use std::time::Duration;

use super::event::StepError;
use super::session::{Job, Scope, Session, Target};
use crate::cloud::exchange::Cloud;
use crate::ledger::store::Store;
use crate::model::clock::{Clock, Random};
use crate::model::schema::Kind;
use crate::model::snapshot::Object;

/// Time between two looks.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// What a status means for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It can be used, or rests.
    Settled,
    /// It will not settle by itself.
    Failed,
    /// It is on its way out.
    Leaving,
    /// It is under way, or its status is not one that we know.
    Moving,
}

fn rest(kind: &Kind, object: &Object) -> Rest {
    let Some(ready) = kind.api.ready else { return Rest::Settled };
    let Some(status) = object.status(ready.attribute) else { return Rest::Moving };
    let among = |statuses: &[&str]| statuses.contains(&status);
    if among(ready.wanted) || among(ready.resting) {
        Rest::Settled
    } else if among(ready.failed) {
        Rest::Failed
    } else if among(ready.leaving) {
        Rest::Leaving
    } else {
        Rest::Moving
    }
}

/// Tells whether an object is in no transition.
pub(super) fn at_rest(kind: &Kind, object: &Object) -> bool {
    rest(kind, object) == Rest::Settled
}

/// Tells whether an object is on its way out.
pub(super) fn is_leaving(kind: &Kind, object: &Object) -> bool {
    rest(kind, object) == Rest::Leaving
}

fn status_of(kind: &Kind, object: &Object) -> String {
    let status = kind.api.ready.and_then(|ready| object.status(ready.attribute));
    status.unwrap_or("(none)").to_owned()
}

impl<C: Cloud, K: Clock, R: Random, S: Store> Session<'_, C, K, R, S> {
    /// Waits until an object can be used, beginning with what is known of it.
    pub(super) async fn settle(
        &self,
        job: &Job<'_>,
        target: &Target,
        known: Option<Object>,
    ) -> Result<Object, StepError> {
        let object = match known {
            Some(object) if rest(job.kind, &object) != Rest::Moving => object,
            _ => self.rested(job, target).await?,
        };
        match rest(job.kind, &object) {
            Rest::Settled => Ok(object),
            _ => Err(StepError::Unsettled(format!(
                "{} {} ended as {}",
                job.kind.name,
                target.key.id,
                status_of(job.kind, &object)
            ))),
        }
    }

    /// Reads an object once it is in no transition; one that failed is at rest, too.
    pub(super) async fn rested(&self, job: &Job<'_>, target: &Target) -> Result<Object, StepError> {
        let id = &target.key.id;
        let begun = self.clock().elapsed();
        let mut shown = String::new();
        loop {
            let now = self.clock().elapsed();
            match self.get(&target.key).await? {
                Some(object) => match rest(job.kind, &object) {
                    Rest::Settled | Rest::Failed => return Ok(object),
                    Rest::Leaving => {
                        return Err(StepError::Moved(format!("{} {id} is being deleted", job.kind.name)));
                    }
                    Rest::Moving => {
                        let status = status_of(job.kind, &object);
                        if status != shown {
                            self.progress(job, format!("waiting, {status}"));
                            shown = status;
                        }
                    }
                },
                None if now.saturating_sub(begun) < self.context.bounds.listing => {}
                None => return Err(StepError::Moved(format!("{} {id} is gone", job.kind.name))),
            }
            if now >= job.until {
                return Err(StepError::Unsettled(format!(
                    "{} {id} is still {shown} when its time is up",
                    job.kind.name
                )));
            }
            self.clock().sleep(TICK).await;
        }
    }

    /// Waits until nothing answers to an id any more and no list shows it: both, because a wrong
    /// project or a lost permission looks like a 404, and lists lag.
    pub(super) async fn gone(&self, job: &Job<'_>, target: &Target) -> Result<(), StepError> {
        loop {
            if self.get(&target.key).await?.is_none() {
                let (listed, _) = self.list_stable(job.kind, &Scope::of(target)).await?;
                if listed.iter().all(|object| object.id != target.key.id) {
                    return Ok(());
                }
            }
            if self.clock().elapsed() >= job.until {
                return Err(StepError::Unsettled(format!(
                    "{} {} is not gone when its time is up",
                    job.kind.name, target.key.id
                )));
            }
            self.clock().sleep(TICK).await;
        }
    }
}
