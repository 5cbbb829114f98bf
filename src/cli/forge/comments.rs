//! Creates or updates stead's notes on a forge. A note is found by its marker and its author, since anyone can post
//! the marker. No note is created twice: after a lost response the notes are listed before anything else is sent.

use std::fmt::Write as _;
use std::time::Duration;

use http_body_util::BodyExt as _;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, StatusCode, Url};

use super::api::{
    self, CommentContent, CommentThread, Forge, ForgeComment, ForgeRequest, PAGE, PullRequest,
};
use super::ci_job::{CiJob, head_of_event, of_event};
use crate::cli::files::stack_files;
use crate::cli::process::actor;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::system_clock::SystemClock;
use crate::ledger::stores::https::{
    ConnectionMode, build_client, parse_server_url, root_cause_text, sanitize_server_text,
};
use crate::model::clock::Clock as _;
use crate::model::redact::{SentSecrets, redact_address};

/// Maximum number of pages to read: 10,000 notes; later ones are not found.
const MAX_PAGES: usize = 100;

/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 32 << 20;

/// Maximum number of attempts of a read; a write is attempted once.
const MAX_ATTEMPTS: u32 = 4;

/// Longest delay before a retry, even if the response requests a longer one.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

/// Account number of `github-actions[bot]` on github.com. A job's token writes as this account, but may not look it up.
const ACTIONS_BOT: u64 = 41_898_282;

/// Writer of comments and issues for one CI job.
pub(in crate::cli) struct CommentWriter {
    job: CiJob,
    /// Account whose notes are trusted; `None` for the token's own.
    author: Option<u64>,
    base: Url,
    client: Client,
    headers: HeaderMap,
}

/// Result of writing a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct CommentResult {
    /// What the writer did.
    pub(in crate::cli) how: CommentChange,
    /// URL of the note for a browser, as the server sent it; `None` if it is not known.
    pub(in crate::cli) url: Option<String>,
}

/// What the writer did with a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum CommentChange {
    /// It created a new note.
    Created,
    /// It updated the existing note.
    Changed,
    /// It left the note as it is: the content is the same, or a missing note was to be closed.
    Unchanged,
}

impl CommentChange {
    /// Returns the keyword for the output.
    pub(in crate::cli) const fn outcome_keyword(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "kept",
        }
    }
}

/// Reason why a request has no usable response.
enum ForgeError {
    /// No complete response; whether the request took effect is unknown.
    NoResponse(String),
    /// An error status, with the body's message, sanitized and without the token; possibly empty.
    ErrorStatus(StatusCode, String),
}

impl CommentWriter {
    /// Returns the writer for a job; `author` is the account whose notes are trusted, `None` for the token's own.
    ///
    /// # Errors
    /// When the API's URL is unsafe, the token is not valid in a header, or TLS cannot be initialized.
    pub(in crate::cli) fn new(job: CiJob, author: Option<u64>) -> Result<Self, CliFailure> {
        let failure = |why: String| CliFailure::new(Exit::Usage, why);
        let base = parse_server_url(&job.api).map_err(|why| {
            failure(format!(
                "`{}` cannot be the API's address: {why}",
                sanitize_server_text(&redact_address(&job.api))
            ))
        })?;
        let (name, before) = job.forge.token_header();
        let mut token = job
            .token
            .expose()
            .and_then(|text| HeaderValue::from_str(&format!("{before}{text}")).ok())
            .ok_or_else(|| failure("the token holds a character that cannot be sent".to_owned()))?;
        // Keeps the token out of debug output.
        token.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(name, token);
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let client = build_client(ConnectionMode::for_url(&base)).map_err(failure)?;
        Ok(Self { job, author, base, client, headers })
    }

