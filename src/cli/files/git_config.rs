//! The settings in a Git configuration file. In: its text; out: section, key and value of each setting. A setting is
//! only read: none is followed, and none makes this program run another one.

/// Returns the last value of a repository extension, such as the format of its objects.
pub(in crate::cli) fn extension_of(config: &str, name: &str) -> Option<String> {
    let found = settings_of(config).filter(|(section, key, _)| {
        section.eq_ignore_ascii_case("extensions") && key.eq_ignore_ascii_case(name)
    });
    found.last().map(|(_, _, value)| value)
}

/// Parses a Git configuration into section, key and value; resolves comments and quotes. Includes are not followed.
pub(in crate::cli) fn settings_of(config: &str) -> impl Iterator<Item = (&str, &str, String)> {
    let mut section = "";
    config.lines().filter_map(move |line| {
        let line = line.trim();
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            // The subsection name in quotes can contain a bracket.
            let end = match header.split_once('"') {
                Some((before, name)) if !before.contains(']') => {
                    before.len() + 1 + name.find("\"]").map_or(name.len(), |at| at + 1)
                }
                _ => header.find(']').unwrap_or(header.len()),
            };
            section = header.get(..end)?.trim();
            rest = header.get(end + 1..).unwrap_or_default().trim();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            return None;
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        Some((section, key.trim(), unquote_value(value.trim())))
    })
}

/// Returns a value without its quotes, its escapes and a comment after it.
fn unquote_value(text: &str) -> String {
    let (mut value, mut quoted, mut escaped) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            c => value.push(c),
        }
    }
    value.trim_end().to_owned()
}
