//! Requests to the APIs of GitHub and GitLab, and parsers of their responses. Pure: requests are data, responses are
//! bytes. Strings of a response are neither escaped nor trusted.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

/// Rows per page: the maximum of both APIs.
pub(in crate::cli) const PAGE: usize = 100;

/// API of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Forge {
    /// GitHub, or GitHub Enterprise Server.
    GitHub,
    /// GitLab, hosted or self-managed.
    GitLab,
}

/// A request: method, path below the API's base URL, and body.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct ForgeRequest {
    pub(in crate::cli) method: Method,
    /// Path and query, relative to the API's base URL.
    pub(in crate::cli) path: String,
    /// JSON body; `None` for a request without one.
    pub(in crate::cli) body: Option<Value>,
}

/// Collection that a note belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum CommentThread {
    /// Comments of the pull or merge request with this number.
    Review(u64),
    /// Open issues of the project.
    Issues,
}

/// Desired content of a comment or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct CommentContent<'a> {
    /// Title of an issue; not used for a comment.
    pub(in crate::cli) title: &'a str,
    /// Body as Markdown; its first line is the marker by which it is found again.
    pub(in crate::cli) body: &'a str,
    /// Whether an issue stays open; not used for a comment.
    pub(in crate::cli) open: bool,
}

/// A comment or an issue, as the API returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct ForgeComment {
    /// Number by which the API addresses it: an issue's within the project, a comment's own.
    pub(in crate::cli) id: u64,
    pub(in crate::cli) body: String,
    /// Account that wrote it, as the response states it.
    pub(in crate::cli) author: CommentAuthor,
    /// URL for a browser; `None` if the response does not contain it.
    pub(in crate::cli) url: Option<String>,
}

/// Author of a comment or an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct CommentAuthor {
    /// Number of the account; unlike a name, it is never reused. `None` if the response does not contain it.
    pub(in crate::cli) id: Option<u64>,
    /// Name of the account, possibly empty; another account can have it later.
    pub(in crate::cli) name: String,
}

/// One row of either API; fields with different names in the two APIs are both parsed.
#[derive(Debug, Deserialize)]
struct CommentResponse {
    id: u64,
    number: Option<u64>,
    iid: Option<u64>,
    body: Option<String>,
    description: Option<String>,
    user: Option<AccountResponse>,
    author: Option<AccountResponse>,
    html_url: Option<String>,
    web_url: Option<String>,
    /// Set on GitHub for a pull request, which the list of issues contains, too.
    pull_request: Option<Value>,
    /// Set on GitLab for notes that GitLab wrote itself.
    #[serde(default)]
    system: bool,
}

#[derive(Debug, Deserialize)]
struct AccountResponse {
    id: Option<u64>,
    login: Option<String>,
    username: Option<String>,
}

/// A pull request or merge request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct PullRequest {
    /// Newest commit of its branch; if it is merged, the last commit that was merged. `None` if the response has none.
    pub(in crate::cli) head: Option<String>,
    pub(in crate::cli) is_merged: bool,
}

#[derive(Debug, Deserialize)]
struct PullRequestResponse {
    number: Option<u64>,
    iid: Option<u64>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
    /// GitLab: newest commit of the request, which is the merged one if no merge commit was created.
    sha: Option<String>,
    /// GitHub: newest commit of the branch.
    head: Option<CommitResponse>,
    /// GitHub: time of the merge.
    merged_at: Option<String>,
    /// GitLab: state, `merged` after the merge.
    state: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CommitResponse {
    sha: String,
}

impl PullRequestResponse {
    fn is_merged(&self) -> bool {
        self.merged_at.is_some() || self.state.as_deref() == Some("merged")
    }
}

impl Forge {
    /// Returns the header for the token, and the prefix of its value.
    pub(in crate::cli) const fn token_header(self) -> (&'static str, &'static str) {
        match self {
            Self::GitHub => ("authorization", "Bearer "),
            Self::GitLab => ("private-token", ""),
        }
    }

    /// Returns the forge's term for a pull or merge request.
    pub(in crate::cli) const fn review_term(self) -> &'static str {
        match self {
            Self::GitHub => "pull request",
            Self::GitLab => "merge request",
        }
    }