    /// Returns the number of the job's pull or merge request: from the job's variables, or the merged one that
    /// its commit came from.
    ///
    /// # Errors
    /// When there is none or several, the API refuses, or its response cannot be parsed.
    pub(in crate::cli) async fn review_number(&self) -> Result<u64, CliFailure> {
        let told = || {
            let event = self.job.event.as_ref()?;
            of_event(&stack_files::read_optional(event.as_ref()).ok()??)
        };
        if let Some(number) = self.job.review.or_else(told) {
            return Ok(number);
        }
        let kind = self.job.forge.review_term();
        let none = |why: String| {
            CliFailure::new(Exit::Failed, why)
                .help(format!("Name the {kind} with --number, or leave this step out."))
        };
        let Some(commit) = &self.job.commit else {
            return Err(none(format!("the job has no {kind} and no commit")));
        };
        if !actor::is_commit(commit) {
            return Err(none("the job's commit is not a commit id".to_owned()));
        }
        let answer = self.send(&self.job.forge.reviews_of(&self.job.project, commit)).await;
        let answer = answer.map_err(|trouble| self.to_failure(trouble))?;
        let found = api::read_review(commit, &answer).map_err(|_| self.unreadable_answer())?;
        found.ok_or_else(|| none(format!("commit {commit} belongs to no {kind}, or to several")))
    }

    /// Returns a pull or merge request.
    ///
    /// # Errors
    /// When the API refuses, does not respond, or its response cannot be parsed.
    pub(in crate::cli) async fn read_request(&self, number: u64) -> Result<PullRequest, CliFailure> {
        let answer = self.send(&self.job.forge.one_review(&self.job.project, number)).await;
        let answer = answer.map_err(|trouble| self.to_failure(trouble))?;
        api::read_one_review(&answer).map_err(|_| self.unreadable_answer())
    }

    /// Returns the commit that this job's report describes: the newest one of its pull or merge request, or of the
    /// merged one that its commit came from. `None` if it is not known: the request is not merged, and the job
    /// does not state it.
    ///
    /// # Errors
    /// When the API refuses, does not respond, or its response cannot be parsed.
    pub(in crate::cli) async fn head_commit(&self, number: u64) -> Result<Option<String>, CliFailure> {
        let told = || head_of_event(&stack_files::read_optional(self.job.event.as_ref()?.as_ref()).ok()??);
        if let Some(head) = self.job.head.clone().or_else(told) {
            return Ok(Some(head));
        }
        // Before the merge, its newest commit can be newer than the planned one.
        let request = self.read_request(number).await?;
        Ok(request.head.filter(|_| request.is_merged))
    }

