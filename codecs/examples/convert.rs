//! Reads mono s16le at a rate from standard input and writes a format to standard output:
//! `convert 22050 opus < in.pcm > out.opus`. Streams: memory does not grow with the input.

use std::io::{Read, Write};

use codecs::SampleRate;
use codecs::audio::{Encoder, Format, pcm};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(rate), Some(format)) = (args.next(), args.next()) else {
        return Err("usage: convert RATE FORMAT < s16le > out".into());
    };
    let mut encoder = Encoder::new(Format::from_name(&format)?, SampleRate::new(rate.parse()?)?)?;
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut bytes, mut samples, mut encoded) = (Vec::new(), Vec::new(), Vec::new());
    while input.by_ref().take(8192).read_to_end(&mut bytes)? > 0 {
        samples.clear();
        encoded.clear();
        let odd = pcm::f32_from_s16le(&bytes, &mut samples).copied();
        encoder.push(&samples, &mut encoded)?;
        output.write_all(&encoded)?;
        bytes.clear();
        bytes.extend(odd);
    }
    encoded.clear();
    encoder.finish(&mut encoded)?;
    output.write_all(&encoded)?;
    Ok(())
}
