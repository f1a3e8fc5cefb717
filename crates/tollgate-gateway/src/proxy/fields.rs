//! Header fields on their way through: which end at this proxy, and what the upstream is told of where a request came
//! from.

use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, Entry, HOST,
    HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use tollgate_http::{is_forwarding_field, is_underscore_twin};

/// Fields of one connection, whatever `Connection` says (RFC 9110, section 7.6.1). An answer's `Proxy-Authenticate`
/// is the client's to see.
const OF_A_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Fields that end where the request does. A client that names one of them in `Connection` means to have it taken
/// from the request before the upstream sees it, which is not its to say.
const END_TO_END: [HeaderName; 6] =
    [AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Takes out the fields that are of one connection only: those that always are, and those that `Connection` names.
pub(super) fn remove_hop_by_hop(fields: &mut HeaderMap) {
    let takes_trailers = names_in(fields, &TE).any(|name| name == "trailers");
    let named: Vec<HeaderName> =
        names_in(fields, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
    for name in named.iter().filter(|name| !END_TO_END.contains(name)).chain(&OF_A_CONNECTION) {
        fields.remove(name);
    }
    if takes_trailers {
        // It is said anew on each connection; servers of gRPC insist on it.
        fields.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Whether a body comes as it is or in chunks. Any other coding would be lost on the way, since the field ends here.
pub(super) fn is_coded_as_known(fields: &HeaderMap) -> bool {
    let mut lines = fields.get_all(TRANSFER_ENCODING).into_iter();
    let is_chunked = |line: &HeaderValue| line.as_bytes().eq_ignore_ascii_case(b"chunked");
    lines.next().is_none_or(is_chunked) && lines.next().is_none()
}

/// The protocol that a request or an answer switches to, where it does.
pub(super) fn upgrade_of(fields: &HeaderMap) -> Option<HeaderValue> {
    let switches = names_in(fields, &CONNECTION).any(|name| name == "upgrade");
    fields.get(UPGRADE).filter(|_| switches).cloned()
}

/// Says that the connection switches its protocol.
pub(super) fn set_upgrade(fields: &mut HeaderMap, protocol: HeaderValue) {
    fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    fields.insert(UPGRADE, protocol);
}

/// The words of a list field, in lower case.
fn names_in<'a>(fields: &'a HeaderMap, list: &HeaderName) -> impl Iterator<Item = String> + 'a {
    let lines = fields.get_all(list).into_iter();
    let words = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    words.map(|word| word.trim().to_ascii_lowercase())
}

/// Takes out what a client says of where it came from: all of it from a peer that is not trusted, and always what
/// servers could take for one of these fields by its spelling.
pub(super) fn remove_forwarding(
    fields: &mut HeaderMap,
    peer_is_trusted: bool,
    believed: &HeaderName,
) {
    let managed = [FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO];
    let is_dropped = |name: &HeaderName| {
        let is_kept = peer_is_trusted && (name == believed || managed.contains(name));
        is_underscore_twin(name, &managed) || is_forwarding_field(name) && !is_kept
    };
    let dropped: Vec<_> = fields.keys().filter(|name| is_dropped(name)).cloned().collect();
    for name in dropped {
        fields.remove(name);
    }
    fields.remove(PROXY_AUTHORIZATION);
}

/// Tells the upstream where a request came from, as proxies do: the peer behind the addresses that a trusted proxy
/// told, and the host and protocol that the client asked for.
pub(super) fn add_forwarding(fields: &mut HeaderMap, peer: IpAddr, host: Option<&HeaderValue>) {
    append(fields, FORWARDED_FOR, &peer.to_canonical().to_string());
    if let (Entry::Vacant(place), Some(host)) = (fields.entry(FORWARDED_HOST), host) {
        place.insert(host.clone());
    }
    fields.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static("http"));
    append(fields, VIA, "1.1 tollgate");
}

/// Puts one more element at the end of a list field, all in one line.
fn append(fields: &mut HeaderMap, name: HeaderName, element: &str) {
    let before: Vec<&[u8]> = fields.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
    let mut line = before.join(b", ".as_slice());
    if !line.is_empty() {
        line.extend_from_slice(b", ");
    }
    line.extend_from_slice(element.as_bytes());
    if let Ok(value) = HeaderValue::from_bytes(&line) {
        fields.insert(name, value);
    }
}

/// Joins the cookies that HTTP/2 lets clients send apart; HTTP/1.1 knows one field (RFC 9113, section 8.2.3).
pub(super) fn join_cookies(fields: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = fields.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() < 2 {
        return;
    }
    if let Ok(joined) = HeaderValue::from_bytes(&cookies.join(b"; ".as_slice())) {
        fields.insert(COOKIE, joined);
    }
}