    /// Returns the request for a page of a thread's notes; pages begin at 1. Closed issues are not listed.
    pub(in crate::cli) fn list_notes(
        self,
        project: &str,
        thread: CommentThread,
        page: usize,
    ) -> ForgeRequest {
        let path = self.thread_path(project, thread);
        let open = match (self, thread) {
            (_, CommentThread::Review(_)) => "",
            (Self::GitHub, CommentThread::Issues) => "&state=open",
            (Self::GitLab, CommentThread::Issues) => "&state=opened",
        };
        get_request(format!("{path}?per_page={PAGE}&page={page}{open}"))
    }

    /// Returns the request that creates a note on a thread (`id` is `None`), or updates the one with this number.
    pub(in crate::cli) fn write(
        self,
        project: &str,
        thread: CommentThread,
        id: Option<u64>,
        text: CommentContent<'_>,
    ) -> ForgeRequest {
        let path = self.thread_path(project, thread);
        let path = match (self, thread, id) {
            (_, _, None) => path,
            (Self::GitHub, CommentThread::Review(_), Some(id)) => {
                format!("/repos/{project}/issues/comments/{id}")
            }
            (_, _, Some(id)) => format!("{path}/{id}"),
        };
        let method = match (self, id) {
            (_, None) => Method::POST,
            (Self::GitHub, Some(_)) => Method::PATCH,
            (Self::GitLab, Some(_)) => Method::PUT,
        };
        let body = match (self, thread) {
            (_, CommentThread::Review(_)) => json!({ "body": text.body }),
            (Self::GitHub, CommentThread::Issues) if text.open => {
                json!({ "title": text.title, "body": text.body })
            }
            (Self::GitHub, CommentThread::Issues) => {
                json!({ "title": text.title, "body": text.body, "state": "closed", "state_reason": "completed" })
            }
            (Self::GitLab, CommentThread::Issues) if text.open => {
                json!({ "title": text.title, "description": text.body })
            }
            (Self::GitLab, CommentThread::Issues) => {
                json!({ "title": text.title, "description": text.body, "state_event": "close" })
            }
        };
        ForgeRequest { method, path, body: Some(body) }
    }

    /// Returns the request for the pull or merge requests that contain a commit; the caller has checked that
    /// it is a hash.
    pub(in crate::cli) fn reviews_of(self, project: &str, commit: &str) -> ForgeRequest {
        get_request(match self {
            Self::GitHub => format!("/repos/{project}/commits/{commit}/pulls"),
            Self::GitLab => format!("/projects/{project}/repository/commits/{commit}/merge_requests"),
        })
    }

    /// Returns the request for one pull or merge request.
    pub(in crate::cli) fn one_review(self, project: &str, number: u64) -> ForgeRequest {
        get_request(match self {
            Self::GitHub => format!("/repos/{project}/pulls/{number}"),
            Self::GitLab => format!("/projects/{project}/merge_requests/{number}"),
        })
    }

    fn thread_path(self, project: &str, thread: CommentThread) -> String {
        match (self, thread) {
            (Self::GitHub, CommentThread::Review(number)) => {
                format!("/repos/{project}/issues/{number}/comments")
            }
            (Self::GitHub, CommentThread::Issues) => format!("/repos/{project}/issues"),
            (Self::GitLab, CommentThread::Review(number)) => {
                format!("/projects/{project}/merge_requests/{number}/notes")
            }
            (Self::GitLab, CommentThread::Issues) => format!("/projects/{project}/issues"),
        }
    }
}

/// Returns the request for the account of the token, the same for both forges.
pub(in crate::cli) fn whoami_request() -> ForgeRequest {
    get_request("/user".to_owned())
}

/// Parses a page of notes; returns them and the number of rows. Rows that are not notes (pull requests in a list of
/// issues, messages of GitLab itself) count only as rows, so that a full page is recognized.
///
/// # Errors
/// When the response has another form.
pub(in crate::cli) fn read_notes(
    thread: CommentThread,
    page: &[u8],
) -> Result<(Vec<ForgeComment>, usize), serde_json::Error> {
    let rows: Vec<CommentResponse> = serde_json::from_slice(page)?;
    let count = rows.len();
    let is_note = |row: &CommentResponse| row.pull_request.is_none() && !row.system;
    Ok((rows.into_iter().filter(is_note).map(|row| note_from_row(row, thread)).collect(), count))
}

