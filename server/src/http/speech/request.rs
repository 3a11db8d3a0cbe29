//! What a client asks of `POST /v1/audio/speech`, checked.

use codecs::audio::Format;
use session::{Base, Catalog, Fault, Fields, Settings, text};

/// A request that can be spoken.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) settings: Settings,
    /// Not empty, within the limit, and with something to say.
    pub(super) input: String,
    /// Server-sent events instead of plain bytes.
    pub(super) sse: bool,
    /// `"stream": false`: one body with its length.
    pub(super) whole: bool,
    /// Names of fields that have no effect.
    pub(super) ignored: Vec<String>,
}

impl Ask {
    pub(super) fn parse(bytes: &[u8], catalog: &Catalog, max_chars: usize) -> Result<Self, Fault> {
        let mut fields = Fields::parse(bytes)?;
        let input = fields.short_string("input", max_chars)?;
        let input = input.ok_or(Fault::missing("input"))?;
        check_input(&input)?;
        let (settings, mut ignored) =
            Settings::read(&mut fields, catalog, Base::Required(Format::Mp3))?;
        let sse = fields.one_of("stream_format", &["audio", "sse"])? == Some("sse");
        let whole = fields.boolean("stream")? == Some(false);
        if sse && whole {
            return Err(Fault::field(
                "stream",
                "invalid_value",
                "Invalid value for 'stream': with 'stream_format': \"sse\" the answer is streamed.",
            ));
        }
        check_rate(&mut fields, settings.format)?;
        ignored.extend(fields.ignored());
        Ok(Self {
            settings,
            input: text::clean(&input).into_owned(),
            sse,
            whole,
            ignored,
        })
    }
}

fn check_input(input: &str) -> Result<(), Fault> {
    if input.is_empty() {
        return Err(Fault::field(
            "input",
            "empty_string",
            "Invalid 'input': empty string. Expected at least one letter or digit.",
        ));
    }
    if !text::is_speakable(input) {
        return Err(nothing_to_say());
    }
    Ok(())
}

/// The fault of a text that no sound comes of.
pub(super) fn nothing_to_say() -> Fault {
    Fault::field(
        "input",
        "nothing_to_say",
        "Invalid 'input': there is nothing to say. White space, punctuation and emoji alone are \
         not spoken; expected at least one letter or digit that the voice can read.",
    )
}

/// Some clients name the rate that they expect; a wrong expectation is better told than heard.
fn check_rate(fields: &mut Fields, format: Format) -> Result<(), Fault> {
    let made = format.sample_rate().hz();
    match fields.integer("sample_rate")? {
        Some(rate) if rate != u64::from(made) => Err(Fault::field(
            "sample_rate",
            "invalid_value",
            format!("Invalid value for 'sample_rate': {rate}. '{format}' is made at {made} Hz."),
        )),
        _ => Ok(()),
    }
}
