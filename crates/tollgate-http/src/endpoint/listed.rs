//! Endpoints as configs list them: whether a request ever has that name.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{EndpointRules, TargetFault, push_method};

/// Around the number of a parameter, where it stands in for it.
const MARK: char = '~';

impl EndpointRules {
    /// The name under which requests are judged that an entry of a config is meant for. Where it is another than the
    /// entry's, no request ever has the entry's: whoever reads a config for this says so.
    ///
    /// Parameters of patterns stay as they are. So does a name that is no path, which is no request's.
    ///
    /// ```
    /// use tollgate_http::EndpointRules;
    ///
    /// let rules = EndpointRules::new();
    /// assert_eq!(rules.name_as_judged("GET /users/{id}")?, "GET /users/{id}");
    /// assert_eq!(rules.name_as_judged("/%7Euser/")?, "/~user");
    /// assert!(rules.name_as_judged("/a%2Fb").is_err());
    /// # Ok::<(), tollgate_http::TargetFault>(())
    /// ```
    ///
    /// # Errors
    /// When every such request is refused.
    pub fn name_as_judged(self, listed: &str) -> Result<Cow<'_, str>, TargetFault> {
        let (method, path) = match listed.split_once(' ') {
            Some((method, path)) if path.starts_with('/') => (Some(method), path),
            _ if listed.starts_with('/') => (None, listed),
            _ => return Ok(Cow::Borrowed(listed)),
        };
        let (target, parameters) = without_parameters(path);
        let normal = self.spelling.normal(target.as_bytes())?;
        let mut name = String::with_capacity(listed.len());
        if let Some(method) = method {
            push_method(method, &mut name);
        }
        for segment in normal.judged.split('/').skip(1) {
            name.push('/');
            name.push_str(parameter(segment, &parameters).unwrap_or(segment));
        }
        Ok(if name == listed { Cow::Borrowed(listed) } else { Cow::Owned(name) })
    }
}

/// A path in which each parameter is a number between marks; and what they were.
fn without_parameters(path: &str) -> (String, Vec<&str>) {
    let (mut target, mut parameters) = (String::new(), Vec::new());
    for segment in path.split('/').skip(1) {
        let is_parameter = segment.starts_with('{') && segment.ends_with('}');
        target.push('/');
        if is_parameter {
            // Writing to a string cannot fail.
            let _written = write!(target, "{MARK}{}{MARK}", parameters.len());
            parameters.push(segment);
        } else {
            target.push_str(segment);
        }
    }
    (target, parameters)
}

fn parameter<'a>(segment: &str, parameters: &[&'a str]) -> Option<&'a str> {
    let number = segment.strip_prefix(MARK)?.strip_suffix(MARK)?;
    parameters.get(number.parse::<usize>().ok()?).copied()
}