/// Parses one comment from a forge's response.
///
/// # Errors
/// When the response has another form.
pub(in crate::cli) fn read_note(
    thread: CommentThread,
    answer: &[u8],
) -> Result<ForgeComment, serde_json::Error> {
    serde_json::from_slice(answer).map(|row| note_from_row(row, thread))
}

/// Parses the account number of a token; `None` if the response has none.
///
/// # Errors
/// When the response has another form.
pub(in crate::cli) fn read_account(answer: &[u8]) -> Result<Option<u64>, serde_json::Error> {
    serde_json::from_slice::<AccountResponse>(answer).map(|account| account.id)
}

/// Parses a pull or merge request.
///
/// # Errors
/// When the response has another form.
pub(in crate::cli) fn read_one_review(answer: &[u8]) -> Result<PullRequest, serde_json::Error> {
    let change: PullRequestResponse = serde_json::from_slice(answer)?;
    let is_merged = change.is_merged();
    Ok(PullRequest { head: change.head.map(|head| head.sha).or(change.sha), is_merged })
}

/// Parses the number of the merged pull or merge request that produced a commit: the one with this merge commit,
/// else the only one. `None` if there is none, or several contain the commit.
///
/// # Errors
/// When the response is not a list of them.
pub(in crate::cli) fn read_review(commit: &str, answer: &[u8]) -> Result<Option<u64>, serde_json::Error> {
    let mut all: Vec<PullRequestResponse> = serde_json::from_slice(answer)?;
    all.retain(PullRequestResponse::is_merged);
    let is_merge = |change: &&PullRequestResponse| {
        let made = [&change.merge_commit_sha, &change.squash_commit_sha, &change.sha];
        made.into_iter().flatten().any(|sha| sha == commit)
    };
    let merged = all.iter().find(is_merge);
    let only = all.first().filter(|_| all.len() == 1);
    Ok(merged.or(only).and_then(|change| change.number.or(change.iid)))
}

fn get_request(path: String) -> ForgeRequest {
    ForgeRequest { method: Method::GET, path, body: None }
}

