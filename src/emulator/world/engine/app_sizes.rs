//! The sizes of the instances of apps, with their prices. All values are invented: the specification names none.

use rust_decimal::Decimal;

use super::money::from_cents;

/// A size of an app's instances.
pub(in crate::emulator::world) struct AppSize {
    pub(in crate::emulator::world) slug: &'static str,
    /// CPU in thousandths of a core.
    pub(in crate::emulator::world) cpu: i64,
    /// Memory in MB.
    pub(in crate::emulator::world) ram: i64,
    /// Monthly price of one instance, in cents.
    pub(in crate::emulator::world) cents: i64,
}

impl AppSize {
    /// Returns the monthly price of one instance in USD.
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        from_cents(self.cents)
    }
}

pub(in crate::emulator::world) const fn app_size(
    slug: &'static str,
    cpu: i64,
    ram: i64,
    cents: i64,
) -> AppSize {
    AppSize { slug, cpu, ram, cents }
}

/// The sizes; the first one is the default.
pub(in crate::emulator::world) static SIZES: [AppSize; 5] = [
    app_size("app-xs", 250, 256, 300),
    app_size("app-s", 500, 512, 600),
    app_size("app-m", 1_000, 1_024, 1_200),
    app_size("app-l", 2_000, 2_048, 2_400),
    app_size("app-xl", 4_000, 4_096, 4_800),
];

/// Returns the app size with this slug, such as `app-xs`; `None` if there is none.
pub(in crate::emulator::world) fn find_size(slug: &str) -> Option<&'static AppSize> {
    SIZES.iter().find(|size| size.slug == slug)
}
