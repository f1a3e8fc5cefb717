//! A file with five faults, each of another kind, and an unknown field: all are reported in one
//! run, in each format.

use std::path::Path;

/// What is wrong with each of the files: the line and column in YAML, JSON and TOML, and the
/// message, from its beginning on.
const FAULTS: [([(usize, usize); 3], &str); 6] = [
    (
        [(3, 14), (3, 18), (3, 13)],
        "default: unknown algorithm `TokenBuckt`; did you mean `TokenBucket`?",
    ),
    ([(8, 17), (10, 21), (9, 14)], "endpoint \"/search\": missing `windowMs` (or `window`)"),
    ([(13, 28), (17, 32), (16, 23)], "endpoint \"/export\": `refillRatePerSecond` is "),
    (
        [(16, 45), (23, 53), (21, 44)],
        "endpoint \"/login\": `windowMs` is 0; expected a whole number from 1 to 31622400000",
    ),
    (
        [(17, 5), (24, 7), (22, 1)],
        "endpoint \"/login\": unknown field `maxKey`; did you mean `maxKeys`?",
    ),
    ([(18, 15), (27, 19), (25, 12)], "endpoint \"/search\" is given twice, first at line "),
];

#[test]
fn all_faults_of_a_file_are_reported_at_once_with_their_places() {
    for (format, extension) in ["yaml", "json", "toml"].into_iter().enumerate() {
        let path = format!("tests/files/five_faults.{extension}");
        let errors = tollgate_config::load(&path).unwrap_err();
        for (error, (places, message)) in errors.iter().zip(FAULTS) {
            let (line, column) = places[format];
            assert_eq!((error.line(), error.column()), (Some(line), Some(column)), "{error}");
            assert!(error.message().starts_with(message), "{error}");
            let whole = format!("{path}:{line}:{column}: {}", error.message());
            assert_eq!(error.to_string(), whole);
            assert_eq!(error.file(), path);
        }
        assert_eq!(errors.iter().len(), FAULTS.len(), "{errors}");
    }
}

#[test]
fn a_rate_that_is_not_a_number_says_so_where_the_format_has_one() {
    for (extension, found) in [("yaml", ".nan"), ("toml", "nan"), ("json", "0")] {
        let path = Path::new("tests/files/five_faults").with_extension(extension);
        let errors = tollgate_config::load(path).unwrap_err().to_string();
        let expected = format!("`refillRatePerSecond` is {found}; expected ");
        assert!(errors.contains(&expected), "{errors}");
    }
}
