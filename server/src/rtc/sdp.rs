//! What must be read of an offer, and written into an answer, beside what the crate does.

use std::net::IpAddr;

use session::{Fault, Kind, near};

/// What an offer asks for, as far as audio goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Offer {
    /// The other side wants to hear us.
    pub(super) hears: bool,
    /// The other side may speak.
    pub(super) speaks: bool,
    /// There is a data channel, for texts in both directions.
    pub(super) writes: bool,
}

impl Offer {
    /// Reads an offer.
    ///
    /// # Errors
    /// What is missing for a call, in words.
    pub(super) fn read(sdp: &str) -> Result<Self, Fault> {
        if !sdp.trim_start().starts_with("v=0") {
            return Err(invalid(&format!(
                "It begins with {}, not with 'v=0'.",
                near::quoted(&first_chars(sdp))
            )));
        }
        let mut offer = Self::default();
        let mut sections = sdp.split("\nm=");
        let head = sections.next().unwrap_or_default();
        let usual = direction(head).unwrap_or((true, true));
        let mut audio = 0;
        for section in sections {
            let mut words = section.split_whitespace();
            let (medium, port) = (words.next(), words.next());
            if port == Some("0") {
                continue;
            }
            match medium {
                Some("audio") => {
                    audio += 1;
                    if audio > 1 {
                        return Err(invalid("It has several audio sections; one is accepted."));
                    }
                    if !section.to_ascii_lowercase().contains(" opus/48000") {
                        return Err(invalid("Its audio does not offer Opus ('opus/48000/2')."));
                    }
                    (offer.speaks, offer.hears) = direction(section).unwrap_or(usual);
                }
                Some("application") => offer.writes = true,
                _ => {}
            }
        }
        if audio == 0 && !offer.writes {
            return Err(invalid("It has neither audio nor a data channel."));
        }
        Ok(offer)
    }
}

/// Whether the one who wrote these lines sends, and receives.
fn direction(lines: &str) -> Option<(bool, bool)> {
    lines.lines().find_map(|line| match line.trim_end() {
        "a=sendrecv" => Some((true, true)),
        "a=sendonly" => Some((true, false)),
        "a=recvonly" => Some((false, true)),
        "a=inactive" => Some((false, false)),
        _ => None,
    })
}

/// Says of an answer's audio what fits the offer: the crate listens to who is silent on purpose.
pub(super) fn with_direction(answer: &str, offer: Offer) -> String {
    let fitting = match (offer.hears, offer.speaks) {
        (true, true) => "a=sendrecv",
        (true, false) => "a=sendonly",
        (false, true) => "a=recvonly",
        (false, false) => "a=inactive",
    };
    let mut in_audio = false;
    let lines = answer.lines().map(|line| {
        if line.starts_with("m=") {
            in_audio = line.starts_with("m=audio");
        }
        let replaced = in_audio && direction(line).is_some();
        let line = if replaced { fitting } else { line.trim_end() };
        format!("{line}\r\n")
    });
    lines.collect()
}

fn first_chars(text: &str) -> String {
    text.chars().take(20).collect()
}

pub(super) fn invalid(why: &str) -> Fault {
    Fault::new(
        Kind::Invalid,
        "invalid_offer",
        format!("The body is not an SDP offer that can be answered. {why}"),
    )
}

/// Adds each public address to the first section's candidates: with the ports of the addresses
/// we have ourselves, as a one-to-one translation in front of this machine leaves them.
pub(super) fn with_public_addresses(answer: &str, public: &[IpAddr]) -> String {
    let mut out = String::with_capacity(answer.len() + 128 * public.len());
    let mut offered: Vec<(IpAddr, String)> = Vec::new();
    for line in answer.lines() {
        let line = line.trim_end();
        if let Some(fields) = host_candidate(line) {
            for address in public {
                let once = (*address, format!("{} {}", fields.component, fields.port));
                if offered.contains(&once) {
                    continue;
                }
                out.push_str(&fields.at(*address, offered.len()));
                out.push_str("\r\n");
                offered.push(once);
            }
        }
        if line.starts_with("m=") {
            offered.clear();
        }
        out.push_str(line);
        out.push_str("\r\n");
    }
    out
}