fn note_from_row(row: CommentResponse, thread: CommentThread) -> ForgeComment {
    let account = row.user.or(row.author);
    let author = account.map_or(CommentAuthor { id: None, name: String::new() }, |account| CommentAuthor {
        id: account.id,
        name: account.login.or(account.username).unwrap_or_default(),
    });
    // The API addresses an issue by its number within the project, a comment by its own id.
    let id = match thread {
        CommentThread::Issues => row.number.or(row.iid).unwrap_or(row.id),
        CommentThread::Review(_) => row.id,
    };
    ForgeComment {
        id,
        body: row.body.or(row.description).unwrap_or_default(),
        author,
        url: row.html_url.or(row.web_url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: CommentContent<'static> = CommentContent { title: "t", body: "b", open: true };

    fn line(ask: &ForgeRequest) -> String {
        let body = ask.body.as_ref().map(|body| format!(" {body}")).unwrap_or_default();
        format!("{} {}{body}", ask.method, ask.path)
    }

    #[test]
    fn each_forge_gets_requests_in_its_own_format() {
        let closed = CommentContent { open: false, ..TEXT };
        let review = CommentThread::Review(7);
        let all = |forge: Forge, project: &str| {
            [
                whoami_request(),
                forge.list_notes(project, review, 2),
                forge.write(project, review, None, TEXT),
                forge.write(project, review, Some(9), TEXT),
                forge.list_notes(project, CommentThread::Issues, 1),
                forge.write(project, CommentThread::Issues, None, TEXT),
                forge.write(project, CommentThread::Issues, Some(3), closed),
                forge.reviews_of(project, "c0ffee"),
                forge.one_review(project, 7),
            ]
            .map(|ask| line(&ask))
            .join("\n")
        };
        insta::assert_snapshot!(all(Forge::GitHub, "acme/infra"), @r#"
        GET /user
        GET /repos/acme/infra/issues/7/comments?per_page=100&page=2
        POST /repos/acme/infra/issues/7/comments {"body":"b"}
        PATCH /repos/acme/infra/issues/comments/9 {"body":"b"}
        GET /repos/acme/infra/issues?per_page=100&page=1&state=open
        POST /repos/acme/infra/issues {"body":"b","title":"t"}
        PATCH /repos/acme/infra/issues/3 {"body":"b","state":"closed","state_reason":"completed","title":"t"}
        GET /repos/acme/infra/commits/c0ffee/pulls
        GET /repos/acme/infra/pulls/7
        "#);
        insta::assert_snapshot!(all(Forge::GitLab, "42"), @r#"
        GET /user
        GET /projects/42/merge_requests/7/notes?per_page=100&page=2
        POST /projects/42/merge_requests/7/notes {"body":"b"}
        PUT /projects/42/merge_requests/7/notes/9 {"body":"b"}
        GET /projects/42/issues?per_page=100&page=1&state=opened
        POST /projects/42/issues {"description":"b","title":"t"}
        PUT /projects/42/issues/3 {"description":"b","state_event":"close","title":"t"}
        GET /projects/42/repository/commits/c0ffee/merge_requests
        GET /projects/42/merge_requests/7
        "#);
    }

    #[test]
    fn comments_are_parsed_and_malformed_rows_are_skipped() {
        let page = br#"[
            {"id": 1, "body": null, "user": {"login": "ada", "type": "User"}, "html_url": "https://h/1"},
            {"id": 2, "body": "x", "user": {"login": "github-actions[bot]", "id": 41898282}},
            {"id": 3, "body": "x", "user": null},
            {"id": 4, "number": 9, "body": "x", "pull_request": {}}]"#;
        let (notes, rows) = read_notes(CommentThread::Review(1), page).unwrap();
        assert_eq!((notes.len(), rows), (3, 4));
        assert_eq!((notes[0].body.as_str(), notes[0].author.id), ("", None));
        assert_eq!(notes[1].author.id, Some(41_898_282));
        let page = br#"[
            {"id": 80, "iid": 5, "description": "x", "author": {"username": "ada"}, "web_url": "https://g/5"},
            {"id": 81, "iid": 6, "body": "closed it", "system": true}]"#;
        let (notes, rows) = read_notes(CommentThread::Issues, page).unwrap();
        assert_eq!((notes.len(), rows, notes[0].id), (1, 2, 5));
        assert!(read_notes(CommentThread::Issues, b"{}").is_err());
    }

    #[test]
    fn the_head_commit_of_a_pull_request_is_read() {
        let of = |answer: &str| read_one_review(answer.as_bytes()).unwrap();
        let hub = of(r#"{"number": 7, "head": {"sha": "abc"}, "merged_at": "t", "state": "closed"}"#);
        assert_eq!((hub.head.as_deref(), hub.is_merged), (Some("abc"), true));
        let lab = of(r#"{"iid": 7, "sha": "abc", "state": "opened"}"#);
        assert_eq!((lab.head.as_deref(), lab.is_merged), (Some("abc"), false));
        assert_eq!(read_account(br#"{"id": 7, "username": "ada"}"#).unwrap(), Some(7));
    }

    #[test]
    fn a_commit_belongs_to_the_pull_request_it_merged_or_to_the_only_one() {
        let of = |answer: &str| read_review("abc", answer.as_bytes()).unwrap();
        assert_eq!(of("[]"), None);
        assert_eq!(of(r#"[{"number": 3, "merge_commit_sha": "other", "merged_at": "t"}]"#), Some(3));
        let open = r#"[{"number": 3, "merge_commit_sha": "abc", "merged_at": null, "state": "open"}]"#;
        assert_eq!(of(open), None, "what nobody merged was reviewed by nobody");
        let two = r#"[{"number": 3, "merge_commit_sha": "x", "merged_at": "t"},
            {"number": 4, "merge_commit_sha": "abc", "merged_at": "t"}]"#;
        assert_eq!(of(two), Some(4));
        assert_eq!(of(r#"[{"number": 3, "merged_at": "t"}, {"number": 4, "merged_at": "t"}]"#), None);
        let lab = br#"[{"iid": 7, "sha": "x", "state": "opened"}, {"iid": 9, "state": "merged"},
            {"iid": 8, "merge_commit_sha": null, "sha": "abc", "state": "merged"}]"#;
        assert_eq!(read_review("abc", lab).unwrap(), Some(8));
    }
}
