//! What a request may ask of a voice.

use runtime::Options;

use super::voice::Manner;

/// The options beside voice, speed and seed.
const KNOWN: [&str; 2] = ["noise_scale", "noise_w"];

/// A checked request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Admitted {
    /// How it is spoken.
    pub(super) manner: Manner,
}

impl Admitted {
    /// Checks what a request asks for. `voices` are the names by which requests choose, with the
    /// speakers' numbers; `own` is the manner that the voice was made for.
    pub(super) fn new(
        options: &Options,
        voices: &[(String, i32)],
        own: Manner,
    ) -> runtime::Result<Self> {
        options.only(&KNOWN)?;
        let names: Vec<&str> = voices.iter().map(|(name, _)| name.as_str()).collect();
        let voice = options.voice_among(&names, 0)?;
        let scale = |name, own| -> runtime::Result<f32> {
            Ok(narrow(options.number(name, 0.0..=2.0, f64::from(own))?))
        };
        let manner = Manner {
            noise_scale: scale("noise_scale", own.noise_scale)?,
            noise_w: scale("noise_w", own.noise_w)?,
            length_scale: own.length_scale,
            speed: options.speed_within(0.25..=4.0)?,
            speaker: voices.get(voice).map_or(0, |&(_, speaker)| speaker),
        };
        Ok(Self { manner })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "checked to lie between 0 and 2"
)]
fn narrow(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use runtime::Value;

    use super::*;

    const OWN: Manner = Manner {
        noise_scale: 0.667,
        length_scale: 1.2,
        speed: 1.0,
        noise_w: 0.8,
        speaker: 0,
    };

    fn admit(change: impl Fn(&mut Options)) -> Result<Admitted, String> {
        let mut options = Options::default();
        change(&mut options);
        let voices = [("ann".to_owned(), 3), ("bo".to_owned(), 4)];
        Admitted::new(&options, &voices, OWN).map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_changes_the_voices_own_manner() {
        let own = Manner { speaker: 3, ..OWN };
        assert_eq!(admit(|_| {}), Ok(Admitted { manner: own }));
        let asked = admit(|options| {
            options.voice = Some("bo".to_owned());
            options.speed = 2.0;
            options
                .extra
                .insert("noise_w".to_owned(), Value::Number(0.0));
        });
        let manner = Manner {
            noise_w: 0.0,
            speed: 2.0,
            speaker: 4,
            ..OWN
        };
        assert_eq!(asked, Ok(Admitted { manner }));
    }

    #[test]
    fn what_a_voice_cannot_do_is_refused_by_name() {
        let noisy = |options: &mut Options| {
            options
                .extra
                .insert("noise_scale".to_owned(), Value::Number(9.0));
        };
        let accepted = "option `noise_scale` is 9, accepted: a number from 0 to 2";
        assert_eq!(admit(noisy), Err(accepted.to_owned()));
        let fast = admit(|options| options.speed = 4.5);
        assert_eq!(
            fast,
            Err("option `speed` is 4.5, accepted: a number from 0.25 to 4".to_owned())
        );
    }
}