    /// Returns the note of a thread whose first line is the marker and that the trusted account wrote; `None`
    /// if there is none.
    ///
    /// # Errors
    /// When the API refuses, or there are several such notes, since it is unknown which one was reviewed.
    pub(in crate::cli) async fn find_note(
        &self,
        thread: CommentThread,
        marker: &str,
    ) -> Result<Option<ForgeComment>, CliFailure> {
        // Anyone who may comment could post a note with this marker, so the author is checked. Other apps are
        // different accounts; a name can be reused after its account is deleted, a number cannot.
        let me = self.note_author().await?;
        let is_own = |note: &ForgeComment| note.author.id == Some(me);
        let mut found: Vec<ForgeComment> = Vec::new();
        for page in 1..=MAX_PAGES {
            let answer = self.send(&self.job.forge.list_notes(&self.job.project, thread, page)).await;
            let answer = answer.map_err(|trouble| self.to_failure(trouble))?;
            let (notes, rows) = api::read_notes(thread, &answer).map_err(|_| self.unreadable_answer())?;
            found.extend(notes.into_iter().filter(|note| first_line(&note.body) == marker && is_own(note)));
            // Rows, not notes: a full page can contain rows that are no notes.
            if rows < PAGE {
                break;
            }
        }
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().map(|note| note.id.to_string()).collect();
            let why =
                format!("{} notes of this account begin with {marker}: {}", ids.len(), ids.join(", "));
            return Err(CliFailure::new(Exit::Failed, why)
                .help("Delete all but the valid one, or all of them, and run the step again."));
        }
        Ok(found.pop())
    }

    /// Writes a note whose first line is its marker: updates the existing one, or creates it. A missing note that
    /// would be closed is not created.
    ///
    /// # Errors
    /// When the API refuses, it is unknown whether the note was written, or another account than the trusted one
    /// wrote it.
    pub(in crate::cli) async fn write_note(
        &self,
        thread: CommentThread,
        text: CommentContent<'_>,
    ) -> Result<CommentResult, CliFailure> {
        let marker = first_line(text.body);
        let found = self.find_note(thread, marker).await?;
        if found.is_none() && !text.open {
            return Ok(CommentResult { how: CommentChange::Unchanged, url: None });
        }
        let before = found.as_ref().map(|note| note.id);
        if let Some(note) = found.filter(|note| text.open && is_same_text(&note.body, text.body)) {
            return Ok(self.written_note(CommentChange::Unchanged, thread, &note));
        }
        let how = if before.is_some() { CommentChange::Changed } else { CommentChange::Created };
        match self.send(&self.job.forge.write(&self.job.project, thread, before, text)).await {
            Ok(answer) => {
                let note = api::read_note(thread, &answer).map_err(|_| self.unreadable_answer())?;
                self.check_author(&note).await?;
                Ok(self.written_note(how, thread, &note))
            }
            Err(ForgeError::NoResponse(why)) => match self.find_note(thread, marker).await? {
                Some(note) if is_same_text(&note.body, text.body) => {
                    Ok(self.written_note(how, thread, &note))
                }
                _ => Err(self.to_failure(ForgeError::NoResponse(why))),
            },
            Err(trouble) => Err(self.to_failure(trouble)),
        }
    }

    /// Checks that the trusted account wrote a note, because the next run would not find it otherwise.
    async fn check_author(&self, note: &ForgeComment) -> Result<(), CliFailure> {
        match note.author.id {
            Some(id) if id != self.note_author().await? => {
                let name = sanitize_server_text(&note.author.name);
                Err(CliFailure::new(Exit::Failed, format!("the token belongs to {name}, the account {id}"))
                    .help(format!(
                        "The note exists. Name the account whose notes are trusted: --author {id}"
                    )))
            }
            _ => Ok(()),
        }
    }

    /// Returns the result for a note that exists.
    fn written_note(
        &self,
        how: CommentChange,
        thread: CommentThread,
        note: &ForgeComment,
    ) -> CommentResult {
        let url = note.url.clone().or_else(|| match thread {
            CommentThread::Review(review) => self.job.comment_url(review, note.id),
            CommentThread::Issues => None,
        });
        CommentResult { how, url }
    }

    /// Returns the trusted account: the one that the user named, or that of the token; the bot of GitHub Actions for
    /// a token that may not ask.
    async fn note_author(&self) -> Result<u64, CliFailure> {
        if let Some(author) = self.author {
            return Ok(author);
        }
        match self.send(&api::whoami_request()).await {
            Ok(answer) => match api::read_account(&answer) {
                Ok(Some(id)) => Ok(id),
                Ok(None) | Err(_) => Err(self.unreadable_answer()),
            },
            Err(ForgeError::ErrorStatus(StatusCode::FORBIDDEN, _)) if self.job.forge == Forge::GitHub => {
                Ok(ACTIONS_BOT)
            }
            Err(trouble) => Err(self.to_failure(trouble)),
        }
    }

    /// Sends a request. A read is retried after a delay if the error is temporary; a write is not, since
    /// it may have arrived.
    async fn send(&self, ask: &ForgeRequest) -> Result<Vec<u8>, ForgeError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (trouble, wait) = match self.send_once(ask).await {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            let passes = match &trouble {
                ForgeError::NoResponse(_) => true,
                ForgeError::ErrorStatus(status, _) => {
                    *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
                }
            };
            if ask.method != Method::GET || !passes || tries == MAX_ATTEMPTS {
                return Err(trouble);
            }
            SystemClock
                .sleep(wait.unwrap_or(Duration::from_secs(1 << (tries - 1))).min(MAX_RETRY_DELAY))
                .await;
        }
    }

    /// Sends a request once; with an error, also returns the delay that the response requests, `None`
    /// if it requests none.
    async fn send_once(&self, ask: &ForgeRequest) -> Result<Vec<u8>, (ForgeError, Option<Duration>)> {
        let silence = |error: &reqwest::Error| (ForgeError::NoResponse(root_cause_text(error)), None);
        let url = format!("{}{}", self.base.as_str().trim_end_matches('/'), ask.path);
        let mut request = self.client.request(ask.method.clone(), url).headers(self.headers.clone());
        if let Some(body) = &ask.body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| silence(&error))?;
        let status = response.status();
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let is_limited = wait.is_some() || header("x-ratelimit-remaining") == Some("0");
        let body = http_body_util::Limited::new(reqwest::Body::from(response), MAX_RESPONSE_BYTES);
        let bytes = body
            .collect()
            .await
            .map_err(|error| (ForgeError::NoResponse(root_cause_text(&*error)), None))?;
        let bytes = bytes.to_bytes().to_vec();
        if status.is_success() {
            return Ok(bytes);
        }
        // GitHub also uses 403 for its rate limit.
        let limited = status == StatusCode::FORBIDDEN && is_limited;
        let status = if limited { StatusCode::TOO_MANY_REQUESTS } else { status };
        // An error message that repeats the token is not quoted.
        let mut sent = SentSecrets::default();
        sent.push(self.job.token.expose().unwrap_or_default());
        let words = sent.screen_text(refusal_text(&bytes));
        Err((ForgeError::ErrorStatus(status, words), wait.map(Duration::from_secs)))
    }

    fn unreadable_answer(&self) -> CliFailure {
        CliFailure::new(Exit::Failed, format!("{} sent a response that its API does not have", self.host()))
            .help(format!(
                "Is {} the address of its API?",
                sanitize_server_text(&redact_address(&self.job.api))
            ))
    }

    fn host(&self) -> String {
        self.base.host_str().unwrap_or_default().to_owned()
    }

    /// Returns the failure for the user, with the permission that is probably missing.
    fn to_failure(&self, trouble: ForgeError) -> CliFailure {
        let (kind, host) = (self.job.forge.review_term(), self.host());
        let (status, words) = match trouble {
            ForgeError::NoResponse(why) => {
                return CliFailure::new(Exit::Failed, format!("{host} did not answer: {why}")).help(
                    "Run the step again: it finds a note that was written already, and does not write it twice.",
                );
            }
            ForgeError::ErrorStatus(status, words) => (status, words),
        };
        let mut message = format!("{host} refused the request: {}", status.as_u16());
        if !words.is_empty() {
            let _ = write!(message, ", {words}");
        }
        let help = match (status.as_u16(), self.job.forge) {
            (401, Forge::GitHub) => "GITHUB_TOKEN is not a valid token.".to_owned(),
            (401, Forge::GitLab) => "GITLAB_TOKEN is not a valid token, or it has expired.".to_owned(),
            (403 | 404, Forge::GitHub) => format!(
                "The job needs `permissions: {{ pull-requests: write }}` for a {kind}'s comment, `issues: write` for \
                 an issue; a {kind} from a fork has neither."
            ),
            (403 | 404, Forge::GitLab) => {
                "The token needs the scope `api`, and the role of a reporter at least.".to_owned()
            }
            (300..=399, _) => {
                "The server redirects to another address, and stead does not send the token there."
                    .to_owned()
            }
            _ => "Run the step again: nothing is written twice.".to_owned(),
        };
        CliFailure::new(Exit::Failed, message).help(help)
    }
}

/// Returns the first line of a note, its marker, without trailing blanks.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end()
}

/// Returns whether two notes have the same content: forges change line ends and trailing blanks.
fn is_same_text(left: &str, right: &str) -> bool {
    left.trim_end().lines().map(str::trim_end).eq(right.trim_end().lines().map(str::trim_end))
}

/// Returns the message in the body of an error response, sanitized; empty if there is none.
fn refusal_text(body: &[u8]) -> String {
    let answer: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let words = ["message", "error", "error_description"].iter().find_map(|key| answer.get(key)?.as_str());
    sanitize_server_text(words.unwrap_or_default())
}