struct Candidate<'a> {
    component: &'a str,
    port: &'a str,
}

impl Candidate<'_> {
    /// The most preferred of all: who can reach it should use it (RFC 8445, 5.1.2).
    fn at(&self, address: IpAddr, index: usize) -> String {
        let Self { component, port } = self;
        let local_preference = 65_535 - u32::try_from(index).unwrap_or(0).min(65_535);
        let priority = (126_u32 << 24) | (local_preference << 8) | 255;
        format!("a=candidate:public{index} {component} udp {priority} {address} {port} typ host")
    }
}

fn host_candidate(line: &str) -> Option<Candidate<'_>> {
    let mut fields = line.strip_prefix("a=candidate:")?.split(' ').skip(1);
    let (component, protocol, _priority, _address, port) = (
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    let host = fields.next() == Some("typ") && fields.next() == Some("host");
    (host && protocol.eq_ignore_ascii_case("udp")).then_some(Candidate { component, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(sections: &str) -> String {
        format!("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n{sections}")
    }

    const OPUS: &str = "a=rtpmap:111 opus/48000/2\r\n";
    const DATA: &str = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n";

    #[test]
    fn offers_say_who_speaks_and_who_hears() {
        for (direction, speaks, hears) in [
            ("a=sendrecv\r\n", true, true),
            ("", true, true),
            ("a=sendonly\r\n", true, false),
            ("a=recvonly\r\n", false, true),
            ("a=inactive\r\n", false, false),
        ] {
            let sections = format!("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n{OPUS}{direction}{DATA}");
            let expected = Offer {
                hears,
                speaks,
                writes: true,
            };
            assert_eq!(Offer::read(&offer(&sections)).unwrap(), expected);
        }
        let without = Offer::read(&offer(DATA)).unwrap();
        assert!(!without.hears && !without.speaks && without.writes);
    }

    #[test]
    fn what_cannot_be_answered_is_named() {
        let audio = format!("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n{OPUS}");
        for (sdp, wanted) in [
            (String::new(), "begins with ''"),
            ("{\"sdp\": 1}".to_owned(), "not with 'v=0'"),
            (offer(""), "neither audio nor a data channel"),
            (offer("m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"), "neither audio"),
            (offer("m=audio 9 RTP/AVP 0\r\n"), "does not offer Opus"),
            (offer(&audio.repeat(2)), "several audio sections"),
        ] {
            let fault = Offer::read(&sdp).unwrap_err();
            assert_eq!(fault.code, "invalid_offer");
            assert!(fault.message.contains(wanted), "{}", fault.message);
        }
    }

    #[test]
    fn an_answer_fits_the_offer_in_its_audio_only() {
        let answer =
            "v=0\r\nm=audio 9 X 111\r\na=recvonly\r\nm=application 9 Y z\r\na=sendrecv\r\n";
        let silent = with_direction(answer, Offer::default());
        assert_eq!(silent, answer.replace("recvonly", "inactive"));
        let speaks = Offer {
            speaks: true,
            ..Offer::default()
        };
        assert_eq!(with_direction(answer, speaks), answer);
    }

    #[test]
    fn public_addresses_stand_before_our_own_with_the_same_port() {
        let answer = "v=0\r\nm=audio 9 X 111\r\na=candidate:1 1 udp 2130706431 10.0.0.5 40001 typ host\r\na=candidate:2 1 udp 1 10.0.0.6 40001 typ host\r\na=end-of-candidates\r\n";
        let public = ["203.0.113.5".parse().unwrap()];
        let out = with_public_addresses(answer, &public);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines[2],
            "a=candidate:public0 1 udp 2130706431 203.0.113.5 40001 typ host"
        );
        assert_eq!(out.matches("203.0.113.5").count(), 1);
        assert_eq!(with_public_addresses(answer, &[]), answer);
    }
}
