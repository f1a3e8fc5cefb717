//! Which of the three languages a file is written in.

use std::path::Path;

use crate::error::ConfigErrors;
use crate::findings::Findings;

/// A language that config files are written in. The shape of a config is the same in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// YAML 1.2, one document.
    Yaml,
    /// JSON as RFC 8259 has it: no comments, no trailing commas.
    Json,
    /// TOML 1.1.
    Toml,
}

impl Format {
    /// The format that a path's extension tells: `.yaml` or `.yml`, `.json`, `.toml`, in small or
    /// capital letters.
    ///
    /// # Errors
    /// When the extension is another one, or there is none.
    pub fn of_path(path: &Path) -> Result<Self, ConfigErrors> {
        let extension = path.extension().map(|extension| extension.to_string_lossy());
        let known = extension.as_ref().and_then(|extension| Self::of_extension(extension));
        known.ok_or_else(|| {
            let found = match extension {
                Some(extension) => format!("unknown extension `.{extension}`"),
                None => "no extension".to_owned(),
            };
            let message = format!("{found}; expected .yaml (or .yml), .json or .toml");
            Findings::of_file(&path.display().to_string(), message)
        })
    }

    fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_format() {
        let cases = [
            ("limits.yaml", Format::Yaml),
            ("limits.yml", Format::Yaml),
            ("/etc/tollgate/limits.JSON", Format::Json),
            ("a.b.toml", Format::Toml),
        ];
        for (path, format) in cases {
            assert_eq!(Format::of_path(Path::new(path)), Ok(format), "{path}");
        }
    }

    #[test]
    fn another_extension_is_refused_and_the_three_are_listed() {
        let cases = [
            (
                "limits.ini",
                "limits.ini: unknown extension `.ini`; expected .yaml (or .yml), .json or .toml",
            ),
            ("limits", "limits: no extension; expected .yaml (or .yml), .json or .toml"),
            (".yaml", ".yaml: no extension; expected .yaml (or .yml), .json or .toml"),
        ];
        for (path, message) in cases {
            let refused = Format::of_path(Path::new(path)).unwrap_err();
            assert_eq!(refused.to_string(), message);
        }
    }
}
