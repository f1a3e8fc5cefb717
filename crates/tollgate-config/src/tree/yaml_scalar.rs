//! What a plain scalar means: the core schema of YAML 1.2, section 10.3.2.

use super::{Value, radix};

/// The value of a scalar that was written without quotes.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Value::Number(text.to_owned()),
        _ if is_decimal(text) || is_infinity(text) => Value::Number(text.to_owned()),
        _ => of_radix(text).unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, without_sign(exponent)),
        None => (text, "0"),
    };
    let mantissa = without_sign(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let lacks_digits = exponent.is_empty() || whole.is_empty() && fraction.is_empty();
    !lacks_digits && [whole, fraction, exponent].into_iter().all(is_digits)
}

fn is_infinity(text: &str) -> bool {
    matches!(without_sign(text), ".inf" | ".Inf" | ".INF")
}

/// `0x1f` or `0o17`. One that does not fit 128 bits stays as it was written, and no field takes it.
fn of_radix(text: &str) -> Option<Value> {
    let (digits, base) = match text.split_at_checked(2)? {
        ("0x", digits) => (digits, 16),
        ("0o", digits) => (digits, 8),
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    let decimal = || radix::to_decimal(digits, base).unwrap_or_else(|| text.to_owned());
    is_number.then(|| Value::Number(decimal()))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_sign(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_text_they_were_written_with() {
        let numbers = [
            "0",
            "-0",
            "+5",
            "007",
            "1.50",
            ".5",
            "5.",
            "1e-3",
            "1.5E+10",
            "-1.0",
            ".inf",
            "-.INF",
            ".nan",
            "123456789012345678901234567890.000000000000000000001",
        ];
        for text in numbers {
            assert_eq!(resolve(text), Value::Number(text.to_owned()), "{text}");
        }
    }

    #[test]
    fn another_radix_is_resolved_while_it_fits() {
        let too_long = format!("0x{}", "f".repeat(33));
        let cases = [("0x1F", "31"), ("0o17", "15"), (too_long.as_str(), too_long.as_str())];
        for (text, number) in cases {
            assert_eq!(resolve(text), Value::Number(number.to_owned()), "{text}");
        }
    }

    #[test]
    fn words_that_only_look_like_numbers_or_switches_are_texts() {
        let texts = [
            ".", "-", "+", "1_000", "0x", "0xg", "0x-1", "0b1", "1e", "1e+", "e5", "1.2.3", "+-5",
            "nan", "inf", "+.nan", "yes", "no", "on", "off", "12:30", "100/min", "1m", "½", "0€",
        ];
        for text in texts {
            assert_eq!(resolve(text), Value::Text(text.to_owned()), "{text}");
        }
    }

    #[test]
    fn null_and_switches_have_three_spellings() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(resolve(text), Value::Null, "{text}");
        }
        for (text, value) in [("true", true), ("True", true), ("FALSE", false)] {
            assert_eq!(resolve(text), Value::Bool(value), "{text}");
        }
    }
}
