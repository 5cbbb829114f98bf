//! Money: exact decimals in USD, rounded half to even; hourly prices have 4 decimals, monthly prices 2. The rounding
//! and the hours of a month are assumed: the specification gives prices without their rule.

use rust_decimal::{Decimal, RoundingStrategy};

/// Hours per month in billing, whatever the calendar says.
pub(in crate::emulator::world) const MONTH_HOURS: i64 = 730;

/// Returns a number of cents as an exact decimal in USD.
pub(in crate::emulator::world) fn from_cents(amount: i64) -> Decimal {
    Decimal::new(amount, 2)
}

/// Rounds an amount to the cent.
pub(in crate::emulator::world) fn round_to_cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointNearestEven)
}

/// Returns the hourly price for an exact monthly price.
pub(in crate::emulator::world) fn hourly_price(month: Decimal) -> Decimal {
    (month / Decimal::from(MONTH_HOURS)).round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven)
}

/// Returns the share of a monthly price for `hours` hours, rounded to the cent; negative for a negative price.
pub(in crate::emulator::world) fn share_of_month(month: Decimal, hours: i64) -> Decimal {
    round_to_cents(month * Decimal::from(hours) / Decimal::from(MONTH_HOURS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_to_even() {
        for (exact, wanted) in [("1.005", "1.00"), ("1.015", "1.02"), ("1.025", "1.02"), ("1.0251", "1.03")]
        {
            assert_eq!(round_to_cents(exact.parse().unwrap()), wanted.parse().unwrap(), "{exact}");
        }
        assert_eq!(hourly_price(from_cents(500)).to_string(), "0.0068");
        // 0.0365 / 730 is 0.00005 exactly: between 0.0000 and 0.0001.
        assert_eq!(hourly_price("0.0365".parse().unwrap()), Decimal::ZERO);
        assert_eq!(hourly_price("0.1095".parse().unwrap()), "0.0002".parse().unwrap());
    }

    #[test]
    fn all_hours_of_a_month_cost_the_monthly_price() {
        assert_eq!(share_of_month(from_cents(7_300), MONTH_HOURS), from_cents(7_300));
        assert_eq!(share_of_month(from_cents(7_300), 365), from_cents(3_650));
        assert_eq!(share_of_month(from_cents(7_300), 0), Decimal::ZERO);
    }
}
