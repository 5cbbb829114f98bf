//! Amounts of money in USD as text. In: a decimal. Out: the same text in plans, reports and questions.

use rust_decimal::Decimal;

/// Returns an amount of money in USD, such as `$339.40`; with four decimals if it is less than a cent.
#[must_use]
pub fn format_money(amount: Decimal) -> String {
    let size = amount.abs();
    let places = if !size.is_zero() && size < Decimal::new(1, 2) { 4 } else { 2 };
    let sign = if amount.is_sign_negative() && !amount.is_zero() { "-" } else { "" };
    format!("{sign}${:.places$}", size.round_dp(u32::try_from(places).unwrap_or(2)))
}

/// Returns a monthly price as the end of a description, such as `, $2.50 a month`; empty for a price of zero.
#[must_use]
pub fn format_monthly(price: Decimal) -> String {
    if price.is_zero() { String::new() } else { format!(", {} a month", format_money(price)) }
}
