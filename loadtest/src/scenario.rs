//! Presets: options of the load test in a TOML file, by path or, for ours, by name.

use anyhow::{Context, Result, bail};
use figment::Figment;
use figment::providers::{Format, Toml};

use crate::cli::TtsArgs;

/// The presets that are built in: name and text.
const PRESETS: &[(&str, &str)] = &[
    ("smoke", include_str!("../scenarios/smoke.toml")),
    ("realtime", include_str!("../scenarios/realtime.toml")),
    ("public", include_str!("../scenarios/public.toml")),
    ("burst", include_str!("../scenarios/burst.toml")),
];

/// The options of the scenario `name`: a preset, or a path with a dot or a slash in it.
///
/// # Errors
/// When there is no such scenario, or it holds an option that the load test does not have.
pub fn load(name: &str) -> Result<TtsArgs> {
    if let Some((_, text)) = PRESETS.iter().find(|(preset, _)| *preset == name) {
        return parse(text).with_context(|| format!("in the preset `{name}`"));
    }
    if !name.contains(['.', '/']) {
        let names: Vec<_> = PRESETS.iter().map(|(name, _)| *name).collect();
        bail!(
            "no scenario `{name}`; presets are {}; or give a file's path",
            names.join(", ")
        );
    }
    let text = std::fs::read_to_string(name)
        .with_context(|| format!("cannot read the scenario `{name}`"))?;
    parse(&text).with_context(|| format!("in the scenario `{name}`"))
}

fn parse(text: &str) -> Result<TtsArgs> {
    Ok(Figment::from(Toml::string(text)).extract()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tts::Plan;

    #[test]
    fn every_preset_is_a_whole_plan() {
        for (name, _) in PRESETS {
            let mut args = load(name).unwrap();
            args.url = Some("http://127.0.0.1:1".into());
            Plan::new(args).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        }
    }

    #[test]
    fn a_wrong_option_is_named() {
        let error = format!("{:#}", parse("duratoin = 5").unwrap_err());
        assert!(
            error.contains("duratoin") && error.contains("duration"),
            "{error}"
        );
        let error = format!("{:#}", parse("pace = \"walk\"").unwrap_err());
        assert!(error.contains("listen"), "{error}");
        let error = format!("{:#}", load("reeltime").unwrap_err());
        assert!(error.contains("smoke, realtime, public, burst"), "{error}");
    }
}
